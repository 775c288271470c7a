import type { Pool } from 'pg'
import { z } from 'zod'
import { findVisibleKeys } from '../../../core/identity/sub-keys.ts'
import { json } from '../../../core/money.ts'
import type { CallLog } from '../../../core/usage/calls.ts'
import { type HistoryCursor, type HistoryRow, readHistory } from '../../../core/usage/history.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'
import { UsageSchema } from '../usage-schema.ts'

const HistoryItem = z.object({
  id: z.string().meta({ description: 'Id of the call, purchase or other entry.' }),
  event: z.string(),
  at: z.iso.datetime(),
  change_microdollars: z.int().meta({ description: 'Net change. A call in flight: reserved.' }),
  balance_microdollars: z
    .int()
    .nullable()
    .meta({
      description:
        'Credits after this row, in the order of the list: a call counts from its start. null: a ' +
        'list that leaves out later rows (event, service, to), and a sub-key.',
    }),
  charged_microdollars: z.int().min(0).nullable().meta({ description: 'Cost of a call.' }),
  usage: UsageSchema.nullable().meta({ description: 'What was paid for at a metered price.' }),
  endpoint: z.string().nullable(),
  other_key_id: z.string().nullable().meta({ description: 'Other key of a transfer.' }),
  transaction: z.string().nullable().meta({ description: 'Transaction hash.' }),
  reason: z.string().nullable().meta({ description: 'Reason of a manual entry, or of a refund.' }),
})

const EVENTS_MAX = 20
const Query = listQuery({
  view: z.enum(['calls', 'movements']).default('calls').meta({
    description:
      'calls: one row per call, with its last event. movements: each entry of the ledger.',
  }),
  event: z
    .string()
    .regex(/^[a-z]+\.[a-z-]+(,[a-z]+\.[a-z-]+)*$/, 'must be event names separated by commas')
    .transform((text) => text.split(','))
    .pipe(z.array(z.string()).max(EVENTS_MAX))
    .optional()
    .meta({ description: 'Only these events, such as call.settled,credits.purchased.' }),
  service: z.string().min(1).max(100).optional().meta({ description: 'Only its calls.' }),
  from: z.iso.datetime().optional().meta({ description: 'Posted at or after this time.' }),
  to: z.iso.datetime().optional().meta({ description: 'Posted before this time.' }),
})

export const historyCursor: z.ZodType<HistoryCursor> = z.tuple([
  z.uuid(),
  z.int().min(0).max(3),
  z.int().min(0).max(1_000),
  z.int().optional(),
])

export interface HistoryDeps {
  readonly pool: Pool
  readonly calls: Pick<CallLog, 'flush'>
}

export const historyRoutes = ({ pool, calls }: HistoryDeps): readonly AnyRoute[] => [
  route('GET /v1/credits/history', {
    summary: 'Lists calls and other changes of this key’s credits, newest first.',
    auth: 'key',
    query: Query,
    response: { status: 200, schema: pageSchema(HistoryItem) },
    handle: async (request) => {
      const { limit, cursor, view, event: events, service, from, to } = request.query
      const caller = callerOf(request)
      const madeBy = await findVisibleKeys(pool, caller)
      if (madeBy) await calls.flush() // records of calls just served by this process
      const rows = await readHistory(pool, caller.credits, {
        view,
        limit: limit + 1,
        after: readCursor(cursor, historyCursor),
        events,
        service,
        from: toDate(from),
        to: toDate(to),
        madeBy,
      })
      return toPage(rows, limit, request.url, positionOf, showHistoryItem)
    },
  }),
]

/** Cursor of the page after a row. */
export const positionOf = ({ id, phase, kind, balance, change }: HistoryRow) => [
  id,
  phase,
  kind,
  ...(balance === null ? [] : [json(balance - change)]),
]

const toDate = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text)

export const showHistoryItem = (row: HistoryRow) => ({
  id: row.id,
  event: row.event,
  at: row.at.toISOString(),
  change_microdollars: json(row.change),
  balance_microdollars: row.balance === null ? null : json(row.balance),
  charged_microdollars: row.charged === null ? null : json(row.charged),
  usage: row.usage,
  endpoint: row.endpoint,
  other_key_id: row.otherKey,
  transaction: row.transaction,
  reason: row.reason,
})
