/**
 * Metric of the public article-extraction-benchmark (Zyte), by its definition: shingles of four
 * words, counted with repetition, as shares per page so that long pages do not weigh more; means of
 * precision and recall over the pages; F1 of the means.
 */

/** Shares of the shingles of one page: they sum to 1, or are all 0 if there are none. */
export interface Match {
  readonly hit: number
  readonly surplus: number
  readonly missed: number
}

export interface Scores {
  readonly f1: number
  readonly precision: number
  readonly recall: number
}

const SHINGLE = 4
const WORD = /[\p{L}\p{N}_]+/gu

const wordsOf = (text: string): string[] => text.match(WORD) ?? []

/** A text of fewer than four words is one shingle; an empty one has none. */
function shinglesOf(text: string): Map<string, number> {
  const words = wordsOf(text)
  const counts = new Map<string, number>()
  for (let at = 0; at < Math.max(1, words.length - SHINGLE + 1); at++) {
    const shingle = words.slice(at, at + SHINGLE).join(' ')
    if (shingle !== '') counts.set(shingle, (counts.get(shingle) ?? 0) + 1)
  }
  return counts
}

export function matchOf(truth: string, found: string): Match {
  const expected = shinglesOf(truth)
  const given = shinglesOf(found)
  let [hit, surplus, missed] = [0, 0, 0]
  for (const shingle of new Set([...expected.keys(), ...given.keys()])) {
    const wanted = expected.get(shingle) ?? 0
    const got = given.get(shingle) ?? 0
    hit += Math.min(wanted, got)
    surplus += Math.max(0, got - wanted)
    missed += Math.max(0, wanted - got)
  }
  const all = Math.max(1, hit + surplus + missed)
  return { hit: hit / all, surplus: surplus / all, missed: missed / all }
}

/** Returns true if both texts have the same words in the same order. */
export const isExact = (truth: string, found: string): boolean =>
  wordsOf(truth).join(' ') === wordsOf(found).join(' ')

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length

/** Precision covers pages with a result, recall those with a reference text. */
export function scoresOf(matches: readonly Match[]): Scores {
  const precision = mean(
    matches
      .filter(({ hit, surplus }) => hit + surplus > 0)
      .map(({ hit, surplus }) => hit / (hit + surplus)),
  )
  const recall = mean(
    matches
      .filter(({ hit, missed }) => hit + missed > 0)
      .map(({ hit, missed }) => hit / (hit + missed)),
  )
  const sum = precision + recall
  return { f1: sum === 0 ? 0 : (2 * precision * recall) / sum, precision, recall }
}

/** Returns deterministic random numbers in [0, 1) for a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Resamples pages with replacement, identically for every caller, and measures each sample. */
export function bootstrap(
  pages: number,
  rounds: number,
  measure: (drawn: readonly number[]) => number,
): number[] {
  const random = randomFrom(2_019)
  return Array.from({ length: rounds }, () =>
    measure(Array.from({ length: pages }, () => Math.floor(random() * pages))),
  )
}

export function deviationOf(values: readonly number[]): number {
  const middle = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)))
}
