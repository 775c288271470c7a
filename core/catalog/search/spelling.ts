import { distance } from 'fastest-levenshtein'
import { wordVectors } from './meaning/word-vectors.ts'

/** Edits up to which a word of this length counts as misspelled; short words allow fewer. */
const editsAllowed = (length: number): number =>
  length < 4 ? 0 : length < 6 ? 1 : length < 10 ? 2 : 3

/** The vocabulary holds stems, and a misspelled ending is not stripped from the query's word. */
const ENDING = { stemMin: 6, lengthMax: 5 } as const

/** Distance from a word to a stem plus any ending; the ending counts as one edit. */
function stemDistance(word: string, stem: string): number {
  const ending = word.length - stem.length
  if (stem.length < ENDING.stemMin || ending < 1 || ending > ENDING.lengthMax)
    return Number.MAX_SAFE_INTEGER
  return 1 + distance(word.slice(0, stem.length), stem)
}

/** Term of the vocabulary, with the number of documents that contain it. */
export interface SimilarTerm {
  readonly term: string
  readonly documents: number
}

export interface Correction {
  readonly term: string
  /** Value of a match by this term, from 0 to 1. */
  readonly weight: number
}

/** Returns how well a term fits the other words of the query; undefined if unknown. */
export type Fit = (term: string) => number | undefined

/** Cosine from which another spelling of an English word is the same word. */
const SAME_WORD_MIN = 0.5
/** Cosine to the other words below which a correction is doubtful. */
const FIT_MIN = 0.15
const UNFITTING_FACTOR = 0.4

/**
 * Returns up to three corrections of a word that no document contains: the nearest terms, those
 * that fit the other words of the query first. A correct English word is no other word misspelled.
 */
export function correctSpelling({
  word,
  term: asked,
  near,
  fit,
}: {
  readonly word: string
  readonly term: string
  readonly near: readonly SimilarTerm[]
  readonly fit: Fit
}): Correction[] {
  const vectors = wordVectors()
  const isEnglish = vectors.rankOf(word) !== undefined
  return near
    .filter(({ term }) => !isEnglish || vectors.similarity(word, term) >= SAME_WORD_MIN)
    .map(({ term, documents }) => {
      const edits = Math.min(distance(asked, term), stemDistance(asked, term))
      const isDoubtful = (fit(term) ?? 1) < FIT_MIN
      return { term, documents, edits, isDoubtful }
    })
    .filter(({ term, edits }) => edits <= editsAllowed(Math.min(asked.length, term.length)))
    .toSorted(
      (a, b) =>
        a.edits - b.edits ||
        Number(a.isDoubtful) - Number(b.isDoubtful) ||
        b.documents - a.documents ||
        (a.term < b.term ? -1 : 1),
    )
    .filter(({ edits }, _, [best]) => edits <= best!.edits)
    .slice(0, 3)
    .map(({ term, edits, isDoubtful }) => ({
      term,
      weight: (1 - (0.5 * edits) / Math.max(asked.length, 4)) * (isDoubtful ? UNFITTING_FACTOR : 1),
    }))
}
