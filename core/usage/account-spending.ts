import type { Pool } from 'pg'

/** Spending in one period of days, on one service or by one key. */
export interface PeriodSpending {
  /** First UTC day of the period. */
  readonly day: string
  /** Service, '' outside the catalog; or name or id of a main key, '' for free calls. */
  readonly name: string
  /** Delivered calls, paid or free. */
  readonly calls: bigint
  readonly failed: bigint
  /** Microdollars less refunds of that period; may be negative. */
  readonly spent: bigint
}

/** Spending of all keys of an account in a range of days. */
export interface AccountSpending {
  readonly byService: readonly PeriodSpending[]
  readonly byMainKey: readonly PeriodSpending[]
  /** Microdollars spent in as many days before. */
  readonly before: bigint
  /** Microdollars spent since `recentFrom`. */
  readonly recent: bigint
}

/** Range of UTC days such as `2026-11-01`. */
export interface AccountSpendingQuery {
  readonly from: string
  readonly to: string
  /** Days per period. */
  readonly step: number
  /** Within the range. */
  readonly recentFrom: string
}

interface SpendingRow extends Omit<PeriodSpending, 'day'> {
  /** Null before the range. */
  readonly day: string | null
  readonly isService: boolean
  readonly recent: bigint
}

/** Adds up days before it joins names and groups by each of them. */
const SPENDING_SQL = `
  SELECT ($2::date + g.n * $4::integer)::text AS day, g.service IS NOT NULL AS "isService",
    coalesce(g.service, g.key) AS name, g.calls, g.failed, g.spent, g.recent
  FROM (SELECT w.n, w.service, w.key, sum(w.calls)::bigint AS calls,
      sum(w.failed)::bigint AS failed, sum(w.spent)::bigint AS spent,
      sum(w.recent)::bigint AS recent
    FROM (SELECT s.*, coalesce(e.service, '') AS service, coalesce(k.name, k.id, '') AS key
      FROM (SELECT s.payer, s.endpoint,
          CASE WHEN s.day >= $2::date THEN (s.day - $2::date) / $4::integer END AS n,
          sum(s.calls + s.free_calls) AS calls, sum(s.failed) AS failed,
          sum(s.charged - s.refunded) AS spent,
          coalesce(sum(s.charged - s.refunded) FILTER (WHERE s.day >= $5::date), 0) AS recent
        FROM hub.spending s
        WHERE s.payer IN (SELECT unnest($1::text[]) UNION ALL
            SELECT k.id FROM hub.api_key k WHERE k.principal = ANY ($1) AND k.parent IS NULL)
          AND s.day BETWEEN $2::date - ($3::date - $2::date + 1) AND $3::date
        GROUP BY 1, 2, 3) s
      LEFT JOIN hub.endpoint e ON e.id = s.endpoint
      LEFT JOIN hub.api_key k ON k.id = s.payer) w
    GROUP BY GROUPING SETS ((w.n, w.service), (w.n, w.key))) g
  ORDER BY g.n, name`

/** Reads the spending of principals by service and by main key, and period. */
export async function readAccountSpending(
  pool: Pool,
  principals: readonly string[],
  { from, to, step, recentFrom }: AccountSpendingQuery,
): Promise<AccountSpending> {
  const values = [principals, from, to, step, recentFrom]
  const { rows } = await pool.query<SpendingRow>(SPENDING_SQL, values)
  const byService = rows.filter(({ isService }) => isService)
  const sum = (of: (row: SpendingRow) => bigint) =>
    byService.reduce((total, row) => total + of(row), 0n)
  return {
    byService: inRange(byService),
    byMainKey: inRange(rows.filter(({ isService }) => !isService)),
    before: sum(({ day, spent }) => (day === null ? spent : 0n)),
    recent: sum(({ recent }) => recent),
  }
}

const inRange = (rows: readonly SpendingRow[]): readonly PeriodSpending[] =>
  rows.flatMap(({ day, name, calls, failed, spent }) =>
    day === null ? [] : [{ day, name, calls, failed, spent }],
  )
