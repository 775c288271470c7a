import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'

/** Dimensions of the vectors; test/support/train-word-vectors.ts writes them. */
export const DIMENSIONS = 48
/** Axes that are compared first; the axes are sorted by variance. */
const FIRST_AXES = 12
/** Similar words of so many words are cached. */
const CACHE_MAX = 2_000

const unpack = (file: string): Buffer =>
  brotliDecompressSync(readFileSync(new URL(`./data/${file}`, import.meta.url)))

/** Sums the squares of elements, which are too small to overflow. */
function sumOfSquares(values: Int8Array, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += values[i]! * values[i]!
  return sum
}

/** Word with the cosine of the angle to another one. */
export interface RelatedWord {
  readonly word: string
  readonly similarity: number
}

/**
 * Static vectors of frequent English words, one per stem of PostgreSQL's dictionary, the most
 * frequent first. Words are found by themselves or by their stem.
 */
export class WordVectors {
  readonly #rows = new Map<string, number>()
  /** Most frequent word of each stem. */
  readonly #words: string[] = []
  readonly #values: Int8Array
  readonly #lengths: Float32Array
  /** Lengths without the first axes. */
  readonly #rests: Float32Array
  readonly #related = new LRUCache<string, readonly RelatedWord[]>({ max: CACHE_MAX })

  constructor() {
    const lines = unpack('stems.br').toString().split('\n')
    for (const [row, line] of lines.entries()) {
      const [stem, ...words] = line.split(' ') as [string, ...string[]]
      this.#words.push(words[0]!)
      for (const word of words) this.#rows.set(word, row)
      if (!this.#rows.has(stem)) this.#rows.set(stem, row)
    }
    this.#values = new Int8Array(unpack('vectors.br'))
    this.#lengths = new Float32Array(lines.length)
    this.#rests = new Float32Array(lines.length)
    for (let row = 0; row < lines.length; row++) {
      const [start, end] = [row * DIMENSIONS, (row + 1) * DIMENSIONS]
      const rest = sumOfSquares(this.#values, start + FIRST_AXES, end)
      this.#lengths[row] = Math.sqrt(sumOfSquares(this.#values, start, start + FIRST_AXES) + rest)
      this.#rests[row] = Math.sqrt(rest)
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

  /** Adds the vector of a word, scaled to length `weight`. Returns false if it has none. */
  addTo(sum: Float32Array, word: string, weight: number): boolean {
    const row = this.#rows.get(word)
    if (row === undefined) return false
    const factor = weight / (this.#lengths[row]! || 1)
    const from = row * DIMENSIONS
    for (let i = 0; i < DIMENSIONS; i++) sum[i]! += factor * this.#values[from + i]!
    return true
  }

  /** Returns the most similar words of other stems, from `min` on, most similar first. */
  relatedTo(word: string, { min, limit }: { min: number; limit: number }): readonly RelatedWord[] {
    const key = `${word} ${min} ${limit}`
    const cached = this.#related.get(key)
    if (cached) return cached
    const row = this.#rows.get(word)
    const found = row === undefined ? [] : this.#nearest(row, min, limit)
    this.#related.set(key, found)
    return found
  }

  /** Compares the first axes of each word, and the others only if they can reach `min`. */
  #nearest(row: number, min: number, limit: number): RelatedWord[] {
    const found: RelatedWord[] = []
    const [own, values] = [this.#vectorAt(row), this.#values]
    const [length, rest] = [this.#lengths[row]!, this.#rests[row]!]
    for (let other = 0; other < this.#words.length; other++) {
      const from = other * DIMENSIONS
      let product = 0
      for (let i = 0; i < FIRST_AXES; i++) product += own[i]! * values[from + i]!
      const needed = min * length * this.#lengths[other]!
      if (product + rest * this.#rests[other]! < needed || other === row) continue
      for (let i = FIRST_AXES; i < DIMENSIONS; i++) product += own[i]! * values[from + i]!
      if (product < needed) continue
      const similarity = product / (length * this.#lengths[other]! || 1)
      found.push({ word: this.#words[other]!, similarity })
    }
    return found.toSorted((a, b) => b.similarity - a.similarity).slice(0, limit)
  }

  #cosine(row: number, other: number): number {
    const [from, start] = [row * DIMENSIONS, other * DIMENSIONS]
    let product = 0
    for (let i = 0; i < DIMENSIONS; i++)
      product += this.#values[from + i]! * this.#values[start + i]!
    return product / (this.#lengths[row]! * this.#lengths[other]! || 1)
  }

  #vectorAt(row: number): Int8Array {
    return this.#values.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS)
  }
}

let loaded: WordVectors | undefined
/** Word vectors of this process, loaded at the first use. */
export const wordVectors = (): WordVectors => (loaded ??= new WordVectors())
