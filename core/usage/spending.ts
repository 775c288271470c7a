import type { Pool } from 'pg'
import { columns } from '../db/columns.ts'
import type { Account } from '../ledger/events.ts'
import type { Subscriber } from '../ledger/outbox/subscriber.ts'

/** Totals of calls. Money in microdollars; the net cost is `charged - refunded`. */
export interface SpendingTotals {
  /** UTC day (`2026-11-21`) or service slug; '' for spending outside the catalog. */
  readonly groupKey: string
  /** Calls settled with credits, also at a price of 0. */
  readonly calls: bigint
  readonly charged: bigint
  readonly freeCalls: bigint
  /** Calls whose hold was released or expired. */
  readonly failed: bigint
  /** Amount that those holds had reserved. */
  readonly released: bigint
  /** Refunds of earlier charges, on the day of the refund. */
  readonly refunded: bigint
}

/**
 * Entry kinds: 2 settled, 3 released, 4 expired; 20 external.refunded and 29 call.reversed, which
 * have the id of their call. Assets: 1 USDC, 3 FREECALL. The payer is the third part of the account
 * code.
 */
const SUM_SPENDING = `
  WITH part AS (
    SELECT j.owner, (j.at AT TIME ZONE 'UTC')::date AS day,
      coalesce(CASE WHEN j.kind IN (20, 29) THEN (SELECT c.endpoint FROM ledger.journal c
        WHERE c.shard = $1 AND c.owner = j.owner AND c.id = j.id AND c.phase = 2) END, j.endpoint)
        AS endpoint,
      count(*) FILTER (WHERE j.kind = 2 AND j.asset = 1) AS calls,
      sum(j.amount) FILTER (WHERE j.kind = 2 AND j.asset = 1) AS charged,
      count(*) FILTER (WHERE j.kind = 2 AND j.asset = 3) AS free_calls,
      count(*) FILTER (WHERE j.kind IN (3, 4)) AS failed,
      sum(j.rest) FILTER (WHERE j.kind IN (3, 4) AND j.asset = 1) AS released,
      sum((SELECT sum(u.amount) FROM unnest(j.accounts, j.amounts) u(account, amount)
        WHERE u.account = j.owner)) FILTER (WHERE j.kind IN (20, 29)) AS refunded
    FROM ledger.journal j
    WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.kind IN (2, 3, 4, 20, 29)
    GROUP BY 1, 2, 3
  )
  SELECT split_part(a.code, ':', 3) AS payer, p.day::text, p.endpoint, sum(p.calls)::text AS calls,
    coalesce(sum(p.charged), 0)::text AS charged,
    coalesce(sum(p.free_calls), 0)::text AS "freeCalls",
    sum(p.failed)::text AS failed, coalesce(sum(p.released), 0)::text AS released,
    coalesce(sum(p.refunded), 0)::text AS refunded
  FROM part p
  JOIN ledger.account a ON a.id = p.owner AND a.code ~ '^liabilities:(agents|free-calls):'
  GROUP BY 1, 2, 3`

const ADD_SPENDING = `
  INSERT INTO hub.spending AS s
  SELECT * FROM unnest($1::text[], $2::date[], $3::integer[], $4::bigint[], $5::bigint[],
    $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) ORDER BY 1, 2, 3
  ON CONFLICT (payer, day, endpoint) DO UPDATE SET calls = s.calls + excluded.calls,
    charged = s.charged + excluded.charged, free_calls = s.free_calls + excluded.free_calls,
    failed = s.failed + excluded.failed, released = s.released + excluded.released,
    refunded = s.refunded + excluded.refunded`

const SPENDING_COLUMNS = [
  'payer',
  'day',
  'endpoint',
  'calls',
  'charged',
  'freeCalls',
  'failed',
  'released',
  'refunded',
] as const
type SpendingRow = Readonly<Record<(typeof SPENDING_COLUMNS)[number], string | number>>

/** Aggregates credits spent per key, and free calls per principal, by day and endpoint. */
export const spendingSubscriber: Subscriber = {
  name: 'spending',
  tables: ['hub.spending'],
  async handle(client, { shard, from, to }) {
    const read = { name: 'spending.sum', text: SUM_SPENDING, values: [shard, from, to] }
    const { rows } = await client.query<SpendingRow>(read)
    if (rows.length === 0) return
    const values = columns(rows, SPENDING_COLUMNS)
    await client.query({ name: 'spending.add', text: ADD_SPENDING, values })
  },
}

export interface SpendingRange {
  /** First and last UTC day, `2026-11-01`. */
  readonly from: string
  readonly to: string
  readonly by: 'day' | 'service'
}

/** Reads the spending of a key by day or service; free calls are those of the principal. */
export async function readSpending(
  pool: Pool,
  credits: Account,
  { from, to, by }: SpendingRange,
): Promise<readonly SpendingTotals[]> {
  const { rows } = await pool.query<SpendingTotals>(
    `SELECT CASE $4 WHEN 'day' THEN s.day::text ELSE coalesce(e.service, '') END AS "groupKey",
       sum(s.calls)::bigint AS calls, sum(s.charged)::bigint AS charged,
       sum(s.free_calls)::bigint AS "freeCalls", sum(s.failed)::bigint AS failed,
       sum(s.released)::bigint AS released, sum(s.refunded)::bigint AS refunded
     FROM hub.spending s LEFT JOIN hub.endpoint e ON e.id = s.endpoint
     WHERE s.payer IN (split_part($1, ':', 3),
         (SELECT k.principal FROM hub.api_key k WHERE k.id = split_part($1, ':', 3)))
       AND s.day BETWEEN $2 AND $3
     GROUP BY 1 ORDER BY 1`,
    [credits, from, to, by],
  )
  return rows
}
