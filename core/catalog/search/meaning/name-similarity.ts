import type { Candidate } from '../check-draft.ts'
import { wordVectors } from './word-vectors.ts'

const namedWords = new WeakMap<readonly string[], readonly string[]>()

/** Returns the cosine between a term and the most similar word of a document's name or tags. */
export function nameSimilarity(term: string, { names, vector }: Candidate): number {
  const vectors = wordVectors()
  if (vectors.rankOf(term) === undefined) return 0
  let words = namedWords.get(names)
  if (!words) {
    words = vector.split(' ').flatMap((entry) => {
      const end = entry.lastIndexOf("':")
      const isNamed = ['A', 'B'].some((field) => entry.includes(field, end + 2))
      return isNamed ? [entry.slice(1, end)] : []
    })
    namedWords.set(names, words)
  }
  return Math.max(0, ...words.map((word) => vectors.similarity(term, word)))
}
