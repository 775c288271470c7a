import type { Pool } from 'pg'
import { z } from 'zod'
import {
  listRateRequests,
  type RateRequest,
  requestRate,
} from '../../../core/finance/rate-requests.ts'
import { plainText } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, managerOf, ownerOf, route } from '../route.ts'

/** Requests per minute of a custom rate. */
export const ratePerMinute = z.int().min(1).max(1_000_000)

export const RateRequestView = z.object({
  id: z.string(),
  key_id: z.string(),
  requests_per_minute: z.int(),
  purpose: z.string(),
  created_at: z.iso.datetime(),
  state: z.enum(['pending', 'granted', 'refused']),
  granted_per_minute: z.int().nullable(),
  reason: z.string().nullable().meta({ description: 'Reason of the decision.' }),
  decided_at: z.iso.datetime().nullable(),
})

export type RateRequestJson = z.infer<typeof RateRequestView>

export const rateRequestCursor = z.tuple([z.string().max(40)])

/** Requests for custom rates, by those who manage a main key. */
export const rateRequestRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('POST /v1/rate-requests', {
    summary: 'Requests a higher rate limit for a main key; an administrator decides.',
    auth: 'owner',
    body: z.strictObject({
      key_id: z.string().max(40).optional().meta({
        description: 'Main key. Default: the calling key; with a session, it is required.',
      }),
      requests_per_minute: ratePerMinute,
      purpose: plainText(500).meta({ description: 'What the requests are for.' }),
    }),
    example: { requests_per_minute: 5_000, purpose: 'Nightly analysis of 100,000 reviews.' },
    response: { status: 201, schema: RateRequestView },
    faults: ['not_found', 'root_key_required'],
    handle: async (request) => {
      const { body, caller } = request
      ownerOf(request) // sub-keys share the rate of their main key, which asks for it
      const made = await requestRate(pool, managerOf(request), {
        key: body.key_id ?? caller?.keyId ?? '',
        per_minute: body.requests_per_minute,
        purpose: body.purpose,
      })
      return { status: 201, body: showRateRequest(made) }
    },
  }),
  route('GET /v1/rate-requests', {
    summary: 'Lists your requests for higher rate limits with their decisions, newest first.',
    auth: 'owner',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(RateRequestView) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      ownerOf(request)
      const [after] = readCursor(cursor, rateRequestCursor) ?? []
      const query = { manager: managerOf(request), isPending: false, limit: limit + 1, after }
      const rows = await listRateRequests(pool, query)
      return toPage(rows, limit, request.url, ({ id }) => [id], showRateRequest)
    },
  }),
]

export const showRateRequest = (request: RateRequest): RateRequestJson => ({
  id: request.id,
  key_id: request.key,
  requests_per_minute: request.per_minute,
  purpose: request.purpose,
  created_at: request.created_at.toISOString(),
  state: request.decided_at === null ? 'pending' : request.granted === null ? 'refused' : 'granted',
  granted_per_minute: request.granted,
  reason: request.reason,
  decided_at: request.decided_at?.toISOString() ?? null,
})
