import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** Reads a Brotli-compressed file of `data/`. */
export const readCompressed = (file: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(brotliDecompressSync(readFileSync(new URL(`./data/${file}`, import.meta.url))))

/** English words by descending frequency, with their clusters. */
export interface Words {
  readonly index: ReadonlyMap<string, number>
  /** Cluster of every word, 0 to 1,023, in three levels (16 × 8 × 8), coarse to fine. */
  readonly clusters: Uint16Array
}

/** Parses `words.br` and `clusters.br`. */
const wordsOf = (list: Uint8Array, clusters: Uint8Array<ArrayBuffer>): Words => ({
  index: new Map(
    new TextDecoder()
      .decode(list)
      .split('\n')
      .map((word, at) => [word, at]),
  ),
  clusters: new Uint16Array(clusters.buffer),
})

let loadedWords: Words | undefined
/** Vocabulary of the engine, loaded once. */
export const words = (): Words =>
  (loadedWords ??= wordsOf(readCompressed('words.br'), readCompressed('clusters.br')))

/** Unit word vectors of the most frequent words, as signed bytes. */
export interface Vectors {
  readonly dimensions: number
  readonly size: number
  readonly values: Int8Array
}

/** Dimensions of the reduced vectors. */
export const DIMENSIONS = 64
/** Scale: the value 1 is stored as this many units. */
export const UNIT = 200

let loadedVectors: Vectors | undefined
/** Word vectors of the engine, loaded once. */
export const vectors = (): Vectors => {
  if (loadedVectors === undefined) {
    const values = new Int8Array(readCompressed('vectors.br').buffer)
    loadedVectors = { dimensions: DIMENSIONS, size: values.length / DIMENSIONS, values }
  }
  return loadedVectors
}
