import type { Candidate } from './check-draft.ts'
import { nameSimilarity } from './meaning/name-similarity.ts'
import type { MatchVariant, QueryPart, QueryTerms } from './terms.ts'

/** Text score of a document for a query. */
export interface Match {
  readonly score: number
  /** Variants by which parts of the query were matched. */
  readonly variants: readonly MatchVariant[]
}

// BM25 with fields: a word in a name counts three times.
const FIELD_WEIGHTS: Readonly<Record<string, number>> = { A: 3, B: 2, C: 1, D: 0.8 }
const SATURATION = 1.2
const LENGTH_NORM = { share: 0.4, average: 40 } as const

/** A phrase may contain one other word between two of its words, such as `to`. */
const PHRASE_GAP_MAX = 2
/** Factor for a phrase whose words are scattered or in another order. */
const SCATTERED_FACTOR = 0.6
/** Bonus for a name that consists only of matched words. */
const NAME_BONUS = 0.25
/** Share of the score that depends on how much of the query was matched. */
const COVERAGE_WEIGHT = 0.7

/**
 * Credit for a query word that a document lacks, if its name or tags have a similar one: minimum
 * cosine, and shares of its score and of its part of what was matched.
 */
const SIMILAR_WORD = { from: 0.55, score: 0.4, matched: 0.5 } as const

/** Variant with its terms as numbers; each term of a query has one. */
interface NumberedVariant {
  readonly variant: MatchVariant
  readonly terms: readonly number[]
}

/** Query part, prepared once for all candidates. */
interface PartPlan {
  readonly weight: number
  readonly words: readonly (readonly NumberedVariant[])[]
  readonly alternatives: readonly NumberedVariant[]
  /** Terms of its words as written in the query. */
  readonly literal: readonly number[]
  /** Inverse document frequency of each of its words, and of the whole part. */
  readonly masses: readonly number[]
  readonly mass: number
}

/** Term in a document: its positions and BM25 value. */
interface TermHit {
  readonly positions: readonly number[]
  readonly worth: number
}

/** By term number; undefined for a term that the document does not contain. */
type TermHits = readonly (TermHit | undefined)[]

interface PartMatch {
  readonly score: number
  readonly variants: readonly MatchVariant[]
  /** Matched portion of `PartPlan.mass`. */
  readonly mass: number
}

interface BestVariant {
  readonly score: number
  readonly variant: MatchVariant | undefined
}

const NO_MATCH: BestVariant = { score: 0, variant: undefined }

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** Returns a function that scores one document after the other. */
export function createMatcher({ parts, idf }: QueryTerms): (candidate: Candidate) => Match {
  const numbers = numberTerms(parts)
  const plans = withoutRepetition(parts).map((part) => planPart(part, idf, numbers))
  const total = sumOf(plans.map(({ weight, mass }) => weight * mass))
  return (candidate) => {
    const hits = findTermHits(candidate, idf, numbers)
    const variants: MatchVariant[] = []
    let text = 0
    let mass = 0
    for (const plan of plans) {
      const part = matchPart(plan, hits, candidate)
      variants.push(...part.variants)
      text += part.score
      mass += plan.weight * part.mass
    }
    if (variants.length === 0) return { score: 0, variants }
    const covered = total === 0 ? 1 : mass / total
    const named = nameFactor(variants, candidate)
    const score = text * (1 - COVERAGE_WEIGHT + COVERAGE_WEIGHT * covered) * named
    return { score, variants }
  }
}

/** Removes alternatives that another part asks for: `quote` of `stock price` in `price quote`. */
function withoutRepetition(parts: readonly QueryPart[]): QueryPart[] {
  const literal = parts.map(({ words }) => words.flatMap(([variant]) => variant?.terms ?? []))
  return parts.map((part, own) => {
    const others = new Set(literal.flatMap((terms, i) => (i === own ? [] : terms)))
    const alternatives = part.alternatives.filter(
      ({ terms }) => !terms.every((term) => others.has(term)),
    )
    return { ...part, alternatives }
  })
}

function numberTerms(parts: readonly QueryPart[]): ReadonlyMap<string, number> {
  const variants = parts.flatMap(({ words, alternatives }) => [...words.flat(), ...alternatives])
  const terms = new Set(variants.flatMap((variant) => variant.terms))
  return new Map([...terms].map((term, number) => [term, number]))
}

function planPart(
  part: QueryPart,
  idf: QueryTerms['idf'],
  numbers: ReadonlyMap<string, number>,
): PartPlan {
  const massOf = (variants: readonly MatchVariant[]) =>
    Math.max(0, ...variants.map(({ terms }) => sumOf(terms.map((term) => idf.get(term) ?? 0))))
  const numbered = (variants: readonly MatchVariant[]): NumberedVariant[] =>
    variants.map((variant) => ({
      variant,
      terms: variant.terms.map((term) => numbers.get(term)!),
    }))
  const words = part.words.map(numbered)
  const literal = words.flatMap((each) => each.slice(0, 1).flatMap(({ terms }) => terms))
  const masses = part.words.map(massOf)
  const mass = sumOf(masses) || massOf(part.alternatives)
  const alternatives = numbered(part.alternatives)
  return { weight: part.weight, words, alternatives, literal, masses, mass }
}

function findTermHits(
  { places, words }: Candidate,
  idf: QueryTerms['idf'],
  numbers: ReadonlyMap<string, number>,
): TermHits {
  const length = 1 - LENGTH_NORM.share + (LENGTH_NORM.share * words) / LENGTH_NORM.average
  const hits: (TermHit | undefined)[] = []
  for (const [term, { positions, fields }] of places) {
    let weight = 0
    for (let i = 0; i < fields.length; i++) weight += FIELD_WEIGHTS[fields[i]!] ?? 0
    const share = (weight * (1 + SATURATION)) / (weight + SATURATION * length)
    const worth = (idf.get(term) ?? 0) * share
    hits[numbers.get(term)!] = { positions, worth }
  }
  return hits
}

/** Matches a part of the query word by word, or as a whole if that scores better. */
function matchPart(plan: PartPlan, hits: TermHits, candidate: Candidate): PartMatch {
  const variants: MatchVariant[] = []
  let score = 0
  let mass = 0
  for (const [i, each] of plan.words.entries()) {
    const best = bestVariant(each, hits)
    if (best.variant) {
      variants.push(best.variant)
      score += best.score
      mass += plan.masses[i]!
    } else {
      const similar = plan.masses[i]! * similarWord(each, candidate)
      score += SIMILAR_WORD.score * similar
      mass += SIMILAR_WORD.matched * similar
    }
  }
  if (score > 0) score *= orderFactor(plan.literal, hits)
  const whole = bestVariant(plan.alternatives, hits)
  if (whole.variant && whole.score > score) {
    return { score: whole.score * plan.weight, variants: [whole.variant], mass: plan.mass }
  }
  return { score: score * plan.weight, variants, mass }
}

/** Returns the similarity of a word to the name and tags of a document; 0 if it is too small. */
function similarWord([own]: readonly NumberedVariant[], candidate: Candidate): number {
  const term = own?.variant.terms[0]
  const similarity = term === undefined ? 0 : nameSimilarity(term, candidate)
  return similarity < SIMILAR_WORD.from ? 0 : similarity
}

function bestVariant(variants: readonly NumberedVariant[], hits: TermHits): BestVariant {
  let best = NO_MATCH
  for (const { variant, terms } of variants) {
    const sum = sumIfAllPresent(terms, hits)
    if (sum <= 0) continue
    const score = variant.weight * sum * orderFactor(terms, hits)
    if (score > best.score) best = { score, variant }
  }
  return best
}

/** Returns the summed value of the terms; 0 if one of them is missing. */
function sumIfAllPresent(terms: readonly number[], hits: TermHits): number {
  let sum = 0
  for (const term of terms) {
    const worth = hits[term]?.worth ?? 0
    if (worth === 0) return 0
    sum += worth
  }
  return sum
}

/** Returns 1 if the terms form a phrase in order, else `SCATTERED_FACTOR`. */
function orderFactor(terms: readonly number[], hits: TermHits): number {
  if (terms.length < 2) return 1
  let ends = positionsOf(hits[terms[0]!])
  for (const term of terms.slice(1)) {
    const starts = ends
    ends = positionsOf(hits[term]).filter((at) =>
      starts.some((start) => at > start && at - start <= PHRASE_GAP_MAX),
    )
  }
  return ends.length > 0 ? 1 : SCATTERED_FACTOR
}

const NO_POSITIONS: readonly number[] = []
const positionsOf = (hit: TermHit | undefined): readonly number[] => hit?.positions ?? NO_POSITIONS

/** Returns 1 plus a bonus for the share of the name's words that were matched. */
function nameFactor(variants: readonly MatchVariant[], { places, nameWords }: Candidate): number {
  const named = new Set<string>()
  for (const { terms } of variants) {
    for (const term of terms) if (places.get(term)?.fields.includes('A')) named.add(term)
  }
  return 1 + (NAME_BONUS * named.size) / Math.max(nameWords, 1)
}
