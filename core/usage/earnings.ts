import type { Pool, PoolClient } from 'pg'
import { columns } from '../db/columns.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import type { Subscriber } from '../ledger/outbox/subscriber.ts'
import type { SpendingRange } from './spending.ts'

/**
 * Entry kinds: 2 settled, 18 sold, 29 and 43 reversed, 44 rounding of commission.
 * Accounts: 1 commission, 9 receivables from providers, which include the provider's part of a
 * refund after a payout. `rounding` is what was not charged because commission is rounded down.
 */
const SUM_EARNINGS = `
  WITH entry AS MATERIALIZED (
    SELECT j.id, j.owner, j.payee, j.kind, j.amount, j.fee, j.bps, j.accounts, j.amounts,
      (j.at AT TIME ZONE 'UTC')::date AS day, j.at >= $4 AS rounds,
      (j.meta ->> 'bps')::integer AS sale_bps
    FROM ledger.journal j
    WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.kind IN (2, 18, 29, 43, 44)
  ), part AS (
    SELECT e.payee AS account, e.day, count(*) AS calls, sum(e.amount) AS gross,
        sum(e.fee) AS commission, 0 AS refunded,
        coalesce(sum(e.amount % 10000 * e.bps % 10000) FILTER (WHERE e.rounds), 0) AS rounding
      FROM entry e WHERE e.kind = 2 AND e.amount > 0 GROUP BY 1, 2
    UNION ALL
    SELECT u.account, e.day, 1, u.amount + f.fee, f.fee, 0,
        CASE WHEN e.rounds THEN (u.amount + f.fee) % 10000 * coalesce(e.sale_bps, 0) % 10000
          ELSE 0 END
      FROM entry e
      CROSS JOIN LATERAL unnest(e.accounts, e.amounts) u(account, amount)
      CROSS JOIN LATERAL (SELECT coalesce(sum(l.amount), 0)::bigint AS fee
        FROM unnest(e.accounts, e.amounts) l(account, amount) WHERE l.account = 1) f
      WHERE e.kind = 18 AND u.amount > 0 AND u.account <> 1
    UNION ALL
    SELECT c.payee, e.day, 0, 0, 0, -u.amount, 0 FROM entry e
      JOIN ledger.journal c ON c.shard = $1 AND c.owner = e.owner AND c.id = e.id AND c.phase = 2
      CROSS JOIN LATERAL unnest(e.accounts, e.amounts) u(account, amount)
      WHERE e.kind = 29 AND u.account IN (c.payee, 9)
    UNION ALL
    SELECT e.owner, e.day, 0, 0, 0, -u.amount, 0 FROM entry e
      CROSS JOIN LATERAL unnest(e.accounts, e.amounts) u(account, amount)
      WHERE e.kind = 43 AND u.account IN (e.owner, 9)
    UNION ALL
    SELECT c.account, e.day, 0, 0, 0, 0, 10000 * f.fee - f.price::numeric * c.bps FROM entry e
      JOIN LATERAL (
        SELECT j.payee AS account, j.bps FROM ledger.journal j
          WHERE e.kind = 29 AND j.shard = $1 AND j.owner = e.owner AND j.id = e.id AND j.phase = 2
            AND j.at >= $4
        UNION ALL
        SELECT j.owner, (j.meta ->> 'bps')::integer FROM ledger.journal j
          WHERE e.kind = 43 AND j.shard = $1 AND j.owner = e.owner AND j.id = e.id AND j.phase = 0
            AND j.at >= $4
      ) c ON c.bps > 0
      CROSS JOIN LATERAL (SELECT sum(u.amount) FILTER (WHERE u.amount > 0) AS price,
          coalesce(-sum(u.amount) FILTER (WHERE u.account = 1), 0) AS fee
        FROM unnest(e.accounts, e.amounts) u(account, amount)) f
      WHERE e.kind IN (29, 43)
    UNION ALL
    SELECT e.owner, e.day, 0, 0, e.amounts[2], 0, 0 FROM entry e WHERE e.kind = 44
  )
  SELECT p.account::text, p.day::text, sum(p.calls)::text AS calls, sum(p.gross)::text AS gross,
    sum(p.commission)::text AS commission, sum(p.refunded)::text AS refunded,
    sum(p.rounding)::text AS rounding
  FROM part p JOIN ledger.account a ON a.id = p.account AND a.code LIKE 'liabilities:providers:%'
  GROUP BY 1, 2`

const ADD_EARNINGS = `
  INSERT INTO hub.earning AS s
  SELECT * FROM unnest($1::bigint[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[],
    $6::bigint[], $7::bigint[]) ORDER BY 1, 2
  ON CONFLICT (account, day) DO UPDATE SET calls = s.calls + excluded.calls,
    gross = s.gross + excluded.gross, commission = s.commission + excluded.commission,
    refunded = s.refunded + excluded.refunded, rounding = s.rounding + excluded.rounding`

const EARNING_COLUMNS = [
  'account',
  'day',
  'calls',
  'gross',
  'commission',
  'refunded',
  'rounding',
] as const
type EarningRow = Readonly<Record<(typeof EARNING_COLUMNS)[number], string>>

/** First instant with rounding, by connection: it never changes. */
const roundingSince = new WeakMap<PoolClient, string>()

async function readRoundingSince(client: PoolClient): Promise<string> {
  const known = roundingSince.get(client)
  if (known !== undefined) return known
  const { rows } = await client.query<{ at: string }>(
    'SELECT since::text AS at FROM hub.commission_rounding',
  )
  const { at } = rows[0]!
  roundingSince.set(client, at)
  return at
}

/** Aggregates earnings of providers by service and UTC day. */
export const earningsSubscriber: Subscriber = {
  name: 'earnings',
  tables: ['hub.earning'],
  async handle(client, { shard, from, to }) {
    const since = await readRoundingSince(client)
    const { rows } = await client.query<EarningRow>({
      name: 'earnings.sum',
      text: SUM_EARNINGS,
      values: [shard, from, to, since],
    })
    if (rows.length === 0) return
    const values = columns(rows, EARNING_COLUMNS)
    await client.query({ name: 'earnings.add', text: ADD_EARNINGS, values })
  },
}

/** Totals by the journal, in microdollars. Net earnings are gross - commission - refunded. */
export interface EarningTotals {
  /** UTC day (`2026-11-21`) or service slug; null for the total over the range. */
  readonly groupKey: string | null
  readonly calls: bigint
  readonly gross: bigint
  readonly commission: bigint
  readonly refunded: bigint
}

export interface EarningsQuery extends SpendingRange {
  readonly owner: KeyManager
  /** Slug; undefined: all services. */
  readonly service: string | undefined
}

/** Earnings `s` on the accounts `a` of the owner $1 and the service $2, from $3 to $4. */
const IN_RANGE = `ledger.account a JOIN hub.earning s ON s.account = a.id
  WHERE a.code LIKE 'liabilities:providers:%'
    AND split_part(a.code, ':', 3) = ANY (ARRAY(SELECT id FROM hub.provider WHERE owner = ANY ($1)))
    AND ($2::text IS NULL OR split_part(a.code, ':', 4) = $2) AND s.day BETWEEN $3 AND $4`

/** Reads earnings of an owner in a range of days, by day or service, and their total. */
export async function readEarnings(
  pool: Pool,
  range: EarningsQuery,
): Promise<readonly EarningTotals[]> {
  const { owner, service, from, to, by } = range
  const { rows } = await pool.query<EarningTotals>({
    name: 'earnings.totals',
    text: `SELECT e.group_key AS "groupKey", coalesce(sum(e.calls), 0)::bigint AS calls,
       coalesce(sum(e.gross), 0)::bigint AS gross,
       coalesce(sum(e.commission), 0)::bigint AS commission,
       coalesce(sum(e.refunded), 0)::bigint AS refunded
     FROM (
       SELECT CASE $5 WHEN 'day' THEN s.day::text ELSE split_part(a.code, ':', 4) END
           AS group_key, s.*
       FROM ${IN_RANGE}) e
     GROUP BY GROUPING SETS ((e.group_key), ()) ORDER BY e.group_key NULLS LAST`,
    values: [owner, service ?? null, from, to, by],
  })
  return rows
}

/** Earnings of one service in a period of days. */
export interface ServiceEarnings {
  /** First UTC day of the period. */
  readonly day: string
  readonly service: string
  /** Microdollars after commission and refunds; may be negative. */
  readonly earned: bigint
}

export interface ServiceEarningsQuery extends Omit<EarningsQuery, 'by'> {
  /** Days per period. */
  readonly step: number
  /** First day: those before `from` are one period, whatever its length. */
  readonly since: string
}

/** Reads earnings of an owner by service and period. */
export async function readServiceEarnings(
  pool: Pool,
  { owner, service, since, from, to, step }: ServiceEarningsQuery,
): Promise<readonly ServiceEarnings[]> {
  const { rows } = await pool.query<ServiceEarnings>({
    name: 'earnings.by-service',
    text: `SELECT ($5::date + e.n * $6::integer)::text AS day, e.service, e.earned
     FROM (SELECT CASE WHEN s.day < $5 THEN -1 ELSE (s.day - $5::date) / $6::integer END AS n,
         split_part(a.code, ':', 4) AS service,
         sum(s.gross - s.commission - s.refunded)::bigint AS earned
       FROM ${IN_RANGE} GROUP BY 1, 2) e ORDER BY e.n, e.service`,
    values: [owner, service ?? null, since, to, from, step],
  })
  return rows
}
