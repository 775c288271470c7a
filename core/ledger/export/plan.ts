import type { Pool } from 'pg'
import type { Account, Asset } from '../events.ts'

/** What of the journal to export; what is left out is not limited. */
export interface ExportOrder {
  /** Numbers of the sequence, of one shard or of each. */
  readonly range?: { readonly shard?: number; readonly from?: bigint; readonly to?: bigint }
  /** By value date, from the first instant up to the second, which is not in it. */
  readonly period?: { readonly from: Date; readonly to: Date }
  /** Whole entries that touch one of these: codes, or beginnings of codes that end in `:`. */
  readonly accounts?: readonly Account[]
}

/** The entries of one shard that an export looks at. Bounds are the first and the last number. */
export interface Span {
  readonly shard: number
  readonly from: string
  readonly to: string
  /** Up to here the period's entries lie; after it are those that were booked late. */
  readonly late: string
}

/** An account with what it holds, in units of its asset, credit-positive. */
export interface AccountBalance {
  readonly code: Account
  readonly asset: Asset
  readonly amount: bigint
}

/**
 * An export, fixed when it begins: the same plan gives the same bytes for ever, since the journal
 * only grows. It is plain JSON, so that an export that was cut off can go on.
 */
export interface ExportPlan {
  readonly spans: readonly Span[]
  readonly period?: { readonly from: string; readonly to: string }
  readonly accounts?: readonly Account[]
}

/** Fixes what an export covers. */
export async function planExport(
  pool: Pool,
  { range = {}, period, accounts }: ExportOrder,
): Promise<ExportPlan> {
  const { shard, from = 1n, to } = range
  const spans = await spansOf(pool, { shard, from, to, period })
  return {
    spans,
    ...(period ? { period: { from: instant(period.from), to: instant(period.to) } } : {}),
    ...(accounts ? { accounts } : {}),
  }
}

/** Whether it begins with the first entry and leaves none out, so that its sums are balances. */
export const isWhole = ({ spans, period, accounts }: ExportPlan): boolean =>
  !period && !accounts && spans.every(({ from }) => from === '1')

/** How many entries it looks at. */
export const entriesOf = ({ spans }: ExportPlan): bigint =>
  spans.reduce((sum, { from, to }) => {
    const count = BigInt(to) - BigInt(from) + 1n
    return count > 0n ? sum + count : sum
  }, 0n)

const instant = (date: Date): string => date.toISOString()

interface Bounds {
  readonly shard: number | undefined
  readonly from: bigint
  readonly to: bigint | undefined
  readonly period: ExportOrder['period']
}

/** Seals map instants to numbers: booking times never go backwards within a shard. */
async function spansOf(pool: Pool, { shard, from, to, period }: Bounds): Promise<readonly Span[]> {
  const { rows } = await pool.query<Span>(
    `SELECT h.shard, greatest($2, 1 + coalesce((SELECT max(s.seq_to) FROM ledger.seal s
         WHERE s.shard = h.shard AND s.at < $4), 0))::text AS "from",
       least($3, h.seq)::text AS "to",
       least($3, CASE WHEN $5::timestamptz IS NULL THEN h.seq
         ELSE (SELECT coalesce(max(s.seq_to), 0) FROM ledger.seal s
           WHERE s.shard = h.shard AND s.at < $5) END)::text AS late
     FROM ledger.head h WHERE h.shard = coalesce($1, h.shard) ORDER BY h.shard`,
    [shard ?? null, from, to ?? null, period?.from ?? null, period?.to ?? null],
  )
  return rows
}
