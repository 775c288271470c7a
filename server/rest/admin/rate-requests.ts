import type { Pool } from 'pg'
import { z } from 'zod'
import { decideRate, listRateRequests } from '../../../core/finance/rate-requests.ts'
import {
  RateRequestView,
  ratePerMinute,
  rateRequestCursor,
  showRateRequest,
} from '../account/rate-requests.ts'
import { auditReason } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

/** Decisions about requests for custom rates. */
export const rateDecisionRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/admin/rate-requests', {
    summary: 'Lists requests for custom rates, newest first.',
    auth: 'admin',
    query: listQuery({ only: z.enum(['all', 'pending']).default('pending') }),
    response: { status: 200, schema: pageSchema(RateRequestView) },
    handle: async ({ query: { limit, cursor, only }, url }) => {
      const [after] = readCursor(cursor, rateRequestCursor) ?? []
      const query = { isPending: only === 'pending', limit: limit + 1, after }
      const rows = await listRateRequests(pool, query)
      return toPage(rows, limit, url, ({ id }) => [id], showRateRequest)
    },
  }),
  route('POST /v1/admin/rate-requests/{id}', {
    summary: 'Grants or refuses a request for a custom rate, and notifies its owner.',
    auth: 'admin',
    body: z.strictObject({
      requests_per_minute: ratePerMinute.nullable().meta({
        description: 'Granted rate. null: refused; the rate of the key stays.',
      }),
      reason: auditReason,
    }),
    response: { status: 200, schema: RateRequestView },
    faults: ['not_found', 'own_account'],
    handle: async (request) => {
      const { requests_per_minute: granted, reason } = request.body
      const decision = { granted, reason }
      const decided = await decideRate(pool, staffOf(request), request.params.id, decision)
      return { body: showRateRequest(decided) }
    },
  }),
]
