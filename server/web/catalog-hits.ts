import { z } from 'zod'
import {
  type BrowseFilters,
  type BrowseOrder,
  browse,
  countMatches,
  positionShape,
} from '../../core/catalog/search/browse.ts'
import {
  countCatalog,
  countFacets,
  type Facets,
  HIT_ORDERS,
  type HitFacts,
  readFacts,
} from '../../core/catalog/search/facets.ts'
import { type Hit, type RankedHit, readHits } from '../../core/catalog/search/hits.ts'
import { search } from '../../core/catalog/search/search.ts'
import { readUptimeDays, type UptimeDay } from '../../core/catalog/services/service-days.ts'
import { refreshedWhileUsed, ttlCache } from '../../core/runtime/cache.ts'
import type { SearchDeps } from '../rest/catalog/search.ts'
import { readCursor, writeCursor } from '../rest/paging.ts'

export const PAGE_SIZE = 20
/** Best hits of a search for words, which are filtered, sorted and paged through. */
export const HITS_MAX = 100

const CACHE_MS = 60_000
/** Filters whose number of documents is cached. */
const COUNTS_MAX = 500

export interface CatalogQuery extends BrowseFilters {
  /** Search words; empty for the whole catalog. */
  readonly words: string
  readonly order: BrowseOrder
  /** `next` of the page before. */
  readonly cursor?: string | undefined
}

export interface FoundHits {
  /** Hits of the page. */
  readonly hits: readonly Hit[]
  /** Figures of these hits, by id. */
  readonly facts: ReadonlyMap<string, HitFacts>
  /** Last days of the services among them, by slug. */
  readonly days: ReadonlyMap<string, readonly UptimeDay[]>
  /** Number of the page, from 1. */
  readonly page: number
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  /** Number of hits on all pages. */
  readonly count: number
  /** True if only the best hits were filtered and sorted. */
  readonly isCut: boolean
  /** Counts without the filters. */
  readonly facets: Facets
  readonly lowConfidence: boolean
}

interface RankedPage extends Omit<FoundHits, 'hits' | 'facts' | 'days'> {
  readonly ranked: readonly RankedHit[]
  readonly known?: ReadonlyMap<string, HitFacts>
}

/** Returns a function that finds a page of the catalog: hits of words, or all documents. */
export function openCatalogHits(deps: SearchDeps): (query: CatalogQuery) => Promise<FoundHits> {
  const { pool, clock } = deps
  const catalogFacets = refreshedWhileUsed(CACHE_MS, () => countCatalog(pool))
  const counts = ttlCache<string, number>({ ttlMs: CACHE_MS, max: COUNTS_MAX })
  return async (query) => {
    const found =
      query.words === ''
        ? await listPage(deps, query, await catalogFacets(), counts)
        : await searchPage(deps, query)
    const { ranked, known, ...rest } = found
    const slugs = ranked.flatMap(({ candidate: { kind, id } }) => (kind === 'native' ? [id] : []))
    const [hits, days, facts] = await Promise.all([
      readHits(pool, ranked, clock.now()),
      readUptimeDays(pool, slugs),
      known ?? readFacts(pool, ranked).then(factsById),
    ])
    return { ...rest, hits, days, facts }
  }
}

const factsById = (read: Awaited<ReturnType<typeof readFacts>>) =>
  new Map(read.map(({ facts }) => [facts.id, facts]))

/**
 * A page of all documents. The best by relevance are ranked as in a search, fair to sellers; all
 * others are found by the position of the last document of the page before.
 * @throws Fault `validation_failed` for a cursor of another list
 */
async function listPage(
  deps: SearchDeps,
  query: CatalogQuery,
  facets: Facets,
  counts: ReturnType<typeof ttlCache<string, number>>,
): Promise<RankedPage> {
  const { order, type, category, maxPrice, minUptime } = query
  const key = [type, category, maxPrice, minUptime].join(' ')
  const known = key.trim() === '' ? countAll(facets) : counts.get(key)
  const count = known ?? (await countMatches(deps.pool, query))
  if (known === undefined) counts.set(key, count)
  const cursor = z.tuple([pageNumber, positionShape(order).optional()])
  const [page, after] = readCursor(query.cursor, cursor) ?? [1, undefined]
  const offset = after ? 0 : Math.min((page - 1) * PAGE_SIZE, HITS_MAX)
  const isRanked = order === 'relevance' && minUptime === undefined && !after && offset < HITS_MAX
  const { ranked, last } = isRanked
    ? {
        ranked: (await searchHits(deps, query)).hits.slice(offset, offset + PAGE_SIZE),
        last: undefined,
      }
    : await browse(deps.pool, query, order, { limit: PAGE_SIZE, offset, after })
  const isFull = isRanked || ranked.length === PAGE_SIZE
  const hasMore = isFull && page * PAGE_SIZE < count
  const next = hasMore ? writeCursor(last ? [page + 1, last] : [page + 1]) : null
  return { ranked, page, next, count, isCut: false, facets, lowConfidence: false }
}

const countAll = ({ type }: Facets): number => [...type.values()].reduce((sum, n) => sum + n, 0)

const pageNumber = z.int().min(1).max(1_000_000)

/** A page of the best hits of words. */
async function searchPage(deps: SearchDeps, query: CatalogQuery): Promise<RankedPage> {
  const { type, category, maxPrice, minUptime } = query
  const found = await searchHits(deps, query)
  const read = await readFacts(deps.pool, found.hits)
  const isFiltered = type !== undefined || category !== undefined || maxPrice !== undefined
  // One after the other: the second finds the vector of the query in the cache.
  const counted = isFiltered
    ? await readFacts(deps.pool, (await searchHits(deps, { words: query.words })).hits)
    : read
  const kept = read.filter(
    ({ facts }) => minUptime === undefined || (facts.uptime ?? 0) >= minUptime,
  )
  const order = query.order === 'relevance' ? undefined : HIT_ORDERS[query.order]
  const sorted = order ? kept.toSorted((a, b) => order(a.facts, b.facts)) : kept
  const [wanted] = readCursor(query.cursor, z.tuple([pageNumber])) ?? [1]
  const page = Math.max(1, Math.min(wanted, Math.ceil(sorted.length / PAGE_SIZE)))
  const shown = sorted.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
  return {
    ranked: shown.map(({ hit }) => hit),
    known: factsById(shown),
    page,
    next: page * PAGE_SIZE < sorted.length ? writeCursor([page + 1]) : null,
    count: sorted.length,
    isCut: found.hits.length === HITS_MAX,
    facets: countFacets(counted.map(({ facts }) => facts)),
    lowConfidence: found.lowConfidence,
  }
}

const searchHits = (
  { pool, clock, semanticRanker }: SearchDeps,
  { words, type, category, maxPrice }: Pick<CatalogQuery, 'words'> & BrowseFilters,
) =>
  search(
    pool,
    clock,
    { query: words, type, category, maxPrice, network: undefined, tag: undefined, limit: HITS_MAX },
    semanticRanker,
  )
