import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliDecompress, brotliDecompressSync } from 'node:zlib'

/** Dimensions of the vectors; test/support/train-word-vectors.ts writes them. */
const DIMENSIONS = 48

const read = (file: string): Buffer => readFileSync(new URL(`./data/${file}`, import.meta.url))

/** Sums the squares of elements, which are too small to overflow. */
function sumOfSquares(values: Int8Array, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += values[i]! * values[i]!
  return sum
}

/**
 * Static vectors of frequent English words, one per stem of PostgreSQL's dictionary, the most
 * frequent first. Words are found by themselves or by their stem.
 */
export class WordVectors {
  readonly #rows = new Map<string, number>()
  readonly #values: Int8Array
  readonly #lengths: Float32Array

  constructor(stems: Buffer, vectors: Buffer) {
    const lines = stems.toString().split('\n')
    for (const [row, line] of lines.entries()) {
      const [stem, ...words] = line.split(' ') as [string, ...string[]]
      for (const word of words) this.#rows.set(word, row)
      if (!this.#rows.has(stem)) this.#rows.set(stem, row)
    }
    this.#values = new Int8Array(vectors)
    this.#lengths = new Float32Array(lines.length)
    for (let row = 0; row < lines.length; row++) {
      const start = row * DIMENSIONS
      this.#lengths[row] = Math.sqrt(sumOfSquares(this.#values, start, start + DIMENSIONS))
    }
  }

  /** Returns the frequency rank of a word; undefined if it is no frequent English word. */
  rankOf(word: string): number | undefined {
    return this.#rows.get(word)
  }

  /** Returns the cosine between two words; 0 if either has no vector. */
  similarity(a: string, b: string): number {
    const [row, other] = [this.#rows.get(a), this.#rows.get(b)]
    return row === undefined || other === undefined ? 0 : this.#cosine(row, other)
  }

  #cosine(row: number, other: number): number {
    const [from, start] = [row * DIMENSIONS, other * DIMENSIONS]
    let product = 0
    for (let i = 0; i < DIMENSIONS; i++)
      product += this.#values[from + i]! * this.#values[start + i]!
    return product / (this.#lengths[row]! * this.#lengths[other]! || 1)
  }
}

let loaded: WordVectors | undefined
/** Word vectors of this process, loaded at the first use unless `loadWordVectors` did. */
export const wordVectors = (): WordVectors =>
  (loaded ??= new WordVectors(
    brotliDecompressSync(read('stems.br')),
    brotliDecompressSync(read('vectors.br')),
  ))

/** Loads the word vectors, and unpacks them on another thread. */
export async function loadWordVectors(): Promise<void> {
  if (loaded) return
  const unpack = promisify(brotliDecompress)
  const [stems, vectors] = await Promise.all([unpack(read('stems.br')), unpack(read('vectors.br'))])
  loaded ??= new WordVectors(stems, vectors)
}
