import type { Pool } from 'pg'
import { z } from 'zod'
import { cautionsOf } from '../../../core/catalog/listings/cautions.ts'
import { paidTo } from '../../../core/catalog/listings/discovery/read-transfers.ts'
import {
  endpointsOf,
  findExternal,
  historyOf,
  listExternals,
} from '../../../core/catalog/listings/find-listings.ts'
import type { Clock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'
import { ExternalDetail, ExternalView, showDetail, showExternal } from './external-views.ts'

const STATES = ['active', 'degraded', 'down', 'unlisted'] as const

const Query = z.strictObject({
  ...paging,
  state: z
    .enum([...STATES, 'all'])
    .optional()
    .meta({ description: 'Left out: active and degraded ones.' }),
  category: z.string().max(40).optional(),
  network: z.string().max(80).optional().meta({ description: 'CAIP-2, such as eip155:8453.' }),
  tag: z.string().max(40).optional(),
  host: z.string().max(255).optional(),
})

/** What others sell by x402. */
export const externalRoutes = (pool: Pool, clock: Clock): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/external',
    summary: 'APIs of others that are sold by x402, as the hub’s own probes found them.',
    auth: 'none',
    shared: true,
    query: Query,
    answer: { status: 200, schema: pageOf(ExternalView) },
    faults: ['validation_failed'],
    handle: async ({ query: { limit, cursor, state, category, network, tag, host }, url }) => {
      const rows = await listExternals(pool, {
        limit: limit + 1,
        after: readCursor(cursor, z.tuple([z.string()]))?.[0],
        states: state === undefined ? ['active', 'degraded'] : state === 'all' ? STATES : [state],
        category,
        network,
        tag,
        host: host?.toLowerCase(),
      })
      const listed = page(
        rows,
        limit,
        url,
        ({ id }) => [id],
        (listing) => showExternal(listing),
      )
      return listed
    },
  }),
  route({
    method: 'GET',
    path: '/v1/external/{id}',
    summary: 'One listing with all endpoints of its host, its history, and what to be careful of.',
    auth: 'none',
    shared: true,
    answer: { status: 200, schema: ExternalDetail },
    faults: ['listing_not_found'],
    handle: async ({ params }) => {
      const listing = await findExternal(pool, params['id'] ?? '')
      if (!listing) throw new Fault('listing_not_found')
      const [endpoints, history, settled] = await Promise.all([
        endpointsOf(pool, listing),
        historyOf(pool, listing.id),
        paidTo(pool, listing.payTo),
      ])
      const cautions = cautionsOf(listing, history, clock.now())
      const body = showDetail(listing, { endpoints, history, cautions, settled })
      return { body }
    },
  }),
]
