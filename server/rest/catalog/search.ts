import type { Pool } from 'pg'
import { z } from 'zod'
import type { AssessedListing } from '../../../core/catalog/listings/cautions.ts'
import { METERED } from '../../../core/catalog/listings/discovery/offers.ts'
import { inputFields } from '../../../core/catalog/listings/input-fields.ts'
import { assertKnownCategory } from '../../../core/catalog/search/categories.ts'
import { type Hit, readHits } from '../../../core/catalog/search/hits.ts'
import { search } from '../../../core/catalog/search/search.ts'
import type { SemanticRanker } from '../../../core/catalog/search/semantic/semantic-ranker.ts'
import type { Clock } from '../../../core/clock.ts'
import { json, micros } from '../../../core/money.ts'
import { pageSchema } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'
import { CautionView, LATENCY_SOURCE, latencySource, showCaution } from './external-listing-view.ts'
import { readSearchCursor, writeSearchCursor } from './search-cursor.ts'
import { ServiceView, type ShowService } from './service-view.ts'

const rankFields = {
  score: z.number(),
  why: z
    .string()
    .meta({ description: 'Matches and other reasons for its rank; empty if there are none.' }),
}

const Fields = z.object({ required: z.array(z.string()), optional: z.array(z.string()) })

/** Names of the input fields; the schema itself is in `GET /v1/external/{id}`. */
const InputView = z.object({ query: Fields, body: Fields })

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
  uptime_probes: z.int().meta({ description: 'Number of probes in 30 days.' }),
  average_latency_ms: z.int().nullable(),
  latency_of: LATENCY_SOURCE.nullable(),
  success_rate: z.number().nullable(),
  payers: z.int().meta({ description: 'Distinct payers of the calls behind success_rate.' }),
  price_trend: z.enum(['stable', 'raised', 'lowered', 'varying']),
  cautions: z.array(CautionView),
  input: InputView,
  last_verified_at: z.string().nullable(),
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

/** `POST /v1/search`: native services and external listings, in one ranking. */
export const searchRoute = (
  { pool, clock, semanticRanker }: SearchDeps,
  showService: ShowService,
): AnyRoute =>
  route('POST /v1/search', {
    summary: 'Searches services by capability, category or price; each hit explains its rank.',
    auth: 'key',
    body: SearchOrder,
    repeatable: true,
    response: {
      status: 200,
      schema: pageSchema(SearchHit).extend({
        low_confidence: z
          .boolean()
          .meta({ description: 'True if no hit matches enough of the query: perhaps none fits.' }),
      }),
    },
    faults: ['validation_failed'],
    handle: async ({ body: { query, limit, cursor, ...filters } }) => {
      const { type, category, network, tag } = filters
      const after = readSearchCursor(cursor)
      const maxPrice = lowerMaxPrice(filters)
      const order = { query, type, category, network, tag, maxPrice, limit, after }
      const { hits, next, lowConfidence } = await search(pool, clock, order, semanticRanker)
      if (hits.length === 0) await assertKnownCategory(pool, category)
      const rows = await readHits(pool, hits, clock.now())
      const body = {
        data: rows.map(showHit(showService)),
        next_cursor: writeSearchCursor(next),
        has_more: next !== undefined,
        low_confidence: lowConfidence,
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

const showListingHit = (listing: AssessedListing) => ({
  id: listing.id,
  name: listing.name,
  type: 'external' as const,
  url: listing.url,
  method: listing.method,
  category: listing.category,
  summary: listing.description,
  provider: listing.provider,
  tags: listing.tags,
  network: listing.network,
  price_microdollars: {
    min: listing.scheme === METERED ? 0 : json(listing.price),
    max: json(listing.price),
  },
  payable_by_hub: listing.payable,
  state: listing.state,
  uptime_percentage: listing.uptime,
  uptime_probes: listing.probes,
  average_latency_ms: listing.paidMs ?? listing.latencyP50,
  latency_of: latencySource(listing),
  success_rate: listing.success,
  payers: listing.payers,
  price_trend: listing.priceTrend,
  cautions: listing.cautions.map(showCaution),
  input: inputFields(listing.inputSchema, listing.method),
  last_verified_at: listing.lastVerifiedAt?.toISOString() ?? null,
})
