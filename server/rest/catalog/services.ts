import type { Pool } from 'pg'
import { z } from 'zod'
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
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import { Fault } from '../../../core/errors.ts'
import { json, micros } from '../../../core/money.ts'
import { unitPrice } from '../../../core/plugin/metered.ts'
import { showMetered } from '../../../core/usage/usage-view.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { replyRecent } from '../recent.ts'
import { type AnyRoute, route } from '../route.ts'
import { meteredField } from '../usage-schema.ts'
import { type SearchDeps, searchRoute } from './search.ts'
import { ServiceView, type ShowService, serviceViewer } from './service-view.ts'

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

export interface CatalogDeps extends SearchDeps {
  readonly recentReads: RecentReads
  readonly proxyUrl: () => string
}

export const catalogRoutes = (deps: CatalogDeps): readonly AnyRoute[] => {
  const { recentReads, proxyUrl } = deps
  const show = serviceViewer(proxyUrl)
  return [
    route('GET /v1/services', {
      summary: 'Lists active native services.',
      auth: 'none',
      shared: true,
      query: listQuery({}),
      response: { status: 200, schema: pageSchema(ServiceView) },
      faults: ['validation_failed'],
      handle: ({ query: { limit, cursor }, url }) => {
        const after = readCursor(cursor, z.tuple([z.string()]))?.[0]
        return replyRecent(recentReads, async (pool) => {
          const rows = await listServices(pool, { limit: limit + 1, after })
          return toPage(rows, limit, url, ({ slug }) => [slug], show)
        })
      },
    }),
    route('GET /v1/services/{slug}', {
      summary: 'Returns a service with its endpoints, schemas and prices.',
      auth: 'none',
      shared: true,
      response: { status: 200, schema: ServiceView.extend({ endpoints: z.array(EndpointView) }) },
      faults: ['service_not_found'],
      handle: ({ params }) =>
        replyRecent(recentReads, async (pool) => ({
          body: await readService(pool, params.slug, show),
        })),
    }),
    searchRoute(deps, show),
  ]
}

/** @throws Fault `service_not_found` */
async function readService(pool: Pool, slug: string, show: ShowService) {
  const found = await findService(pool, slug)
  if (!found) throw new Fault('service_not_found')
  const [coming, latencies] = await Promise.all([
    currentPrices(pool, found.listing.slug),
    readEndpointLatencies(pool, found.listing.slug),
  ])
  const endpoints = found.endpoints.map((each) => ({
    ...showEndpoint(each, coming),
    latency_ms: latencies.get(`${each.method} ${each.path}`) ?? NO_LATENCY,
  }))
  return { ...show(found.listing), endpoints }
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
