import { type Clock, dayStart } from '../../clock.ts'
import { findCandidates } from './candidates.ts'
import type { SearchFilters } from './check-draft.ts'
import { isLowConfidence } from './confidence.ts'
import type { Reader } from './index-cache.ts'
import { readQuery } from './query.ts'
import { explainRank, type RankedCandidate, rankCandidates } from './rank.ts'
import type { ScoredCandidate } from './scored-candidate.ts'
import type { SemanticRanker } from './semantic/semantic-ranker.ts'
import { squashName } from './tokenize.ts'

export interface SearchRequest extends SearchFilters {
  /** Search words; empty for everything. */
  readonly query: string
  readonly limit: number
  readonly after?: PagePosition | undefined
}

/** End of a page. Later pages are ranked for the day of the first one. */
export interface PagePosition {
  /** Milliseconds since 1970 of a UTC day. */
  readonly day: number
  readonly rank: number
  /** Kind and id of the last hit; the next page starts after it, even if its rank has changed. */
  readonly last: string
}

export interface SearchPage {
  readonly hits: readonly RankedCandidate[]
  /** Start of the next page; undefined after the last one. */
  readonly next: PagePosition | undefined
  /** True if no hit contains enough of what the query asks for. */
  readonly lowConfidence: boolean
}

/**
 * Searches services and listings. Exact names come first, then matches by the query's words, their
 * synonyms and corrected spellings, weighted by reliability, price and freshness. The best 100 can
 * be paged through. A semantic ranker reorders the hits by similarity to the query. Searching
 * inside a transaction also finds documents that it has written.
 */
export async function search(
  reader: Reader,
  clock: Clock,
  request: SearchRequest,
  semantic?: SemanticRanker,
): Promise<SearchPage> {
  const { query, limit, after, type, category, tag, network } = request
  const day = after ? new Date(after.day) : dayStart(clock.now())
  const parsed = readQuery(query)
  const limits = [request.maxPrice, parsed.maxPrice].filter((price) => price !== undefined)
  const maxPrice = limits.toSorted((a, b) => (a < b ? -1 : 1))[0]
  const pendingVector = semantic?.embedQuery(query)
  const name = squashName(query)
  const isEmpty =
    query.trim() === '' || (parsed.spans.length === 0 && parsed.maxPrice !== undefined)
  const filters = { type, category, tag, network, maxPrice }
  const candidateQuery = { query: parsed, name, filters, isEmpty }
  const { terms, candidates } = await findCandidates(reader, candidateQuery)
  const vector = await pendingVector
  const similarity = vector && (await semantic!.compareWith(vector, candidates))
  const { wishes } = parsed
  const ranked = rankCandidates(candidates, { text: query, terms, wishes, day, similarity })
  return { ...pageOf(ranked, limit, after, day), lowConfidence: isLowConfidence(ranked, terms) }
}

const keyOf = ({ candidate }: Pick<ScoredCandidate, 'candidate'>): string =>
  `${candidate.kind} ${candidate.id}`

function pageOf(
  ranked: readonly ScoredCandidate[],
  limit: number,
  after: PagePosition | undefined,
  day: Date,
): Pick<SearchPage, 'hits' | 'next'> {
  const last = after ? ranked.findIndex((hit) => keyOf(hit) === after.last) : -1
  const start = last >= 0 ? last + 1 : (after?.rank ?? 0)
  const hits = ranked.slice(start, start + limit).map(explainRank)
  const end = start + hits.length
  if (hits.length === 0 || end >= ranked.length) return { hits, next: undefined }
  return { hits, next: { day: day.getTime(), rank: end, last: keyOf(hits.at(-1)!) } }
}
