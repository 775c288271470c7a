import { z } from 'zod'
import type { Egress } from '../../../egress/http.ts'
import type { EmbedderSettings } from './settings.ts'

/** Turns texts into vectors; similar meanings give similar directions. */
export interface Embedder {
  /** Only vectors of the same model are comparable. */
  readonly model: string
  /** Returns one vector of length 1 per text within `ms`. @throws Error if the API fails */
  embed(texts: readonly string[], ms: number): Promise<readonly Float32Array[]>
}

const DIMENSIONS_MAX = 8_192
const BYTES_MAX = 33_554_432

const EmbeddingsResponse = z.object({
  data: z.array(
    z.object({
      index: z.int().min(0),
      embedding: z.array(z.number()).min(1).max(DIMENSIONS_MAX),
    }),
  ),
})

/** Calls an OpenAI-compatible `/embeddings` endpoint, which most model servers offer. */
export const openAiEmbedder = (
  { url, model, key }: EmbedderSettings,
  egress: Pick<Egress, 'request'>,
): Embedder => ({
  model,
  async embed(texts, ms) {
    const { status, body } = await egress.request({
      url: `${url.replace(/(?<!\/)\/+$/, '')}/embeddings`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
      maxBytes: BYTES_MAX,
      timeouts: { totalMs: ms, headersMs: ms },
    })
    if (status !== 200) throw new Error(`the embedding API returned status ${status}`)
    const { data } = EmbeddingsResponse.parse(JSON.parse(body.toString('utf8')))
    const vectors = texts.map((_, i) => data.find(({ index }) => index === i)?.embedding)
    const [first] = vectors
    return vectors.map((vector) => {
      if (vector?.length === first?.length && vector) return normalizeVector(vector)
      throw new Error('the embedding API omitted texts')
    })
  },
})

function normalizeVector(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values)
  if (length === 0) throw new Error('the embedding API returned a zero vector')
  return Float32Array.from(values, (value) => value / length)
}

const QUANTIZATION_STEPS = 127

/** Quantizes each dimension to one byte: a quarter of the size, the same order of hits. */
export const packVector = (vector: Float32Array): Buffer =>
  Buffer.from(Int8Array.from(vector, (value) => Math.round(value * QUANTIZATION_STEPS)).buffer)

/** Returns the cosine of the angle to a packed vector: 1 for equal, 0 for unrelated. */
export function cosineSimilarity(vector: Float32Array, bytes: Buffer): number {
  if (bytes.length !== vector.length) return 0
  let sum = 0
  for (const [i, value] of vector.entries()) sum += value * bytes.readInt8(i)
  return sum / QUANTIZATION_STEPS
}
