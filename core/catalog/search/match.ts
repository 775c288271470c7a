import type { Candidate } from './store.ts'
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

/** A way, with its terms by their numbers: each term of a query has one. */
interface Path {
  readonly way: Way
  readonly terms: readonly number[]
}

/** What is reckoned of a part once for all candidates. */
interface Plan {
  readonly weight: number
  readonly words: readonly (readonly Path[])[]
  readonly whole: readonly Path[]
  /** The terms of its words as they were asked for. */
  readonly asked: readonly number[]
  /** How telling each of its words is, and all of it. */
  readonly masses: readonly number[]
  readonly mass: number
}

/** Two words that follow each other in the query. */
interface Pair {
  readonly before: number
  readonly here: number
  readonly bonus: number
}

/** A term in a document: where it stands, and what that is worth by BM25. */
interface Seen {
  readonly positions: readonly number[]
  readonly isInName: boolean
  readonly worth: number
}

/** By the numbers of terms; undefined where the document does not have one. */
type Sight = readonly (Seen | undefined)[]

interface Found {
  readonly score: number
  readonly ways: readonly Way[]
  /** Of the mass of its part. */
  readonly mass: number
}

interface Best {
  readonly score: number
  readonly way: Way | undefined
}

const NONE: Best = { score: 0, way: undefined }

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** @returns what tells of one document after the other how well it matches */
export function matcher({ parts, idf }: Terms): (candidate: Candidate) => Match {
  const numbers = numbersOf(parts)
  const plans = parts.map((part) => planOf(part, idf, numbers))
  const pairs = pairsOf(parts, idf, numbers)
  const all = sumOf(plans.map(({ weight, mass }) => weight * mass))
  return (candidate) => {
    const sight = sightOf(candidate, idf, numbers)
    const ways: Way[] = []
    let text = 0
    let mass = 0
    for (const plan of plans) {
      const found = find(plan, sight)
      ways.push(...found.ways)
      text += found.score
      mass += plan.weight * found.mass
    }
    text += together(pairs, sight)
    const covered = all === 0 ? 1 : mass / all
    const named = nameShare(ways, candidate)
    return { score: text * (1 - COVERAGE + COVERAGE * covered) * named, ways }
  }
}

function numbersOf(parts: readonly Part[]): ReadonlyMap<string, number> {
  const ways = parts.flatMap(({ words, whole }) => [...words.flat(), ...whole])
  const terms = new Set(ways.flatMap((way) => way.terms))
  return new Map([...terms].map((term, number) => [term, number]))
}

function planOf(part: Part, idf: Terms['idf'], numbers: ReadonlyMap<string, number>): Plan {
  const massOf = (ways: readonly Way[]) =>
    Math.max(0, ...ways.map(({ terms }) => sumOf(terms.map((term) => idf.get(term) ?? 0))))
  const pathsOf = (ways: readonly Way[]): Path[] =>
    ways.map((way) => ({ way, terms: way.terms.map((term) => numbers.get(term)!) }))
  const words = part.words.map(pathsOf)
  const asked = words.flatMap((paths) => paths.slice(0, 1).flatMap(({ terms }) => terms))
  const masses = part.words.map(massOf)
  const mass = sumOf(masses) || massOf(part.whole)
  return { weight: part.weight, words, whole: pathsOf(part.whole), asked, masses, mass }
}

function pairsOf(
  parts: readonly Part[],
  idf: Terms['idf'],
  numbers: ReadonlyMap<string, number>,
): Pair[] {
  const words = parts.flatMap((part) => part.words.map((ways) => ways[0]?.terms[0]))
  return words.slice(1).flatMap((here, i): Pair[] => {
    const before = words[i]
    if (before === undefined || here === undefined) return []
    const bonus = NEIGHBOURS * (idf.get(before)! + idf.get(here)!)
    return [{ before: numbers.get(before)!, here: numbers.get(here)!, bonus }]
  })
}

function sightOf(
  { places, words }: Candidate,
  idf: Terms['idf'],
  numbers: ReadonlyMap<string, number>,
): Sight {
  const length = 1 - LENGTH.share + (LENGTH.share * words) / LENGTH.average
  const sight: (Seen | undefined)[] = []
  for (const [term, { positions, fields }] of places) {
    let weight = 0
    for (let i = 0; i < fields.length; i++) weight += FIELD[fields[i]!] ?? 0
    const share = (weight * (1 + SATURATION)) / (weight + SATURATION * length)
    const worth = (idf.get(term) ?? 0) * share
    sight[numbers.get(term)!] = { positions, isInName: fields.includes('A'), worth }
  }
  return sight
}

/** A part of the query: either each of its words, or all of it in another way. */
function find(plan: Plan, sight: Sight): Found {
  const ways: Way[] = []
  let score = 0
  let mass = 0
  for (const [i, paths] of plan.words.entries()) {
    const best = bestOf(paths, sight)
    if (!best.way) continue
    ways.push(best.way)
    score += best.score
    mass += plan.masses[i]!
  }
  if (score > 0) score *= inOrder(plan.asked, sight)
  const whole = bestOf(plan.whole, sight)
  if (whole.way && whole.score > score) {
    return { score: whole.score * plan.weight, ways: [whole.way], mass: plan.mass }
  }
  return { score: score * plan.weight, ways, mass }
}

function bestOf(paths: readonly Path[], sight: Sight): Best {
  let best = NONE
  for (const { way, terms } of paths) {
    const sum = sumOfAll(terms, sight)
    if (sum <= 0) continue
    const score = way.weight * sum * inOrder(terms, sight)
    if (score > best.score) best = { score, way }
  }
  return best
}

/** What terms are worth together; 0 where one of them is not there. */
function sumOfAll(terms: readonly number[], sight: Sight): number {
  let sum = 0
  for (const term of terms) {
    const worth = sight[term]?.worth ?? 0
    if (worth === 0) return 0
    sum += worth
  }
  return sum
}

/** Words of a phrase that stand anywhere, or in another order, are only part of it. */
function inOrder(terms: readonly number[], sight: Sight): number {
  if (terms.length < 2) return 1
  let ends = positionsOf(sight[terms[0]!])
  for (const term of terms.slice(1)) {
    const befores = ends
    ends = positionsOf(sight[term]).filter((at) =>
      befores.some((before) => at > before && at - before <= GAP),
    )
  }
  return ends.length > 0 ? 1 : SCATTERED
}

const NOWHERE: readonly number[] = []
const positionsOf = (seen: Seen | undefined): readonly number[] => seen?.positions ?? NOWHERE

/** For each pair of neighbours in the query that are neighbours there. */
function together(pairs: readonly Pair[], sight: Sight): number {
  let sum = 0
  for (const { before, here, bonus } of pairs) {
    const befores = positionsOf(sight[before])
    if (befores.length === 0) continue
    if (positionsOf(sight[here]).some((at) => befores.includes(at - 1))) sum += bonus
  }
  return sum
}

function nameShare(ways: readonly Way[], { places, nameWords }: Candidate): number {
  const named = new Set<string>()
  for (const { terms } of ways) {
    for (const term of terms) if (places.get(term)?.fields.includes('A')) named.add(term)
  }
  return 1 + (WHOLE_NAME * named.size) / Math.max(nameWords, 1)
}
