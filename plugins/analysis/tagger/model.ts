import type { Weights } from './decode.ts'
import { LABELS } from './labels.ts'

const HEADER = 8

/** A model: number of bits, scale, transitions, one signed byte per emission, grouped by label. */
export const parseWeights = (bytes: Uint8Array<ArrayBuffer>): Weights => {
  const view = new DataView(bytes.buffer)
  const bits = view.getUint32(0, true)
  const transition = new Float32Array(bytes.buffer, HEADER, LABELS * LABELS)
  const columns = new Int8Array(bytes.buffer, HEADER + transition.byteLength)
  const rows = 1 << bits
  const emission = new Int8Array(rows * LABELS)
  for (let y = 0; y < LABELS; y += 1) {
    for (let row = 0; row < rows; row += 1)
      emission[row * LABELS + y] = columns[y * rows + row] ?? 0
  }
  return { bits, scale: view.getFloat32(4, true), transition, emission }
}

/** Quantization step, and the smallest absolute weight that is stored. */
const STEP = 0.75
const SMALLEST = 1

/** Serializes a model for `parseWeights`. Small weights, which decide little, become zero. */
export const serializeWeights = ({
  bits,
  transition,
  emission,
}: Weights): Uint8Array<ArrayBuffer> => {
  const rows = 1 << bits
  const bytes = new Uint8Array(HEADER + transition.byteLength + rows * LABELS)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, bits, true)
  view.setFloat32(4, STEP, true)
  new Float32Array(bytes.buffer, HEADER, transition.length).set(transition)
  const columns = new Int8Array(bytes.buffer, HEADER + transition.byteLength)
  for (const [at, weight] of emission.entries()) {
    if (Math.abs(weight) < SMALLEST) continue
    const unit = Math.max(-127, Math.min(127, Math.round(weight / STEP)))
    columns[(at % LABELS) * rows + Math.floor(at / LABELS)] = unit
  }
  return bytes
}
