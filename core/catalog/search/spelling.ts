import { distance } from 'fastest-levenshtein'

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

/** Returns up to three corrections: the nearest terms, the most frequent first. */
export function correctSpelling(word: string, near: readonly SimilarTerm[]): Correction[] {
  return near
    .map((each) => ({
      ...each,
      edits: Math.min(distance(word, each.term), stemDistance(word, each.term)),
    }))
    .filter(({ term, edits }) => edits <= editsAllowed(Math.min(word.length, term.length)))
    .toSorted(
      (a, b) => a.edits - b.edits || b.documents - a.documents || (a.term < b.term ? -1 : 1),
    )
    .filter(({ edits }, _, [best]) => edits <= best!.edits)
    .slice(0, 3)
    .map(({ term, edits }) => ({ term, weight: 1 - (0.5 * edits) / Math.max(word.length, 4) }))
}
