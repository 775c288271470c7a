import type { Pool } from 'pg'
import { dayName, daysBefore } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import { json, priceTag } from '../../money.ts'
import { findPayout } from '../../payments/payouts/list.ts'
import {
  type PeriodSums,
  readPeriodSums,
  readServiceSums,
  type ServiceSums,
} from '../../payments/payouts/statement.ts'
import { type DocumentTable, type LedgerRange, ledgerRange, type Tax } from './document.ts'
import {
  NOTHING,
  parsePastMonth,
  type ReadSource,
  type SourceLine,
  taxOfPlatform,
} from './source.ts'

/** Amounts of a provider's statement before netting. */
const SUMS = {
  gross: 'Callers paid',
  commission: 'Commission on calls',
  refunds: 'Refunded to callers',
  commission_refunded: 'Commission returned with refunds',
  owed: 'Refunds after a payout: owed',
  refunded: 'Refunds deducted from earnings',
  recovered: 'Debts deducted from earnings',
  other: 'Corrections, failed payouts and what limits carried over',
  earned: 'Paid out',
} as const satisfies Partial<Record<keyof ServiceSums, string>>
/** Rule of rounding, which every statement of commission states. */
const ROUNDING =
  'Commission is rounded down at each call. The fractions add up by service, and payouts deduct ' +
  'the whole microdollars of their sum.'
const SUM_NAMES = Object.keys(SUMS) as (keyof typeof SUMS)[]

/**
 * Statement of the commission in a payout, by its id: an invoice of the platform. A payout that
 * failed has one too: the next payout pays its amount, but does not include its calls.
 */
export const commissionSource: ReadSource = async ({ pool }, principals, id) => {
  const payout = await findPayout(pool, principals, id)
  if (payout.state === 'started') {
    throw new Fault('document_not_available', 'The payout is not final on chain.')
  }
  const isPaid = payout.state === 'confirmed'
  const names = isPaid ? SUMS : { ...SUMS, earned: 'Returned to the balance' }
  const services = await readServiceSums(pool, id)
  const ranges = await readPayoutRanges(pool, id)
  return {
    ...NOTHING,
    principal: payout.owner,
    currency: 'USD',
    day: payout.batch,
    transaction: isPaid ? payout.transaction : null,
    lines: services.flatMap((sums) => commissionLines(sums, ranges.get(sums.service) ?? [])),
    tables: services.map((sums) => ({
      title: `Sales of ${sums.service}`,
      rows: SUM_NAMES.map((name) => ({ name: names[name], amount_microdollars: json(sums[name]) })),
    })),
    notes: [
      `Payout of ${priceTag(payout.amount)} in USDC${isPaid ? '' : ', which failed'}; the ` +
        'commission was deducted before it.',
      ROUNDING,
      'One USDC is stated as one USD.',
    ],
  }
}

/** Commission on the calls of a service, and what was returned of it. */
function commissionLines(
  { service, calls, commission, commission_refunded: returned }: ServiceSums,
  ledger: readonly LedgerRange[],
): readonly SourceLine[] {
  const line = (text: string, quantity: number, gross: bigint) => {
    const description = `${text} of ${service}`
    return { description, quantity, ledger, gross, taxFor: taxOfPlatform }
  }
  return [
    line('Commission on calls', Math.max(1, json(calls)), commission),
    ...(returned > 0n ? [line('Commission returned with refunds', -1, -returned)] : []),
  ]
}

/** Reads the ranges of entries that a payout pays, by service. */
async function readPayoutRanges(
  pool: Pool,
  id: string,
): Promise<ReadonlyMap<string, readonly LedgerRange[]>> {
  const { rows } = await pool.query<{ service: string; shard: number; from: bigint; to: bigint }>(
    `SELECT split_part(a.code, ':', 4) AS service, p.shard, p.after_seq + 1 AS from,
       p.upto_seq AS to
     FROM hub.payout_part p JOIN ledger.account a ON a.id = p.account WHERE p.payout = $1
     ORDER BY 1, 2`,
    [id],
  )
  const groups = Map.groupBy(rows, ({ service }) => service)
  return new Map([...groups].map(([service, some]) => [service, some.map(rangeOf)]))
}

const rangeOf = ({ shard, from, to }: Pick<PeriodSums, 'shard' | 'from' | 'to'>): LedgerRange =>
  ledgerRange(shard, from, to)

/** Statements are no invoices: the commission is invoiced for each payout. */
const NO_TAX: Tax = {
  category: 'O',
  rate_bps: 0,
  reason: 'A statement, not an invoice: tax is stated in invoices',
}

/** Amounts of a statement of earnings that change a balance, with the sign of the change. */
const EARNINGS = [
  ['gross', 'Calls', 1n],
  ['commission', 'Commission on calls', -1n],
  ['refunds', 'Refunds to callers', -1n],
  ['commission_refunded', 'Commission returned with refunds', 1n],
] as const

/** Statement of a provider for a month that is over. @param subject `acme:2026-11` */
export const earningsSource: ReadSource = async ({ pool, clock }, principals, subject) => {
  const [provider = '', month = ''] = subject.split(':')
  const { rows } = await pool.query<{ owner: string }>(
    'SELECT owner FROM hub.provider WHERE id = $1 AND owner = ANY ($2)',
    [provider, principals],
  )
  if (!rows[0]) {
    const detail = provider === '' ? 'You have sold nothing yet.' : 'You have no such provider.'
    throw new Fault('not_found', detail)
  }
  const { from, to } = parsePastMonth(month, clock)
  const sums = await readPeriodSums(pool, provider, { from, to })
  const services = [...Map.groupBy(sums, ({ service }) => service)].filter(([, shards]) =>
    shards.some(({ gross, refunds, opening, closing }) => gross + refunds + opening + closing > 0n),
  )
  if (services.length === 0) {
    throw new Fault('document_not_available', 'You had no sales and no balance in this month.')
  }
  const last = dayName(daysBefore(to, 1))
  return {
    ...NOTHING,
    principal: rows[0].owner,
    currency: 'USD',
    day: last,
    period: { from: dayName(from), to: last },
    lines: services.flatMap(([service, shards]) => earningsLines(service, shards)),
    tables: services.map(([service, shards]) => balanceTable(service, shards)),
    notes: [
      'The total is what calls earned, before payouts. One USDC is stated as one USD.',
      ROUNDING,
    ],
  }
}

type Amount = Exclude<keyof PeriodSums, 'service' | 'shard' | 'from' | 'to'>

const sumOf = (shards: readonly PeriodSums[], name: Amount): bigint =>
  shards.reduce((sum, each) => sum + each[name], 0n)

function earningsLines(service: string, shards: readonly PeriodSums[]): readonly SourceLine[] {
  const ledger = shards.filter(({ from, to }) => from <= to).map(rangeOf)
  return EARNINGS.map(([name, text, sign]) => {
    const quantity = name === 'gross' ? json(sumOf(shards, 'calls')) : 1
    const description = `${text} of ${service}`
    const gross = sign * sumOf(shards, name)
    return { description, quantity, ledger, gross, taxFor: () => NO_TAX }
  })
}

/** Opening balance of a service, its changes, and the closing balance. */
function balanceTable(service: string, shards: readonly PeriodSums[]): DocumentTable {
  const of = (name: Amount): bigint => sumOf(shards, name)
  const earned = EARNINGS.reduce((sum, [name, , sign]) => sum + sign * of(name), 0n)
  const known = earned + of('owed') - of('recovered') - of('paid')
  const rows = {
    'Opening balance': of('opening'),
    'Earned with calls': earned,
    [SUMS.owed]: of('owed'),
    [SUMS.recovered]: -of('recovered'),
    Corrections: of('closing') - of('opening') - known,
    'Paid out, without failed payouts': -of('paid'),
    'Closing balance': of('closing'),
  }
  return {
    title: `Balance of ${service}`,
    rows: Object.entries(rows).map(([name, amount]) => ({
      name,
      amount_microdollars: json(amount),
    })),
  }
}
