import { z } from 'zod'
import { assessListing } from '../../../core/catalog/listings/cautions.ts'
import { readPaymentsTo } from '../../../core/catalog/listings/discovery/read-transfers.ts'
import {
  findListings,
  listingsOfHost,
  readListingHistory,
} from '../../../core/catalog/listings/find-listings.ts'
import type { Clock } from '../../../core/clock.ts'
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import { Fault } from '../../../core/errors.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { replyRecent } from '../recent.ts'
import { type AnyRoute, route } from '../route.ts'
import {
  ListingDetailView,
  ListingView,
  showListing,
  showListingDetail,
} from './external-listing-view.ts'

const STATES = ['active', 'degraded', 'down', 'unlisted'] as const
const DEFAULT_STATES = ['active', 'degraded'] as const

const ListingQuery = listQuery({
  state: z
    .enum([...STATES, 'all'])
    .optional()
    .meta({ description: 'Default: active, degraded.' }),
  category: z.string().max(40).optional(),
  network: z.string().max(80).optional().meta({ description: 'CAIP-2, such as eip155:8453.' }),
  tag: z.string().max(40).optional(),
  host: z.string().max(255).optional(),
})

/** External x402 services found by discovery. */
export const externalListingRoutes = (reads: RecentReads, clock: Clock): readonly AnyRoute[] => [
  route('GET /v1/external', {
    summary: 'Lists external x402 APIs with the results of the hub’s probes.',
    auth: 'none',
    shared: true,
    query: ListingQuery,
    response: { status: 200, schema: pageSchema(ListingView) },
    faults: ['validation_failed'],
    handle: ({ query: { limit, cursor, state, category, network, tag, host }, url }) => {
      const wanted = {
        limit: limit + 1,
        after: readCursor(cursor, z.tuple([z.string()]))?.[0],
        states: state === undefined ? DEFAULT_STATES : state === 'all' ? STATES : [state],
        category,
        network,
        tag,
        host: host?.toLowerCase(),
      }
      return replyRecent(reads, async (pool) => {
        const rows = await findListings(pool, wanted)
        return toPage(
          rows,
          limit,
          url,
          ({ id }) => [id],
          (each) => showListing(each),
        )
      })
    },
  }),
  route('GET /v1/external/{id}', {
    summary: 'Returns a listing with all endpoints of its host, history and cautions.',
    auth: 'none',
    shared: true,
    response: { status: 200, schema: ListingDetailView },
    faults: ['listing_not_found'],
    handle: ({ params }) =>
      replyRecent(reads, async (pool) => {
        const listing = await assessListing(pool, params.id, clock.now())
        if (!listing) throw new Fault('listing_not_found')
        const [endpoints, history, settled] = await Promise.all([
          listingsOfHost(pool, listing),
          readListingHistory(pool, listing.id),
          readPaymentsTo(pool, listing.payTo),
        ])
        return { body: showListingDetail(listing, { endpoints, history, settled }) }
      }),
  }),
]
