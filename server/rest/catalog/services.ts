import type { Pool } from 'pg'
import { z } from 'zod'
import type { SemanticRanker } from '../../../core/catalog/search/semantic/semantic-ranker.ts'
import {
  findService,
  listServices,
  publishedMeter,
  type ServiceEndpoint,
} from '../../../core/catalog/services/published-services.ts'
import {
  type LatencyPercentiles,
  readEndpointLatencies,
} from '../../../core/catalog/services/service-days.ts'
import { currentPrices, type UpcomingPrice } from '../../../core/catalog/upstreams/prices.ts'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { json, micros } from '../../../core/money.ts'
import { unitPrice } from '../../../core/plugin/metered.ts'
import { showMetered } from '../../../core/usage/usage-view.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'
import { meteredField } from '../usage-schema.ts'
import { searchRoute } from './search.ts'
import { ServiceView, serviceViewer } from './service-view.ts'

const EndpointView = z.object({
  method: z.string(),
  path: z.string(),
  summary: z.string(),
  price_microdollars: z.int(),
  price_is_maximum: z.boolean(),
  ...meteredField,
  price_version: z.int(),
  tested: z.boolean().meta({
    description: 'false: its provider waived the test call, and no call was delivered yet.',
  }),
  coming_price: z
    .object({ price_microdollars: z.int(), ...meteredField, effective_at: z.iso.datetime() })
    .optional()
    .meta({ description: 'Announced price change.' }),
  latency_ms: z
    .object({
      p50: z.int().nullable(),
      p95: z.int().nullable(),
      p99: z.int().nullable(),
    })
    .meta({ description: 'Of delivered calls in 30 days. null: none was delivered.' }),
  request_schema: z.unknown(),
  response_schema: z.unknown(),
})

export const catalogRoutes = (
  pool: Pool,
  proxyUrl: () => string,
  clock: Clock = systemClock,
  meaning?: SemanticRanker,
): readonly AnyRoute[] => {
  const show = serviceViewer(proxyUrl)
  return [
    route('GET /v1/services', {
      summary: 'Lists active native services.',
      auth: 'none',
      shared: true,
      query: listQuery({}),
      response: { status: 200, schema: pageSchema(ServiceView) },
      faults: ['validation_failed'],
      handle: async ({ query: { limit, cursor }, url }) => {
        const after = readCursor(cursor, z.tuple([z.string()]))?.[0]
        const rows = await listServices(pool, { limit: limit + 1, after })
        return toPage(rows, limit, url, ({ slug }) => [slug], show)
      },
    }),
    route('GET /v1/services/{slug}', {
      summary: 'Returns a service with its endpoints, schemas and prices.',
      auth: 'none',
      shared: true,
      response: { status: 200, schema: ServiceView.extend({ endpoints: z.array(EndpointView) }) },
      faults: ['service_not_found'],
      handle: async ({ params }) => {
        const found = await findService(pool, params.slug)
        if (!found) throw new Fault('service_not_found')
        const [coming, latencies] = await Promise.all([
          currentPrices(pool, found.listing.slug),
          readEndpointLatencies(pool, found.listing.slug),
        ])
        const endpoints = found.endpoints.map((each) => ({
          ...showEndpoint(each, coming),
          latency_ms: latencies.get(`${each.method} ${each.path}`) ?? NO_LATENCY,
        }))
        return { body: { ...show(found.listing), endpoints } }
      },
    }),
    searchRoute({ pool, clock, semanticRanker: meaning }, show),
  ]
}

const NO_LATENCY: LatencyPercentiles = { p50: null, p95: null, p99: null }

const showEndpoint = (
  endpoint: ServiceEndpoint,
  announced: Awaited<ReturnType<typeof currentPrices>>,
  metered = publishedMeter(endpoint),
) => ({
  method: endpoint.method,
  path: endpoint.path,
  summary: endpoint.summary,
  price_microdollars: json(endpoint.price),
  price_is_maximum: endpoint.computed,
  ...(metered && { metered }),
  price_version: endpoint.priceVersion,
  tested: endpoint.tested,
  ...showComingPrice(
    announced.find(({ method, path }) => method === endpoint.method && path === endpoint.path),
  ),
  request_schema: endpoint.inputSchema,
  response_schema: endpoint.outputSchema,
})

const showUpstreamMeter = ({ amount: max, metered }: UpcomingPrice) =>
  metered &&
  showMetered(
    { unit: metered.unit, of: unitPrice(micros(BigInt(metered.amount)), metered.per) },
    max,
  )

const showComingPrice = (
  { coming }: { readonly coming: UpcomingPrice | null } = { coming: null },
) =>
  coming && {
    coming_price: {
      price_microdollars: json(coming.amount),
      ...(coming.metered && { metered: showUpstreamMeter(coming) }),
      effective_at: coming.at.toISOString(),
    },
  }
