import type { Pool, PoolClient } from 'pg'
import type { Account } from '../events.ts'

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
export interface Closing {
  readonly code: Account
  readonly asset: string
  readonly amount: string
}

/**
 * An export, fixed when it begins: the same plan gives the same bytes for ever, since the journal
 * only grows. It is plain JSON, so that an export that was cut off can go on.
 */
export interface ExportPlan {
  readonly spans: readonly Span[]
  readonly period?: { readonly from: string; readonly to: string }
  readonly accounts?: readonly Account[]
  /** Every balance after the last entry, for exports of the whole journal. */
  readonly closing?: readonly Closing[]
}

/**
 * Fixes what an export covers.
 * @param closing whether the format can hold every balance against the ledger's own
 */
export async function planExport(
  pool: Pool,
  { range = {}, period, accounts }: ExportOrder,
  closing: boolean,
): Promise<ExportPlan> {
  const { shard, from = 1n, to } = range
  const whole = !period && !accounts && shard === undefined && from <= 1n && to === undefined
  const client = await pool.connect()
  let sound = false
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const spans = await spansOf(client, { shard, from, to, period })
    const balances = whole && closing ? await balancesOf(client) : undefined
    await client.query('COMMIT')
    sound = true
    return {
      spans,
      ...(period ? { period: { from: instant(period.from), to: instant(period.to) } } : {}),
      ...(accounts ? { accounts } : {}),
      ...(balances ? { closing: balances } : {}),
    }
  } finally {
    client.release(!sound)
  }
}

const instant = (date: Date): string => date.toISOString()

interface Bounds {
  readonly shard: number | undefined
  readonly from: bigint
  readonly to: bigint | undefined
  readonly period: ExportOrder['period']
}

/** Seals map instants to numbers: booking times never go backwards within a shard. */
async function spansOf(
  client: PoolClient,
  { shard, from, to, period }: Bounds,
): Promise<readonly Span[]> {
  const { rows } = await client.query<Span>(
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

async function balancesOf(client: PoolClient): Promise<readonly Closing[]> {
  const { rows } = await client.query<Closing>(
    `SELECT a.code, s.code AS asset, coalesce(sum(b.balance), 0)::text AS amount
     FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
     LEFT JOIN ledger.balance b ON b.account = a.id
     GROUP BY a.id, s.code HAVING EXISTS (SELECT FROM ledger.balance t WHERE t.account = a.id)
     ORDER BY a.id`,
  )
  return rows
}
