import type { Candidate } from '../check-draft.ts'
import type { QueryTerms } from '../terms.ts'
import { DIMENSIONS, wordVectors } from './word-vectors.ts'

/** Weights of the fields of a document: name, tags, description, endpoints. */
const FIELD_WEIGHTS: Readonly<Record<string, number>> = { A: 3, B: 1.5, C: 1, D: 0.5 }
/** Rank at which a word has half the weight of a rare one (smooth inverse frequency). */
const HALF_WEIGHT_RANK = 400

/** Meaning of a text: sum of its words' vectors, of length 1. */
export type Meaning = Float32Array

/** Returns the meaning of a query; undefined if none of its words has a vector. */
export function queryMeaning({ parts }: QueryTerms): Meaning | undefined {
  const sum = new Float32Array(DIMENSIONS)
  let isKnown = false
  for (const { weight, words } of parts) {
    for (const [variant] of words) {
      for (const term of variant?.terms ?? []) {
        isKnown = addWord(sum, term, weight) || isKnown
      }
    }
  }
  return isKnown ? unit(sum) : undefined
}

const meanings = new WeakMap<readonly string[], Meaning>()

/** Returns the meaning of a document, computed once per version of it. */
export function documentMeaning({ names, vector }: Candidate): Meaning {
  const known = meanings.get(names)
  if (known) return known
  const sum = new Float32Array(DIMENSIONS)
  for (const entry of vector.split(' ')) {
    const end = entry.lastIndexOf("':")
    addWord(sum, entry.slice(1, end), weightOf(entry, end + 2))
  }
  const meaning = unit(sum)
  meanings.set(names, meaning)
  return meaning
}

const namedWords = new WeakMap<readonly string[], readonly string[]>()

/** Returns the cosine between a term and the most similar word of a document's name or tags. */
export function nameSimilarity(term: string, { names, vector }: Candidate): number {
  const vectors = wordVectors()
  if (vectors.rankOf(term) === undefined) return 0
  let words = namedWords.get(names)
  if (!words) {
    words = vector.split(' ').flatMap((entry) => {
      const end = entry.lastIndexOf("':")
      return weightOf(entry, end + 2) >= FIELD_WEIGHTS['B']! ? [entry.slice(1, end)] : []
    })
    namedWords.set(names, words)
  }
  return Math.max(0, ...words.map((word) => vectors.similarity(term, word)))
}

/** Returns the cosine of the angle between two meanings. */
export function meaningSimilarity(a: Meaning, b: Meaning): number {
  let product = 0
  for (let i = 0; i < DIMENSIONS; i++) product += a[i]! * b[i]!
  return product
}

/** Weight of the strongest field that a term is in; a position without a letter is of field D. */
function weightOf(entry: string, from: number): number {
  for (const field of ['A', 'B', 'C']) if (entry.includes(field, from)) return FIELD_WEIGHTS[field]!
  return FIELD_WEIGHTS['D']!
}

function addWord(sum: Float32Array, word: string, weight: number): boolean {
  const vectors = wordVectors()
  const rank = vectors.rankOf(word)
  if (rank === undefined) return false
  return vectors.addTo(sum, word, (weight * rank) / (rank + HALF_WEIGHT_RANK))
}

function unit(sum: Float32Array): Meaning {
  const length = Math.hypot(...sum)
  return length === 0 ? sum : sum.map((value) => value / length)
}
