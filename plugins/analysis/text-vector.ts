import { readWordSet as listed } from './lexicon.ts'
import { DIMENSIONS, vectors, words } from './words.ts'

const FUNCTION_WORDS = listed('function-words.txt')
/** Smooth inverse frequency weighting (Arora 2017), with frequencies by Zipf's law. */
const SMOOTH = 3e-5

/** Weight of the word at a frequency rank, counted from 0. */
const weightOf = (rank: number): number => SMOOTH / (SMOOTH + 0.1 / (rank + 1))

/** A sum of word vectors. */
export type TextVector = Float64Array

export const zeroVector = (): TextVector => new Float64Array(DIMENSIONS)

/** Adds the vector of a lower-cased word; returns false if it has none. */
export const addWord = (meaning: TextVector, word: string, weight = 1): boolean => {
  const { values, size } = vectors()
  const row = FUNCTION_WORDS.has(word) ? size : (words().index.get(word) ?? size)
  if (row >= size) return false
  const share = weight * weightOf(row)
  const from = row * DIMENSIONS
  for (let at = 0; at < DIMENSIONS; at += 1) {
    meaning[at] = (meaning[at] ?? 0) + share * (values[from + at] ?? 0)
  }
  return true
}

/** Cosine similarity; 0 if either vector is zero. */
export const cosineSimilarity = (left: TextVector, right: TextVector): number => {
  let [product, a, b] = [0, 0, 0]
  for (let at = 0; at < DIMENSIONS; at += 1) {
    const [x, y] = [left[at] ?? 0, right[at] ?? 0]
    product += x * y
    a += x * x
    b += y * y
  }
  return a > 0 && b > 0 ? product / Math.sqrt(a * b) : 0
}
