import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { json } from '../../../core/money.ts'
import { findPayout, listPayouts, type PayoutInfo } from '../../../core/payments/payouts/list.ts'
import {
  type ServiceSums,
  type StatementLine,
  serviceSums,
  statementLines,
} from '../../../core/payments/payouts/statement.ts'
import { pageReply, pageSchema, paging, readCursor } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { csvStatement } from './csv.ts'

const amount = z.int()
const PayoutView = z.object({
  payout_id: z.uuid(),
  provider_id: z.string(),
  day: z.iso.date().meta({ description: 'The UTC day that it belongs to.' }),
  state: z.enum(['under_way', 'sent', 'failed']).meta({
    description: 'sent: final on the chain. failed: nothing was paid, and it is owed again.',
  }),
  amount_microdollars: amount.meta({ description: 'Of the transfer, and of its statement.' }),
  recovered_microdollars: amount.meta({
    description: 'Refunds after earlier payouts, taken out of the earnings before.',
  }),
  address: z.string(),
  transaction: z.string().nullable(),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

const ServiceSumsView = z.object({
  service: z.string(),
  calls: z.int(),
  gross_microdollars: amount.meta({ description: 'What callers paid.' }),
  commission_microdollars: amount,
  refunded_microdollars: amount.meta({ description: 'Your part of what callers got back.' }),
  other_microdollars: amount.meta({
    description: 'Debts recovered, payouts that failed before, corrections.',
  }),
  earned_microdollars: amount,
})

const StatementLineView = z.object({
  entry_id: z.uuid().meta({ description: 'Of the entry in the ledger: of a call, its id.' }),
  service: z.string(),
  event: z.string(),
  at: z.iso.datetime(),
  gross_microdollars: amount,
  commission_microdollars: amount,
  amount_microdollars: amount.meta({ description: 'All lines add up to the transfer.' }),
})

export type PayoutJson = z.infer<typeof PayoutView>
export type PayoutSumsJson = z.infer<typeof ServiceSumsView>
export type PayoutLineJson = z.infer<typeof StatementLineView>

const STATE_NAMES = { started: 'under_way', confirmed: 'sent', failed: 'failed' } as const

const showPayout = (payout: PayoutInfo) => ({
  payout_id: payout.id,
  provider_id: payout.provider,
  day: payout.batch,
  state: STATE_NAMES[payout.state],
  amount_microdollars: json(payout.amount),
  recovered_microdollars: json(payout.recovered),
  address: getAddress(payout.payee),
  transaction: payout.transaction,
  started_at: payout.startedAt.toISOString(),
  ended_at: payout.endedAt?.toISOString() ?? null,
})

const showSums = (sums: ServiceSums) => ({
  service: sums.service,
  calls: json(sums.calls),
  gross_microdollars: json(sums.gross),
  commission_microdollars: json(sums.commission),
  refunded_microdollars: json(sums.refunded),
  other_microdollars: json(sums.other),
  earned_microdollars: json(sums.earned),
})

const showLine = (line: StatementLine) => ({
  entry_id: line.id,
  service: line.service,
  event: line.event,
  at: line.at.toISOString(),
  gross_microdollars: json(line.gross),
  commission_microdollars: json(line.commission),
  amount_microdollars: json(line.amount),
})

const id = z.uuid()
const uuidOrNil = (text: string | undefined): string =>
  id.safeParse(text).data ?? '00000000-0000-0000-0000-000000000000'

/** What a provider was paid, and for what, line by line of the ledger. */
export const payoutRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/payouts',
    summary: 'Payouts, the newest first.',
    auth: 'provider',
    query: z.strictObject(paging),
    response: { status: 200, schema: pageSchema(PayoutView) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([id]))
      const rows = await listPayouts(pool, ownerOf(request), limit + 1, after?.[0])
      return pageReply(rows, limit, request.url, (row) => [row.id], showPayout)
    },
  }),
  route({
    method: 'GET',
    path: '/v1/provider/payouts/{id}',
    summary: 'A payout, with what each service came to.',
    auth: 'provider',
    response: { status: 200, schema: PayoutView.extend({ services: z.array(ServiceSumsView) }) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const payout = await findPayout(pool, ownerOf(request), uuidOrNil(request.params['id']))
      const services = await serviceSums(pool, payout.id)
      return { body: { ...showPayout(payout), services: services.map(showSums) } }
    },
  }),
  ...statementRoutes(pool),
]

const StatementCursor = z.tuple([
  z.string().regex(/^\d{1,18}$/),
  z.int().min(0).max(32_767),
  z.string().regex(/^\d{1,18}$/),
])

const statementRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/payouts/{id}/statement',
    summary: 'The ledger entries that a payout paid for. Their amounts add up to the transfer.',
    auth: 'provider',
    query: z.strictObject(paging),
    response: { status: 200, schema: pageSchema(StatementLineView) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const payout = await findPayout(pool, ownerOf(request), uuidOrNil(request.params['id']))
      const after = readCursor(cursor, StatementCursor)
      const rows = await statementLines(pool, payout.id, limit + 1, after)
      const position = ({ account, shard, seq }: (typeof rows)[number]) => [
        String(account),
        shard,
        String(seq),
      ]
      return pageReply(rows, limit, request.url, position, showLine)
    },
  }),
  route({
    method: 'GET',
    path: '/v1/provider/payouts/{id}/statement.csv',
    summary: 'The whole statement as CSV (RFC 4180): a line for each entry, in dollars.',
    auth: 'provider',
    response: { status: 200, type: 'text/csv', schema: z.string() },
    faults: ['root_key_required'],
    handle: async (request) => {
      const payout = await findPayout(pool, ownerOf(request), uuidOrNil(request.params['id']))
      return {
        headers: {
          'Content-Type': 'text/csv; charset=utf-8; header=present',
          'Content-Disposition': `attachment; filename="payout-${payout.id}.csv"`,
        },
        body: csvStatement(pool, payout),
      }
    },
  }),
]
