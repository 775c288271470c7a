import type { Pool } from 'pg'
import { z } from 'zod'
import { type Hit, type ListingSummary, readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import type { SemanticRanker } from '../../../core/catalog/search/semantic/semantic-ranker.ts'
import type { Clock } from '../../../core/clock.ts'
import { json, micros } from '../../../core/money.ts'
import { pageSchema } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'
import { readSearchCursor, writeSearchCursor } from './search-cursor.ts'
import { ServiceView, type ShowService } from './service-view.ts'

const rankFields = {
  score: z.number(),
  why: z.string().meta({ description: 'Matches and other reasons for its rank.' }),
}

const ListingSummary = z.object({
  id: z.string(),
  name: z.string(),
  type: z.literal('external'),
  url: z.string(),
  method: z.string(),
  category: z.string(),
  summary: z.string(),
  provider: z.string(),
  tags: z.array(z.string()),
  network: z.string(),
  price_microdollars: z.object({ min: z.int(), max: z.int() }),
  payable_by_hub: z.boolean(),
  state: z.string(),
  uptime_percentage: z.number().nullable(),
  average_latency_ms: z.int().nullable(),
  last_verified_at: z.string(),
})

const SearchHit = z.discriminatedUnion('type', [
  ServiceView.extend(rankFields),
  ListingSummary.extend(rankFields),
])

const MAX_PRICE = { description: 'Maximum price of the cheapest endpoint, in microdollars.' }

const SearchOrder = z.strictObject({
  query: z.string().max(500).default(''),
  type: z.enum(['native', 'external']).optional(),
  category: z.string().max(40).optional(),
  max_price: z.int().min(0).optional().meta(MAX_PRICE),
  max_price_microdollars: z.int().min(0).optional().meta(MAX_PRICE),
  network: z.string().max(100).optional().meta({ description: 'CAIP-2, such as eip155:8453.' }),
  tag: z.string().max(100).optional(),
  limit: z.int().min(1).max(100).default(20),
  cursor: z.string().max(500).optional(),
})
type SearchOrder = z.infer<typeof SearchOrder>

/** Dependencies of searches. The ranking depends on the day. */
export interface SearchDeps {
  readonly pool: Pool
  readonly clock: Clock
  readonly semanticRanker?: SemanticRanker | undefined
}

/** `POST /v1/search`: services of the hub and listings of others, in one ranking. */
export const searchRoute = (
  { pool, clock, semanticRanker }: SearchDeps,
  showService: ShowService,
): AnyRoute =>
  route('POST /v1/search', {
    summary: 'Searches services by capability, category or price; each hit explains its rank.',
    auth: 'key',
    body: SearchOrder,
    repeatable: true,
    response: { status: 200, schema: pageSchema(SearchHit) },
    handle: async ({ body: { query, limit, cursor, ...filters } }) => {
      const { type, category, network, tag } = filters
      const after = readSearchCursor(cursor)
      const maxPrice = lowerMaxPrice(filters)
      const order = { query, type, category, network, tag, maxPrice, limit, after }
      const { hits, next } = await search(pool, clock, order, semanticRanker)
      const rows = await readHits(pool, hits)
      const body = {
        data: rows.map(showHit(showService)),
        next_cursor: writeSearchCursor(next),
        has_more: next !== undefined,
      }
      return { body }
    },
  })

/** Both fields mean the same; the lower value applies. */
function lowerMaxPrice(filters: Pick<SearchOrder, 'max_price' | 'max_price_microdollars'>) {
  const { max_price, max_price_microdollars } = filters
  const given = [max_price, max_price_microdollars].filter((price) => price !== undefined)
  return given.length === 0 ? undefined : micros(Math.min(...given))
}

const showHit = (showService: ShowService) => (hit: Hit) => ({
  ...('service' in hit ? showService(hit.service) : showListingHit(hit.external)),
  score: hit.score,
  why: hit.why.join('; '),
})

const showListingHit = ({ price, payable, latencyMs, ...hit }: ListingSummary) => ({
  id: hit.id,
  name: hit.name,
  type: 'external' as const,
  url: hit.url,
  method: hit.method,
  category: hit.category,
  summary: hit.summary,
  provider: hit.provider,
  tags: hit.tags,
  network: hit.network,
  price_microdollars: { min: json(price), max: json(price) },
  payable_by_hub: payable,
  state: hit.state,
  uptime_percentage: hit.uptimePercentage,
  average_latency_ms: latencyMs,
  last_verified_at: hit.lastVerifiedAt.toISOString(),
})
