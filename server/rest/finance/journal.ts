import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import {
  listEntries,
  type SeenCall,
  type SeenEntry,
  trailOf,
} from '../../../core/finance/journal.ts'
import { json } from '../../../core/money.ts'
import type { CallLog } from '../../../core/usage/calls.ts'
import { daysOf } from '../admin/audit.ts'
import { pageOf, paging, readCursor, writeCursor } from '../paging.ts'
import { type AnyRoute, parse, route } from '../route.ts'

const Posting = z.object({
  account: z.string(),
  asset: z.string(),
  amount: z.int().meta({ description: 'In units of the asset, credit-positive.' }),
})

const Entry = z.object({
  id: z.uuid().meta({ description: 'Of the call, purchase, payment or correction.' }),
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
  charged_microdollars: z.int(),
  outcome: z.string(),
  status: z.int(),
  latency_ms: z.int(),
  reason: z.string().nullable(),
})

const Trail = z.object({
  entries: z.array(Entry).meta({ description: 'All entries of this id, in order.' }),
  call: Call.nullable(),
})

export type EntryJson = z.infer<typeof Entry>
export type TrailJson = z.infer<typeof Trail>

export interface JournalPorts {
  readonly pool: Pool
  readonly calls: Pick<CallLog, 'flush'>
}

/** The journal, looked at: by time and event, and from a posting to its call and back. */
export const journalRoutes = ({ pool, calls }: JournalPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/journal',
    summary: 'Entries with their postings, the newest first, by event and by day of booking.',
    auth: 'finance',
    query: z.strictObject({
      ...paging,
      event: z
        .string()
        .regex(/^[a-z]+\.[a-z-]+$/, 'an event, such as call.settled')
        .optional(),
      from: z.iso.date().optional().meta({ description: 'The first UTC day.' }),
      to: z.iso.date().optional().meta({ description: 'The last UTC day.' }),
    }),
    answer: { status: 200, schema: pageOf(Entry) },
    handle: async ({ query, url }) => {
      const { limit, cursor, event } = query
      const place = readCursor(cursor, z.array(z.int().min(0)).max(64))
      const before = place?.map((seq) => BigInt(seq))
      const { entries, next } = await listEntries(pool, { limit, event, before, ...daysOf(query) })
      const after = next ? writeCursor(next.map(json)) : null
      const link = new URL(url)
      if (after !== null) link.searchParams.set('cursor', after)
      return {
        ...(after !== null && {
          headers: { Link: `<${link.pathname}${link.search}>; rel="next"` },
        }),
        body: { data: entries.map(showEntry), next_cursor: after, has_more: after !== null },
      }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/finance/entries/{id}',
    summary: 'All entries of a call, purchase, payment or correction, and its call.',
    auth: 'finance',
    answer: { status: 200, schema: Trail },
    faults: ['not_found', 'validation_failed'],
    handle: async ({ params }) => {
      await calls.flush() // what this process has just answered
      const { entries, call } = await trailOf(pool, parse(z.uuid(), params['id']).toLowerCase())
      if (entries.length === 0 && !call) throw new Fault('not_found', 'The books know no such id.')
      return { body: { entries: entries.map(showEntry), call: call && showCall(call) } }
    },
  }),
]

const showEntry = (entry: SeenEntry): z.infer<typeof Entry> => ({
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

const showCall = (call: SeenCall): z.infer<typeof Call> => ({
  id: call.id,
  at: call.at.toISOString(),
  request_id: call.requestId,
  key_id: call.keyId,
  endpoint: call.endpoint,
  price_version: call.priceVersion,
  source: call.source,
  charged_microdollars: json(call.charged),
  outcome: call.outcome,
  status: call.status,
  latency_ms: call.latencyMs,
  reason: call.reason,
})
