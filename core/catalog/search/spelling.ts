import { editDistance } from '../../edit-distance.ts'

/** How far apart two words may be and still be a misspelling: short words allow less. */
const allowed = (length: number): number => (length < 4 ? 0 : length < 6 ? 1 : length < 10 ? 2 : 3)

/** The vocabulary has stems: an ending that is misspelt was not taken off. */
const ENDING = { stem: 6, most: 5 } as const

/** How far a word is from a stem and any ending, which counts as one more. */
function stemAway(word: string, stem: string): number {
  const ending = word.length - stem.length
  if (stem.length < ENDING.stem || ending < 1 || ending > ENDING.most)
    return Number.MAX_SAFE_INTEGER
  return 1 + editDistance(word.slice(0, stem.length), stem)
}

/** A word of the vocabulary, and in how many documents it is. */
export interface Similar {
  readonly term: string
  readonly documents: number
}

export interface Correction {
  readonly term: string
  /** Of 1. */
  readonly weight: number
}

/** The words that were probably meant: of the nearest, the three most usual. */
export function corrections(word: string, near: readonly Similar[]): Correction[] {
  return near
    .map((each) => ({
      ...each,
      away: Math.min(editDistance(word, each.term), stemAway(word, each.term)),
    }))
    .filter(({ term, away }) => away <= allowed(Math.min(word.length, term.length)))
    .toSorted((a, b) => a.away - b.away || b.documents - a.documents || (a.term < b.term ? -1 : 1))
    .filter(({ away }, _, [best]) => away <= best!.away)
    .slice(0, 3)
    .map(({ term, away }) => ({ term, weight: 1 - (0.5 * away) / Math.max(word.length, 4) }))
}
