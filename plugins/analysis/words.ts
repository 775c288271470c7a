import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** The bytes of a compressed file in `data/`. */
export const unpacked = (file: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(brotliDecompressSync(readFileSync(new URL(`./data/${file}`, import.meta.url))))

/** English words by falling frequency, and what vectors tell of them. */
export interface Words {
  readonly index: ReadonlyMap<string, number>
  /** For every word its cluster of 1,024: 16 of 8 of 8, coarse to fine. */
  readonly clusters: Uint16Array
}

/** The vocabulary and its clusters, from the bytes of `words.br` and `clusters.br`. */
const wordsOf = (list: Uint8Array, clusters: Uint8Array<ArrayBuffer>): Words => ({
  index: new Map(
    new TextDecoder()
      .decode(list)
      .split('\n')
      .map((word, at) => [word, at]),
  ),
  clusters: new Uint16Array(clusters.buffer),
})

let loaded: Words | undefined
/** The vocabulary of the engine, read once. */
export const words = (): Words =>
  (loaded ??= wordsOf(unpacked('words.br'), unpacked('clusters.br')))

/** Word vectors of length one, for the most frequent words only, as signed bytes. */
export interface Vectors {
  readonly dimensions: number
  readonly size: number
  readonly values: Int8Array
}

/** The numbers of the reduced vectors that are kept. */
export const DIMENSIONS = 64
/** One in a vector is this many units. */
export const UNIT = 200

let read: Vectors | undefined
/** The vectors of the engine, read once. */
export const vectors = (): Vectors => {
  if (read === undefined) {
    const values = new Int8Array(unpacked('vectors.br').buffer)
    read = { dimensions: DIMENSIONS, size: values.length / DIMENSIONS, values }
  }
  return read
}
