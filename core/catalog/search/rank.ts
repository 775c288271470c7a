import { hash } from 'node:crypto'
import type { Candidate } from './check-draft.ts'
import { spreadSellers, withoutImitations } from './fair-order.ts'
import { createMatcher } from './match.ts'
import type { Wish } from './query.ts'
import type { ScoredCandidate } from './scored-candidate.ts'
import type { Similarity } from './semantic/semantic-ranker.ts'
import type { MatchVariant, QueryTerms } from './terms.ts'

export interface RankedCandidate {
  readonly candidate: Candidate
  readonly score: number
  /** Reasons for its rank, in words. */
  readonly why: readonly string[]
}

export interface RankingQuery {
  readonly text: string
  readonly terms: QueryTerms
  readonly wishes: ReadonlySet<Wish>
  /** Day of the ranking, on which freshness and featured listings depend. */
  readonly day: Date
  /** Omitted without semantic search. */
  readonly similarity?: Similarity | undefined
}

const DAY_MS = 86_400_000
/** A listing is new for this many days, or until it reaches this many calls. */
export const NEW_DAYS = 14
const NEW_CALLS_MAX = 20
/** Place of the one new listing featured per day and query, unless one ranks above it already. */
const FEATURED_INDEX = 4
const FEATURED_DEPTH = 30
const FEATURED_SCORE_SHARE = 0.5
/** Full semantic similarity doubles the score. */
const SEMANTIC_WEIGHT = 1
const SIMILARITY_SHOWN_FROM = 0.3
/** Fewer calls are not significant. */
const CALLS_SHOWN_FROM = 10

const FIELD_NAMES: Readonly<Record<string, string>> = {
  A: 'name',
  B: 'tags',
  C: 'description',
  D: 'endpoints',
}

/** Sorts candidates, best first. The order is the same for the same candidates and day. */
export function rankCandidates(
  candidates: readonly Candidate[],
  query: RankingQuery,
): ScoredCandidate[] {
  const ranked = candidates
    .map(createScorer(query))
    .filter(({ score }) => score > 0)
    .toSorted(compareHits)
  if (isAddress(query.text)) return ranked
  const listsAll = query.terms.parts.length === 0
  if (listsAll) return spreadSellers(ranked)
  return spreadSellers(featureNewListing(withoutImitations(ranked), query))
}

const compareHits = (a: ScoredCandidate, b: ScoredCandidate): number =>
  Number(b.candidate.exact) - Number(a.candidate.exact) ||
  b.score - a.score ||
  a.candidate.price - b.candidate.price ||
  (a.candidate.id < b.candidate.id ? -1 : 1)

/** Returns true for a host or URL, whose listings are shown one by one. */
const isAddress = (text: string): boolean =>
  (text.includes('.') || text.includes(':')) && !text.trim().includes(' ')

function createScorer(query: RankingQuery): (candidate: Candidate) => ScoredCandidate {
  const match = createMatcher(query.terms)
  const matchesAll = query.terms.parts.length === 0
  return (candidate) => {
    const { score: matchScore, variants } = match(candidate)
    const text = candidate.exact || matchesAll ? Math.max(matchScore, 1) : matchScore
    const similarity = matchesAll ? undefined : query.similarity?.(candidate)
    const semantic = 1 + SEMANTIC_WEIGHT * Math.max(similarity ?? 0, 0)
    const score = text * semantic * qualityFactor(candidate, query)
    return { candidate, score, variants, isFeatured: false, similarity }
  }
}

/** Adds the reasons for a hit and its rank. */
export function explainRank(hit: ScoredCandidate): RankedCandidate {
  const { candidate, score, variants, isFeatured, similar = 0, similarity = 0 } = hit
  const { exact, kind, calls, delivered } = candidate
  const counted = kind === 'native' ? 'calls delivered' : 'payers served'
  const why = [
    ...(exact ? ['exact name'] : []),
    ...matchReasons(variants, candidate),
    ...(similarity >= SIMILARITY_SHOWN_FROM
      ? [`meaning: ${Math.round(similarity * 100)} % alike`]
      : []),
    ...(calls >= CALLS_SHOWN_FROM ? [`${delivered} of ${calls} ${counted}`] : []),
    ...(similar > 0 ? [`stands for ${similar} similar listings of this seller`] : []),
    ...(isFeatured ? ['new: featured today'] : []),
  ]
  return { candidate, score, why }
}

/** Small factor for price, reliability, speed and freshness: decides among equal matches. */
function qualityFactor(
  { price, quality, latencyMs, verifiedAt }: Candidate,
  { wishes, day }: RankingQuery,
): number {
  const cheap = (wishes.has('cheap') ? 0.5 : 0.04) / (1 + price / 2_000)
  const reliable = ((wishes.has('reliable') ? 0.5 : 0.1) * quality) / 20
  const fast = (wishes.has('fast') ? 0.5 : 0.02) / (1 + (latencyMs ?? 1_000) / 300)
  const isFresh = verifiedAt === null || day.getTime() - verifiedAt < 7 * DAY_MS
  return 1 + cheap + reliable + fast + (isFresh ? 0.02 : 0)
}

function matchReasons(variants: readonly MatchVariant[], { places }: Candidate): string[] {
  const byField = new Map<string, Set<string>>()
  for (const variant of new Set(variants)) {
    const fields = variant.terms.map((term) => places.get(term)!.fields)
    const field = ['A', 'B', 'C', 'D'].find((each) => fields.some((f) => f.includes(each)))!
    const { asked, as } = variant.reading
    const text = asked === as ? `"${asked}"` : `"${asked}" as "${as}"`
    byField.set(field, (byField.get(field) ?? new Set()).add(text))
  }
  return [...byField]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, texts]) => `${FIELD_NAMES[field]}: ${[...texts].join(', ')}`)
}

/**
 * Moves one new listing into the first five if it is nearly as relevant. The choice changes with
 * query and day, so that all new listings get their share. Exact names stay in place.
 */
function featureNewListing(
  ranked: readonly ScoredCandidate[],
  { text, day }: RankingQuery,
): ScoredCandidate[] {
  const isNew = ({ candidate }: ScoredCandidate) =>
    candidate.calls < NEW_CALLS_MAX && day.getTime() - candidate.listedAt < NEW_DAYS * DAY_MS
  const bar = (ranked[FEATURED_INDEX]?.score ?? 0) * FEATURED_SCORE_SHARE
  const eligible = ranked
    .slice(FEATURED_INDEX + 1, FEATURED_DEPTH)
    .filter((hit) => isNew(hit) && hit.score >= bar)
  if (eligible.length === 0 || ranked.slice(0, FEATURED_INDEX + 1).some(isNew)) return [...ranked]
  if (ranked[FEATURED_INDEX]!.candidate.exact) return [...ranked]
  const lotteryNumber = ({ candidate }: ScoredCandidate) =>
    hash('sha256', `${day.toISOString()} ${text} ${candidate.id}`, 'hex')
  const [winner] = eligible.toSorted((a, b) => (lotteryNumber(a) < lotteryNumber(b) ? -1 : 1))
  const others = ranked.filter((hit) => hit !== winner)
  return [
    ...others.slice(0, FEATURED_INDEX),
    { ...winner!, isFeatured: true },
    ...others.slice(FEATURED_INDEX),
  ]
}
