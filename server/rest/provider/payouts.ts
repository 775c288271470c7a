import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { decimal, json } from '../../../core/money.ts'
import { findPayout, listPayouts, type PayoutInfo } from '../../../core/payments/payouts/list.ts'
import {
  type LineCursor,
  readServiceSums,
  readStatementLines,
  type ServiceSums,
  type StatementAmounts,
  type StatementLine,
} from '../../../core/payments/payouts/statement.ts'
import { ResponseStream } from '../../http/response-stream.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const amount = z.int()
const PayoutView = z.object({
  payout_id: z.uuid(),
  provider_id: z.string(),
  day: z.iso.date().meta({ description: 'UTC day of the payout.' }),
  state: z.enum(['under_way', 'sent', 'failed']).meta({
    description: 'sent: final on chain. failed: nothing was paid; the amount is owed again.',
  }),
  amount_microdollars: amount.meta({
    description: 'Amount of the transfer and total of its statement.',
  }),
  recovered_microdollars: amount.meta({
    description: 'Refunds of calls paid out earlier, deducted from earnings.',
  }),
  address: z.string(),
  transaction: z.string().nullable(),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

const amounts = {
  gross_microdollars: amount.meta({ description: 'Paid by callers.' }),
  commission_microdollars: amount.meta({
    description:
      'Rounded down at each call. `commission.rounded` is the rest that is due on the sum of the ' +
      'sales of a service: fractions add up until they are a microdollar.',
  }),
  refunds_microdollars: amount.meta({ description: 'Prices refunded to callers, in full.' }),
  commission_refunded_microdollars: amount.meta({
    description: 'Commission returned with these refunds.',
  }),
  owed_microdollars: amount.meta({
    description: 'Your share of refunds of calls that you had been paid for. It becomes a debt.',
  }),
  refunded_microdollars: amount.meta({
    description: 'Your share of refunds, less what became a debt.',
  }),
  recovered_microdollars: amount.meta({ description: 'Debts deducted from your earnings.' }),
}

const ServiceSumsView = z.object({
  service: z.string(),
  calls: z.int(),
  ...amounts,
  other_microdollars: amount.meta({
    description: 'Failed earlier payouts, corrections and what limits carried over.',
  }),
  earned_microdollars: amount.meta({
    description: 'gross - commission - refunded - recovered + other',
  }),
})

const StatementLineView = z.object({
  entry_id: z.uuid().meta({ description: 'Id of the journal entry; for calls, the call id.' }),
  service: z.string(),
  event: z.string(),
  at: z.iso.datetime(),
  ...amounts,
  amount_microdollars: amount.meta({ description: 'All lines sum to the transfer.' }),
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

const showAmounts = (amounts: StatementAmounts) => ({
  gross_microdollars: json(amounts.gross),
  commission_microdollars: json(amounts.commission),
  refunds_microdollars: json(amounts.refunds),
  commission_refunded_microdollars: json(amounts.commission_refunded),
  owed_microdollars: json(amounts.owed),
  refunded_microdollars: json(amounts.refunded),
  recovered_microdollars: json(amounts.recovered),
})

const showSums = (sums: ServiceSums) => ({
  service: sums.service,
  calls: json(sums.calls),
  ...showAmounts(sums),
  other_microdollars: json(sums.other),
  earned_microdollars: json(sums.earned),
})

const showLine = (line: StatementLine) => ({
  entry_id: line.id,
  service: line.service,
  event: line.event,
  at: line.at.toISOString(),
  ...showAmounts(line),
  amount_microdollars: json(line.amount),
})

const id = z.uuid()
const uuidOrNil = (text: string | undefined): string =>
  id.safeParse(text).data ?? '00000000-0000-0000-0000-000000000000'

/** Payouts of a provider, with statements of journal entries. */
export const payoutRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('GET /v1/provider/payouts', {
    summary: 'Lists payouts, newest first.',
    auth: 'provider',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(PayoutView) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([id]))
      const rows = await listPayouts(pool, ownerOf(request), limit + 1, after?.[0])
      return toPage(rows, limit, request.url, (row) => [row.id], showPayout)
    },
  }),
  route('GET /v1/provider/payouts/{id}', {
    summary: 'Returns a payout with the total of each service.',
    auth: 'provider',
    response: { status: 200, schema: PayoutView.extend({ services: z.array(ServiceSumsView) }) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const payout = await findPayout(pool, ownerOf(request), uuidOrNil(request.params.id))
      const services = await readServiceSums(pool, payout.id)
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
  route('GET /v1/provider/payouts/{id}/statement', {
    summary: 'Lists the journal entries of a payout. Their amounts sum to the transfer.',
    auth: 'provider',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(StatementLineView) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const payout = await findPayout(pool, ownerOf(request), uuidOrNil(request.params.id))
      const after = readCursor(cursor, StatementCursor)
      const rows = await readStatementLines(pool, payout.id, limit + 1, after)
      const position = ({ account, shard, seq }: (typeof rows)[number]) => [
        String(account),
        shard,
        String(seq),
      ]
      return toPage(rows, limit, request.url, position, showLine)
    },
  }),
  route('GET /v1/provider/payouts/{id}/statement.csv', {
    summary: 'Downloads the whole statement as CSV (RFC 4180), one line per entry, in dollars.',
    auth: 'provider',
    response: { status: 200, type: 'text/csv', schema: z.string() },
    faults: ['root_key_required'],
    handle: async (request) => {
      const payout = await findPayout(pool, ownerOf(request), uuidOrNil(request.params.id))
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

const CSV_PAGE_LINES = 1_000
const CSV_HEADER = [
  'payout_id',
  'entry_id',
  'service',
  'event',
  'at',
  'gross_usd',
  'commission_usd',
  'refunded_usd',
  'amount_usd',
  'refunds_usd',
  'commission_refunded_usd',
  'owed_usd',
  'recovered_usd',
]

/** Streams a statement as CSV in constant memory. No value needs quoting. */
const csvStatement = (pool: Pool, { id }: { readonly id: string }): ResponseStream =>
  ResponseStream.of(csvPages(pool, id))

async function* csvPages(pool: Pool, payout: string): AsyncGenerator<string> {
  yield csvLine(CSV_HEADER)
  let after: LineCursor | undefined
  for (;;) {
    const lines = await readStatementLines(pool, payout, CSV_PAGE_LINES, after)
    const texts = lines.map(({ id, service, event, at, ...line }) => {
      const { gross, commission, refunded, amount, refunds, commission_refunded, owed } = line
      const netted = [gross, commission, refunded, amount]
      const amounts = [...netted, refunds, commission_refunded, owed, line.recovered].map(decimal)
      return csvLine([payout, id, service, event, at.toISOString(), ...amounts])
    })
    if (texts.length > 0) yield texts.join('')
    const last = lines.at(-1)
    if (lines.length < CSV_PAGE_LINES || !last) return
    after = [String(last.account), last.shard, String(last.seq)]
  }
}

const csvLine = (values: readonly string[]): string => `${values.join(',')}\r\n`
