import { words as listed } from './lexicon.ts'
import { DIMENSIONS, vectors, words } from './words.ts'

const FUNCTION_WORDS = listed('function-words.txt')
/** Frequent words mean less (smooth inverse frequency, Arora 2017; frequencies after Zipf). */
const SMOOTH = 3e-5

/** How much the word at a frequency rank, from 0, counts. */
const weightOf = (rank: number): number => SMOOTH / (SMOOTH + 0.1 / (rank + 1))

/** A sum of word vectors. */
export type Meaning = Float64Array

export const noMeaning = (): Meaning => new Float64Array(DIMENSIONS)

/** Adds the vector of a word, lower-cased, to a meaning; false when it has none. */
export const addWord = (meaning: Meaning, word: string, weight = 1): boolean => {
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

/** The cosine between two meanings; 0 when one is nothing. */
export const likeness = (left: Meaning, right: Meaning): number => {
  let [product, a, b] = [0, 0, 0]
  for (let at = 0; at < DIMENSIONS; at += 1) {
    const [x, y] = [left[at] ?? 0, right[at] ?? 0]
    product += x * y
    a += x * x
    b += y * y
  }
  return a > 0 && b > 0 ? product / Math.sqrt(a * b) : 0
}
