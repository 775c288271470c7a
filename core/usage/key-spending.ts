import type { Pool } from 'pg'

/** Newest calls that are read, also those without a charge: reading more would take too long. */
export const SUMMED_CALLS_MAX = 5_000

export interface KeySpending {
  /** Microdollars of credits by UTC day, before refunds. */
  readonly byDay: ReadonlyMap<string, bigint>
  /** True if only the newest calls were summed. */
  readonly isCut: boolean
}

/** Sums what the calls of one key took from the credits of its main key, since a UTC day. */
export async function readKeySpending(
  pool: Pool,
  keyId: string,
  from: string,
): Promise<KeySpending> {
  const { rows } = await pool.query<{ day: string; spent: bigint; calls: bigint }>(
    `SELECT d.day::text AS day, d.calls, d.spent FROM (
       SELECT (c.at AT TIME ZONE 'UTC')::date AS day, count(*) AS calls,
         coalesce(sum(c.charged) FILTER (WHERE c.source = 'credits'), 0)::bigint AS spent
       FROM (SELECT k.at, k.charged, k.source FROM hub.call k
         WHERE k.key_id = $1 AND k.at >= $2::date::timestamp AT TIME ZONE 'UTC'
         ORDER BY k.at DESC LIMIT $3) c GROUP BY 1) d`,
    [keyId, from, SUMMED_CALLS_MAX],
  )
  const calls = rows.reduce((sum, each) => sum + Number(each.calls), 0)
  return {
    byDay: new Map(rows.map(({ day, spent }) => [day, spent])),
    isCut: calls === SUMMED_CALLS_MAX,
  }
}
