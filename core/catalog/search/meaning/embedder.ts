import { z } from 'zod'
import type { Egress } from '../../../egress/http.ts'
import type { EmbedderSettings } from './settings.ts'

/** Turns texts into vectors that point in like directions where the texts mean like things. */
export interface Embedder {
  /** Vectors of one model are compared with its own alone. */
  readonly model: string
  /**
   * @param ms the longest to wait
   * @returns one vector of length 1 for each text, in their order
   * @throws Error when the engine is down, slow, or says what nobody can read
   */
  embed(texts: readonly string[], ms: number): Promise<readonly Float32Array[]>
}

const DIMENSIONS_MAX = 8_192
const BYTES_MAX = 33_554_432

const Answer = z.object({
  data: z.array(
    z.object({
      index: z.int().min(0),
      embedding: z.array(z.number()).min(1).max(DIMENSIONS_MAX),
    }),
  ),
})

/** Asks an endpoint `/embeddings` of the form that OpenAI's has, as most model servers have. */
export const openAiEmbedder = (
  { url, model, key }: EmbedderSettings,
  egress: Pick<Egress, 'request'>,
): Embedder => ({
  model,
  async embed(texts, ms) {
    const { status, body } = await egress.request({
      url: `${url.replace(/\/+$/, '')}/embeddings`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: ms, headersMs: ms },
    })
    if (status !== 200) throw new Error(`the engine of embeddings answered ${status}`)
    const { data } = Answer.parse(JSON.parse(body.toString('utf8')))
    const vectors = texts.map((_, i) => data.find(({ index }) => index === i)?.embedding)
    const [first] = vectors
    return vectors.map((vector) => {
      if (vector?.length === first?.length && vector) return ofLengthOne(vector)
      throw new Error('the engine of embeddings left texts out')
    })
  },
})

function ofLengthOne(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values)
  if (length === 0) throw new Error('the engine of embeddings answered a vector of zeros')
  return Float32Array.from(values, (value) => value / length)
}

const STEPS = 127

/** A byte for each dimension: a quarter of the room, and the same order of hits. */
export const packed = (vector: Float32Array): Buffer =>
  Buffer.from(Int8Array.from(vector, (value) => Math.round(value * STEPS)).buffer)

/** The cosine of the angle between a vector and one that was packed: 1 is the same, 0 unrelated. */
export function likeness(vector: Float32Array, bytes: Buffer): number {
  if (bytes.length !== vector.length) return 0
  let sum = 0
  for (const [i, value] of vector.entries()) sum += value * bytes.readInt8(i)
  return sum / STEPS
}
