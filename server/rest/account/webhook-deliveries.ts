import type { Pool } from 'pg'
import { z } from 'zod'
import { type Delivery, listDeliveries } from '../../../core/webhooks/webhooks.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const DeliveryView = z.object({
  event_id: z.string().meta({ description: 'Header webhook-id of every attempt.' }),
  type: z.string(),
  at: z.iso.datetime(),
  state: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.int(),
  next_attempt_at: z.iso.datetime().nullable(),
  last_attempt: z
    .object({
      at: z.iso.datetime(),
      response_status: z.int().nullable().meta({ description: 'null: no response.' }),
      error: z.string().nullable().meta({ description: 'status: the response was not 2xx.' }),
      duration_ms: z.int(),
    })
    .nullable(),
})

export type DeliveryJson = z.infer<typeof DeliveryView>

/** Delivery log of webhooks, stored for 30 days. */
export const deliveryRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('GET /v1/webhooks/{id}/deliveries', {
    summary: 'Lists the deliveries of a webhook and their results, newest first.',
    auth: 'owner',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(DeliveryView) },
    faults: ['root_key_required', 'not_found'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string().max(40)]))
      const { id } = request.params
      const rows = await listDeliveries(pool, ownerOf(request), id, limit + 1, after?.[0])
      return toPage(rows, limit, request.url, ({ event }) => [event], showDelivery)
    },
  }),
]

const showDelivery = (each: Delivery) => ({
  event_id: each.event,
  type: each.type,
  at: each.at.toISOString(),
  state: each.state,
  attempts: each.attempts,
  next_attempt_at: each.state === 'pending' ? each.next_at.toISOString() : null,
  last_attempt:
    each.tried_at === null
      ? null
      : {
          at: each.tried_at.toISOString(),
          response_status: each.status,
          error: each.error,
          duration_ms: each.duration_ms,
        },
})
