import type { Pool } from 'pg'
import { z } from 'zod'
import { json } from '../../../core/money.ts'
import { type HistoryPlace, type HistoryRow, readHistory } from '../../../core/usage/history.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'

const HistoryItem = z.object({
  id: z.string().meta({ description: 'Call, purchase or other entry.' }),
  event: z.string(),
  at: z.iso.datetime(),
  change_microdollars: z.int(),
  charged_microdollars: z.int().min(0).nullable().meta({ description: 'What a call cost.' }),
  endpoint: z.string().nullable(),
  other_key_id: z.string().nullable().meta({ description: 'Of a transfer: the other key.' }),
  transaction: z.string().nullable().meta({ description: 'On chain.' }),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'Why a person booked it, or why a call was given back.' }),
})

const EVENTS_MAX = 20
const Query = z.strictObject({
  ...paging,
  event: z
    .string()
    .regex(/^[a-z]+\.[a-z-]+(,[a-z]+\.[a-z-]+)*$/, 'names of events, with commas between')
    .transform((text) => text.split(','))
    .pipe(z.array(z.string()).max(EVENTS_MAX))
    .optional()
    .meta({ description: 'Only these: call.settled,credits.purchased' }),
  service: z.string().min(1).max(100).optional().meta({ description: 'Calls of this one alone.' }),
  from: z.iso.datetime().optional().meta({ description: 'Booked at this instant or later.' }),
  to: z.iso.datetime().optional().meta({ description: 'Booked before it.' }),
})

export const PLACE: z.ZodType<HistoryPlace> = z.tuple([
  z.uuid(),
  z.int().min(0).max(3),
  z.int().min(0).max(1_000),
])

export const historyRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/credits/history',
    summary: 'Every movement of this key’s credits, newest first.',
    auth: 'key',
    query: Query,
    answer: { status: 200, schema: pageOf(HistoryItem) },
    handle: async (request) => {
      const { limit, cursor, event: events, service, from, to } = request.query
      const rows = await readHistory(pool, callerOf(request).credits.id, {
        limit: limit + 1,
        after: readCursor(cursor, PLACE),
        events,
        service,
        from: dateOf(from),
        to: dateOf(to),
      })
      return page(rows, limit, request.url, ({ id, phase, kind }) => [id, phase, kind], showHistory)
    },
  }),
]

const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text)

export const showHistory = (row: HistoryRow) => ({
  id: row.id,
  event: row.event,
  at: row.at.toISOString(),
  change_microdollars: json(row.change),
  charged_microdollars: row.charged === null ? null : json(row.charged),
  endpoint: row.endpoint,
  other_key_id: row.otherKey,
  transaction: row.transaction,
  reason: row.reason,
})
