import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import {
  type CallView,
  findByTransaction,
  findTrail,
  type JournalEntryView,
  listEntries,
} from '../../../core/finance/journal.ts'
import { json } from '../../../core/money.ts'
import { CALL_STATES } from '../../../core/usage/call-state.ts'
import type { CallLog } from '../../../core/usage/calls.ts'
import { dayBounds, dayFields } from '../days.ts'
import { linkToNext, listQuery, pageSchema, readCursor, writeCursor } from '../paging.ts'
import { type AnyRoute, parse, route } from '../route.ts'

const Posting = z.object({
  account: z.string(),
  asset: z.string(),
  amount: z.int().meta({ description: 'Units of the asset; credits are positive.' }),
})

const Entry = z.object({
  id: z.uuid().meta({ description: 'Id of the call, purchase, payment or correction.' }),
  shard: z.int(),
  seq: z.int(),
  event: z.string(),
  booked_at: z.string(),
  value_at: z.string(),
  postings: z.array(Posting),
  meta: z.record(z.string(), z.unknown()).nullable(),
  call_id: z.uuid().nullable(),
})

const Call = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  request_id: z.string(),
  key_id: z.string().nullable(),
  endpoint: z.string(),
  price_version: z.int(),
  source: z.string(),
  state: z.enum(CALL_STATES).meta({ description: 'As the caller sees it.' }),
  charged_microdollars: z.int().meta({ description: 'Charged, less what was refunded.' }),
  refunded_microdollars: z.int(),
  outcome: z.string(),
  status: z.int(),
  latency_ms: z.int(),
  reason: z.string().nullable(),
})

const Trail = z.object({
  entries: z.array(Entry).meta({ description: 'All entries with this id, in order.' }),
  call: Call.nullable(),
})

export type EntryJson = z.infer<typeof Entry>
export type TrailJson = z.infer<typeof Trail>

export interface JournalDeps {
  readonly pool: Pool
  readonly calls: Pick<CallLog, 'flush'>
}

/** Journal entries by time and event, and all entries of one call or payment. */
export const journalRoutes = (deps: JournalDeps): readonly AnyRoute[] => [
  listRoute(deps),
  entryRoute(deps),
]

const listRoute = ({ pool, calls }: JournalDeps): AnyRoute =>
  route('GET /v1/finance/journal', {
    summary:
      'Lists entries by event, author and day, or all of a call or transaction, newest first.',
    auth: 'finance',
    query: listQuery({
      event: z
        .string()
        .regex(/^[a-z]+\.[a-z-]+$/, 'must be an event, such as call.settled')
        .optional(),
      author: z.string().min(1).max(200).optional().meta({
        description: 'Part of the name of an author.',
      }),
      call: z.uuid().optional().meta({ description: 'All entries of a call or payment.' }),
      transaction: z
        .string()
        .regex(/^0x[0-9a-fA-F]{64}$/, 'must be a transaction hash')
        .optional()
        .meta({ description: 'All entries of the payments in a transaction on chain.' }),
      ...dayFields,
    }),
    response: { status: 200, schema: pageSchema(Entry) },
    faults: ['validation_failed'],
    handle: async ({ query, url }) => {
      const { limit, cursor, event, author, call, transaction } = query
      if (call !== undefined || transaction !== undefined) {
        assertSingleFilter(query)
        if (call !== undefined) await calls.flush()
        const found =
          transaction === undefined
            ? (await findTrail(pool, call!.toLowerCase())).entries.toReversed()
            : await findByTransaction(pool, transaction)
        return { body: { data: found.map(showEntry), next_cursor: null, has_more: false } }
      }
      const place = readCursor(cursor, z.array(z.int().min(0)).max(64))
      const before = place?.map((seq) => BigInt(seq))
      const { entries, next } = await listEntries(pool, {
        limit,
        event,
        author,
        before,
        ...dayBounds(query),
      })
      const after = next ? writeCursor(next.map(json)) : null
      return {
        ...linkToNext(url, after),
        body: { data: entries.map(showEntry), next_cursor: after, has_more: after !== null },
      }
    },
  })

const entryRoute = ({ pool, calls }: JournalDeps): AnyRoute =>
  route('GET /v1/finance/entries/{id}', {
    summary: 'Returns all entries of a call, purchase, payment or correction, and its call.',
    auth: 'finance',
    response: { status: 200, schema: Trail },
    faults: ['not_found', 'validation_failed'],
    handle: async ({ params }) => {
      await calls.flush() // records of calls just served by this process
      const { entries, call } = await findTrail(
        pool,
        parse(z.uuid(), params.id, 'entry id').toLowerCase(),
      )
      if (entries.length === 0 && !call)
        throw new Fault('not_found', 'The ledger has no entry with this id.')
      return { body: { entries: entries.map(showEntry), call: call && showCall(call) } }
    },
  })

/** @throws Fault if a call or a transaction is combined with another filter */
function assertSingleFilter(query: Readonly<Record<string, unknown>>): void {
  const names = ['event', 'author', 'call', 'transaction', 'from', 'to', 'cursor']
  const used = names.filter((name) => query[name] !== undefined)
  if (used.length === 1) return
  throw new Fault('validation_failed', `Use "${used[0]}" and "${used[1]}" separately.`)
}

const showEntry = (entry: JournalEntryView): z.infer<typeof Entry> => ({
  id: entry.id,
  shard: entry.shard,
  seq: json(entry.seq),
  event: entry.event,
  booked_at: entry.bookedAt,
  value_at: entry.valueAt,
  postings: entry.postings.map((each) => ({ ...each, amount: json(BigInt(each.amount)) })),
  meta: entry.meta,
  call_id: entry.call,
})

const showCall = (call: CallView): z.infer<typeof Call> => ({
  id: call.id,
  at: call.at.toISOString(),
  request_id: call.requestId,
  key_id: call.keyId,
  endpoint: call.endpoint,
  price_version: call.priceVersion,
  source: call.source,
  state: call.state,
  charged_microdollars: json(call.charged),
  refunded_microdollars: json(call.refunded),
  outcome: call.outcome,
  status: call.status,
  latency_ms: call.latencyMs,
  reason: call.reason,
})
