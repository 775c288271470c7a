/**
 * How many letters have to be changed, added, dropped or exchanged with their neighbour to make one
 * word the other (optimal string alignment).
 */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(swapped ? Math.min(best, before[j - 2]! + 1) : best)
    }
    before = last
    last = row
  }
  return last[b.length]!
}

/** How far apart two words may be and still be a misspelling: short words allow less. */
const allowed = (length: number): number => (length < 4 ? 0 : length < 6 ? 1 : length < 10 ? 2 : 3)

/** The vocabulary has stems: an ending that is misspelt was not taken off. */
const ENDING = { stem: 6, most: 5 } as const

/** How far a word is from a stem and any ending, which counts as one more. */
function stemAway(word: string, stem: string): number {
  const ending = word.length - stem.length
  if (stem.length < ENDING.stem || ending < 1 || ending > ENDING.most)
    return Number.MAX_SAFE_INTEGER
  return 1 + distance(word.slice(0, stem.length), stem)
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
      away: Math.min(distance(word, each.term), stemAway(word, each.term)),
    }))
    .filter(({ term, away }) => away <= allowed(Math.min(word.length, term.length)))
    .toSorted((a, b) => a.away - b.away || b.documents - a.documents || (a.term < b.term ? -1 : 1))
    .filter(({ away }, _, [best]) => away <= best!.away)
    .slice(0, 3)
    .map(({ term, away }) => ({ term, weight: 1 - (0.5 * away) / Math.max(word.length, 4) }))
}
