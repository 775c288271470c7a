import { atLeast, none, type Target } from '../report.ts'
import { bootstrap, deviationOf, type Match, type Scores, scoresOf } from './metric.ts'

const ROUNDS = 2_000
const GOAL = 0.97
/** Goals for F1 by the kind of pages or their folder. */
const GOALS: Readonly<Record<string, number>> = {
  articles: 0.965,
  'extraction-dev': 0.965,
  documentation: 0.95,
  forum: 0.82,
  product: 0.8,
  listing: 0.75,
  collection: 0.8,
  service: 0.86,
}
/** F1 of a page that a peer reads and ours does not. */
const LOST = { theirs: 0.9, ours: 0.5 } as const

export const round = (value: number): number => Math.round(value * 10_000) / 10_000

const drawn = (matches: readonly Match[], indices: readonly number[]): Scores =>
  scoresOf(indices.map((at) => matches[at]!))

/** Returns the standard deviation of a score, from a bootstrap over the pages. */
export const scoreDeviation = (matches: readonly Match[], field: keyof Scores): number =>
  deviationOf(bootstrap(matches.length, ROUNDS, (at) => drawn(matches, at)[field]))

/** Returns the share of the rounds of a paired bootstrap over the pages in which ours is better. */
function leadOver(theirs: readonly Match[], ours: readonly Match[]): number {
  const differences = bootstrap(
    ours.length,
    ROUNDS,
    (indices) => drawn(ours, indices).f1 - drawn(theirs, indices).f1,
  )
  return differences.filter((difference) => difference > 0).length / ROUNDS
}

/** Returns the number of pages that a peer reads and ours does not. */
const lostPages = (theirs: readonly Match[], ours: readonly Match[]): number =>
  ours.filter(
    (match, at) => scoresOf([theirs[at]!]).f1 >= LOST.theirs && scoresOf([match]).f1 < LOST.ours,
  ).length

/** Judges our matches on pages of one kind, beside those of the peers on the same pages. */
export function targetsOf(
  kind: string,
  ours: readonly Match[],
  peers: Readonly<Record<string, readonly Match[]>>,
): Target[] {
  const { f1 } = scoresOf(ours)
  const goal = GOALS[kind] ?? GOAL
  return [
    atLeast(`${kind}: F1`, round(f1), goal),
    ...Object.entries(peers).flatMap(([name, theirs]) => {
      const ahead = leadOver(theirs, ours)
      const lost = lostPages(theirs, ours)
      return [
        none(`${kind}: pages that only ${name} reads`, lost),
        atLeast(`${kind}: ahead of ${name}, share of bootstrap rounds`, round(ahead), 0.95),
      ]
    }),
  ]
}
