import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type Found,
  findService,
  type ListedEndpoint,
  type Listing,
  listServices,
  searchServices,
} from '../../core/catalog/listings.ts'
import { Fault } from '../../core/errors.ts'
import { json } from '../../core/money.ts'
import { page, pageOf, paging, readCursor } from './paging.ts'
import { type AnyRoute, route } from './route.ts'

const Service = z.object({
  slug: z.string(),
  name: z.string(),
  type: z.literal('native'),
  category: z.string(),
  summary: z.string(),
  provider: z.string(),
  endpoint_count: z.int(),
  price_microdollars: z.object({ min: z.int(), max: z.int() }),
  free_calls_per_month: z.int(),
  uptime_percentage: z.number().nullable(),
  average_latency_ms: z.int().nullable(),
  proxy_url: z.string(),
})

const Endpoint = z.object({
  method: z.string(),
  path: z.string(),
  summary: z.string(),
  price_microdollars: z.int(),
  price_is_maximum: z.boolean(),
  price_version: z.int(),
  request_schema: z.unknown(),
  response_schema: z.unknown(),
})

const Hit = Service.extend({ score: z.number(), why: z.string() })

const SearchOrder = z.strictObject({
  query: z.string().max(500).default(''),
  category: z.string().max(40).optional(),
  max_price_microdollars: z.int().min(0).optional(),
  limit: z.int().min(1).max(100).default(20),
  cursor: z.string().max(500).optional(),
})

const CACHED = { 'Cache-Control': 'public, max-age=30' } as const

/** What the public may see of the catalogue; lists may be cached for half a minute. */
export const catalogRoutes = (pool: Pool, proxyUrl: () => string): readonly AnyRoute[] => {
  const show = serviceOf(proxyUrl)
  return [
    route({
      method: 'GET',
      path: '/v1/services',
      summary: 'Active native services.',
      auth: 'none',
      query: z.strictObject(paging),
      answer: { status: 200, schema: pageOf(Service) },
      faults: ['validation_failed'],
      handle: async ({ query: { limit, cursor }, url }) => {
        const after = readCursor(cursor, z.tuple([z.string()]))?.[0]
        const rows = await listServices(pool, { limit: limit + 1, after })
        const listed = page(rows, limit, url, ({ slug }) => [slug], show)
        return { ...listed, headers: { ...listed.headers, ...CACHED } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/services/{slug}',
      summary: 'One service with its endpoints, schemas and prices.',
      auth: 'none',
      answer: { status: 200, schema: Service.extend({ endpoints: z.array(Endpoint) }) },
      faults: ['service_not_found'],
      handle: async ({ params }) => {
        const found = await findService(pool, params['slug'] ?? '')
        if (!found) throw new Fault('service_not_found')
        const endpoints = found.endpoints.map(endpointOf)
        return { headers: CACHED, body: { ...show(found.listing), endpoints } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/search',
      summary: 'Services by capability, category or price; every hit says why.',
      auth: 'key',
      body: SearchOrder,
      answer: { status: 200, schema: pageOf(Hit) },
      handle: async ({ body: { query, category, max_price_microdollars, limit, cursor }, url }) => {
        const offset = readCursor(cursor, z.tuple([z.int().min(0).max(10_000)]))?.[0] ?? 0
        const maxPrice =
          max_price_microdollars === undefined ? undefined : BigInt(max_price_microdollars)
        const order = { query: query.trim(), category, maxPrice, limit: limit + 1, offset }
        const rows = await searchServices(pool, order)
        const hit = (found: Found) => ({ ...show(found), score: found.score, why: found.why })
        return { body: page(rows, limit, url, () => [offset + limit], hit).body }
      },
    }),
  ]
}

const serviceOf = (proxyUrl: () => string) => (listing: Listing) => ({
  slug: listing.slug,
  name: listing.name,
  type: 'native' as const,
  category: listing.category,
  summary: listing.summary,
  provider: listing.provider,
  endpoint_count: listing.endpointCount,
  price_microdollars: { min: json(listing.minPrice), max: json(listing.maxPrice) },
  free_calls_per_month: listing.freeCallsPerMonth,
  uptime_percentage: listing.uptimePercentage,
  average_latency_ms: listing.averageLatencyMs,
  proxy_url: `${proxyUrl()}/${listing.slug}`,
})

const endpointOf = (endpoint: ListedEndpoint) => ({
  method: endpoint.method,
  path: endpoint.path,
  summary: endpoint.summary,
  price_microdollars: json(endpoint.price),
  price_is_maximum: endpoint.computed,
  price_version: endpoint.priceVersion,
  request_schema: endpoint.inputSchema,
  response_schema: endpoint.outputSchema,
})
