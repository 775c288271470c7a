import type { Pool } from 'pg'
import { z } from 'zod'
import type { Meaning } from '../../../core/catalog/search/meaning/meaning.ts'
import {
  findService,
  type ListedEndpoint,
  listServices,
} from '../../../core/catalog/services/published-services.ts'
import { type Coming, pricesNow } from '../../../core/catalog/upstreams/prices.ts'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { json } from '../../../core/money.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'
import { searchRoute } from './search.ts'
import { Service, serviceOf } from './service-view.ts'

const Endpoint = z.object({
  method: z.string(),
  path: z.string(),
  summary: z.string(),
  price_microdollars: z.int(),
  price_is_maximum: z.boolean(),
  price_version: z.int(),
  coming_price: z
    .object({ price_microdollars: z.int(), effective_at: z.iso.datetime() })
    .optional()
    .meta({ description: 'That its owner has announced.' }),
  request_schema: z.unknown(),
  response_schema: z.unknown(),
})

/** What the public may see of the catalogue; lists may be cached for half a minute. */
export const catalogRoutes = (
  pool: Pool,
  proxyUrl: () => string,
  clock: Clock = systemClock,
  meaning?: Meaning,
): readonly AnyRoute[] => {
  const show = serviceOf(proxyUrl)
  return [
    route({
      method: 'GET',
      path: '/v1/services',
      summary: 'Active native services.',
      auth: 'none',
      shared: true,
      query: z.strictObject(paging),
      answer: { status: 200, schema: pageOf(Service) },
      faults: ['validation_failed'],
      handle: async ({ query: { limit, cursor }, url }) => {
        const after = readCursor(cursor, z.tuple([z.string()]))?.[0]
        const rows = await listServices(pool, { limit: limit + 1, after })
        const listed = page(rows, limit, url, ({ slug }) => [slug], show)
        return listed
      },
    }),
    route({
      method: 'GET',
      path: '/v1/services/{slug}',
      summary: 'One service with its endpoints, schemas and prices.',
      auth: 'none',
      shared: true,
      answer: { status: 200, schema: Service.extend({ endpoints: z.array(Endpoint) }) },
      faults: ['service_not_found'],
      handle: async ({ params }) => {
        const found = await findService(pool, params['slug'] ?? '')
        if (!found) throw new Fault('service_not_found')
        const coming = await pricesNow(pool, found.listing.slug)
        const endpoints = found.endpoints.map((each) => endpointOf(each, coming))
        return { body: { ...show(found.listing), endpoints } }
      },
    }),
    searchRoute({ pool, clock, meaning }, show),
  ]
}

const endpointOf = (
  endpoint: ListedEndpoint,
  announced: Awaited<ReturnType<typeof pricesNow>>,
) => ({
  method: endpoint.method,
  path: endpoint.path,
  summary: endpoint.summary,
  price_microdollars: json(endpoint.price),
  price_is_maximum: endpoint.computed,
  price_version: endpoint.priceVersion,
  ...comingOf(
    announced.find(({ method, path }) => method === endpoint.method && path === endpoint.path),
  ),
  request_schema: endpoint.inputSchema,
  response_schema: endpoint.outputSchema,
})

const comingOf = ({ coming }: { readonly coming: Coming | null } = { coming: null }) =>
  coming && {
    coming_price: {
      price_microdollars: json(coming.amount),
      effective_at: coming.at.toISOString(),
    },
  }
