import type { Features } from './features.ts'
import { BEFORE, LABELS, MAY_BEGIN, MAY_END } from './labels.ts'

/** Linear model over hashed features: rows of one weight per label. */
export interface Weights {
  /** The table has 2 ** bits rows. */
  readonly bits: number
  readonly emission: Float32Array | Int8Array
  readonly transition: Float32Array
  /** Value of one unit of `emission`. */
  readonly scale: number
}

const IMPOSSIBLE = -1e9

/** Score of every label for every token, regardless of its neighbors. */
export const emissionsOf = (
  { bits, emission, scale }: Weights,
  { hashes, offsets }: Features,
): Float64Array => {
  const size = offsets.length - 1
  const mask = (1 << bits) - 1
  const scores = new Float64Array(size * LABELS)
  for (let at = 0; at < size; at += 1) {
    const row = at * LABELS
    const end = offsets[at + 1] ?? 0
    for (let from = offsets[at] ?? 0; from < end; from += 1) {
      const base = ((hashes[from] ?? 0) & mask) * LABELS
      for (let y = 0; y < LABELS; y += 1) {
        scores[row + y] = (scores[row + y] ?? 0) + (emission[base + y] ?? 0)
      }
    }
    for (let y = 0; y < LABELS; y += 1) scores[row + y] = (scores[row + y] ?? 0) * scale
  }
  return scores
}

/** Best valid sequence of labels (Viterbi). */
export const bestLabels = (emissions: Float64Array, transition: Float32Array): Uint8Array => {
  const size = emissions.length / LABELS
  const score = Float64Array.from(emissions)
  const back = new Uint8Array(emissions.length)
  for (let y = 0; y < LABELS; y += 1) if (!MAY_BEGIN[y]) score[y] = IMPOSSIBLE
  for (let at = 1; at < size; at += 1) {
    const row = at * LABELS
    for (let y = 0; y < LABELS; y += 1) {
      const before = BEFORE[y] as Uint8Array
      let most = -Infinity
      for (let k = 0; k < before.length; k += 1) {
        const p = before[k] ?? 0
        const sum = (score[row - LABELS + p] ?? 0) + (transition[p * LABELS + y] ?? 0)
        if (sum <= most) continue
        most = sum
        back[row + y] = p
      }
      score[row + y] = most + (emissions[row + y] ?? 0)
    }
  }
  return trace(score, back)
}

const trace = (score: Float64Array, back: Uint8Array): Uint8Array => {
  const labels = new Uint8Array(score.length / LABELS)
  const row = score.length - LABELS
  let label = 0
  for (let y = 1; y < LABELS; y += 1) {
    if (MAY_END[y] && (score[row + y] ?? 0) > (score[row + label] ?? 0)) label = y
  }
  for (let at = labels.length - 1; at >= 0; at -= 1) {
    labels[at] = label
    label = back[at * LABELS + label] ?? 0
  }
  return labels
}

/** Label probabilities by token: forward-backward on log-odds (scores divided by `temperature`). */
export const marginalsOf = (
  emissions: Float64Array,
  transition: Float32Array,
  temperature: number,
): Float64Array => {
  const size = emissions.length / LABELS
  const odds = oddsOf(emissions, temperature)
  const passage = Float64Array.from(transition, (one) => Math.exp(one / temperature))
  const forward = Float64Array.from(odds)
  for (let y = 0; y < LABELS; y += 1) if (!MAY_BEGIN[y]) forward[y] = 0
  normalize(forward, 0)
  for (let row = LABELS; row < forward.length; row += LABELS) {
    for (let y = 0; y < LABELS; y += 1) {
      let sum = 0
      const before = BEFORE[y] as Uint8Array
      for (let k = 0; k < before.length; k += 1) {
        const p = before[k] ?? 0
        sum += (forward[row - LABELS + p] ?? 0) * (passage[p * LABELS + y] ?? 0)
      }
      forward[row + y] = sum * (odds[row + y] ?? 0)
    }
    normalize(forward, row)
  }
  let behind = Float64Array.from(MAY_END, (may) => (may ? 1 : 0))
  for (let at = size - 1; at >= 0; at -= 1) {
    const row = at * LABELS
    for (let y = 0; y < LABELS; y += 1) {
      forward[row + y] = (forward[row + y] ?? 0) * (behind[y] ?? 0)
    }
    normalize(forward, row)
    behind = stepBack(behind, odds.subarray(row, row + LABELS), passage)
  }
  return forward
}

const oddsOf = (emissions: Float64Array, temperature: number): Float64Array => {
  const odds = new Float64Array(emissions.length)
  for (let row = 0; row < emissions.length; row += LABELS) {
    let top = -Infinity
    for (let at = row; at < row + LABELS; at += 1) top = Math.max(top, emissions[at] ?? 0)
    for (let at = row; at < row + LABELS; at += 1) {
      odds[at] = Math.exp(((emissions[at] ?? 0) - top) / temperature)
    }
  }
  return odds
}

const stepBack = (
  behind: Float64Array,
  odds: Float64Array,
  passage: Float64Array,
): Float64Array<ArrayBuffer> => {
  const before = new Float64Array(LABELS)
  for (let y = 0; y < LABELS; y += 1) {
    const weight = (behind[y] ?? 0) * (odds[y] ?? 0)
    const those = BEFORE[y] as Uint8Array
    for (let k = 0; k < those.length; k += 1) {
      const p = those[k] ?? 0
      before[p] = (before[p] ?? 0) + weight * (passage[p * LABELS + y] ?? 0)
    }
  }
  normalize(before, 0)
  return before
}

const normalize = (values: Float64Array, from: number): void => {
  let sum = 0
  for (let at = from; at < from + LABELS; at += 1) sum += values[at] ?? 0
  if (sum > 0) for (let at = from; at < from + LABELS; at += 1) values[at] = (values[at] ?? 0) / sum
}
