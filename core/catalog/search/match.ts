import type { Candidate, Places } from './store.ts'
import type { Part, Terms, Way } from './terms.ts'

/** How well the text of a document answers a query. */
export interface Match {
  readonly score: number
  /** The ways in which parts of the query were matched. */
  readonly ways: readonly Way[]
}

// BM25 with fields: a word in a name counts as three.
const FIELD: Readonly<Record<string, number>> = { A: 3, B: 2, C: 1, D: 0.8 }
const SATURATION = 1.2
const LENGTH = { share: 0.4, average: 40 } as const

/** Words that follow each other, in the query and there, say more than words apart. */
const NEIGHBOURS = 0.15
/** Between two words of a phrase stands one at most, such as `to`. */
const GAP = 2
const SCATTERED = 0.6
/** A name that says nothing else. */
const WHOLE_NAME = 0.25
/** A document that has half of what was asked for is worth less than half. */
const COVERAGE = 0.5

/** What is reckoned of a part once for all candidates. */
interface Plan extends Part {
  /** The terms of its words as they were asked for. */
  readonly asked: readonly string[]
  /** How telling each of its words is, and all of it. */
  readonly masses: readonly number[]
  readonly mass: number
}

/** Two words that follow each other in the query. */
interface Pair {
  readonly before: string
  readonly here: string
  readonly bonus: number
}

interface Found {
  readonly score: number
  readonly ways: readonly Way[]
  /** Of the mass of its part. */
  readonly mass: number
}

const NONE: Match = { score: 0, ways: [] }

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** @returns what tells of one document after the other how well it matches */
export function matcher({ parts, idf }: Terms): (candidate: Candidate) => Match {
  const plans = parts.map((part) => planOf(part, idf))
  const pairs = pairsOf(parts, idf)
  const all = sumOf(plans.map(({ weight, mass }) => weight * mass))
  return (candidate) => {
    const worth = worthOf(candidate, idf)
    const found = plans.map((plan) => find(plan, candidate, worth))
    const ways = found.flatMap((each) => each.ways)
    const text = sumOf(found.map(({ score }) => score)) + together(pairs, candidate)
    const mass = sumOf(found.map((each, i) => plans[i]!.weight * each.mass))
    const covered = all === 0 ? 1 : mass / all
    const score = text * (1 - COVERAGE + COVERAGE * covered) * nameShare(ways, candidate)
    return { score, ways }
  }
}

function planOf(part: Part, idf: Terms['idf']): Plan {
  const massOf = (ways: readonly Way[]) =>
    Math.max(0, ...ways.map(({ terms }) => sumOf(terms.map((term) => idf.get(term) ?? 0))))
  const asked = part.words.flatMap((ways) => ways.slice(0, 1).flatMap(({ terms }) => terms))
  const masses = part.words.map(massOf)
  return { ...part, asked, masses, mass: sumOf(masses) || massOf(part.whole) }
}

function pairsOf(parts: readonly Part[], idf: Terms['idf']): Pair[] {
  const words = parts.flatMap((part) => part.words.map((ways) => ways[0]?.terms[0]))
  return words.slice(1).flatMap((here, i): Pair[] => {
    const before = words[i]
    if (before === undefined || here === undefined) return []
    return [{ before, here, bonus: NEIGHBOURS * (idf.get(before)! + idf.get(here)!) }]
  })
}

/** What each term that is there is worth, by BM25. */
function worthOf({ places, words }: Candidate, idf: Terms['idf']): ReadonlyMap<string, number> {
  const length = 1 - LENGTH.share + (LENGTH.share * words) / LENGTH.average
  const worth = new Map<string, number>()
  for (const [term, { fields }] of places) {
    let weight = 0
    for (const field of fields) weight += FIELD[field] ?? 0
    const share = (weight * (1 + SATURATION)) / (weight + SATURATION * length)
    worth.set(term, (idf.get(term) ?? 0) * share)
  }
  return worth
}

/** A part of the query: either each of its words, or all of it in another way. */
function find(plan: Plan, candidate: Candidate, worth: ReadonlyMap<string, number>): Found {
  const words = plan.words.map((ways) => bestOf(ways, candidate, worth))
  const score = sumOf(words.map((word) => word.score)) * inOrder(plan.asked, candidate)
  const whole = bestOf(plan.whole, candidate, worth)
  if (whole.score > score) {
    return { score: whole.score * plan.weight, ways: whole.ways, mass: plan.mass }
  }
  const mass = sumOf(plan.masses.filter((_, i) => words[i]!.score > 0))
  return { score: score * plan.weight, ways: words.flatMap(({ ways }) => ways), mass }
}

function bestOf(
  ways: readonly Way[],
  candidate: Candidate,
  worth: ReadonlyMap<string, number>,
): Match {
  let best = NONE
  for (const way of ways) {
    let sum = 0
    for (const term of way.terms) {
      const each = worth.get(term) ?? 0
      sum = each === 0 ? Number.NEGATIVE_INFINITY : sum + each
    }
    if (sum <= 0) continue
    const score = way.weight * sum * inOrder(way.terms, candidate)
    if (score > best.score) best = { score, ways: [way] }
  }
  return best
}

/** Words of a phrase that stand anywhere, or in another order, are only part of it. */
function inOrder(terms: readonly string[], { places }: Candidate): number {
  if (terms.length < 2) return 1
  let ends = positionsOf(places.get(terms[0]!))
  for (const term of terms.slice(1)) {
    const befores = ends
    ends = positionsOf(places.get(term)).filter((at) =>
      befores.some((before) => at > before && at - before <= GAP),
    )
  }
  return ends.length > 0 ? 1 : SCATTERED
}

const positionsOf = (places: Places | undefined): readonly number[] => places?.positions ?? []

/** For each pair of neighbours in the query that are neighbours there. */
function together(pairs: readonly Pair[], { places }: Candidate): number {
  let sum = 0
  for (const { before, here, bonus } of pairs) {
    const befores = positionsOf(places.get(before))
    const adjacent = positionsOf(places.get(here)).some((at) => befores.includes(at - 1))
    if (adjacent) sum += bonus
  }
  return sum
}

function nameShare(ways: readonly Way[], { places, nameWords }: Candidate): number {
  const terms = new Set(ways.flatMap((way) => way.terms))
  const named = [...terms].filter((term) => places.get(term)?.fields.includes('A')).length
  return 1 + (WHOLE_NAME * named) / Math.max(nameWords, 1)
}
