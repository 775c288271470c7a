import type { Pool } from 'pg'

/** Newest calls among which failures are looked for: reading more would take too long. */
export const SEARCHED_CALLS = 5_000

/** Failed call, as shown to the provider. Inputs are not stored. */
export interface FailedCall {
  readonly at: Date
  /** Null if the endpoint was deleted. */
  readonly endpoint: string | null
  /** Status that the caller got. */
  readonly status: number
  readonly reason: string | null
  readonly latencyMs: number
}

/** Reads the newest failed calls of a service, among its newest calls. */
export async function readRecentFailures(
  pool: Pool,
  service: string,
  limit: number,
): Promise<readonly FailedCall[]> {
  const { rows } = await pool.query<FailedCall>(
    `SELECT f.at, e.method || ' ' || e.path AS endpoint, f.status, f.reason,
       f.latency_ms AS "latencyMs"
     FROM (SELECT * FROM (SELECT at, endpoint, status, reason, latency_ms, outcome
         FROM hub.call WHERE service = $1 ORDER BY at DESC LIMIT ${SEARCHED_CALLS}) c
       WHERE outcome = 'failed' ORDER BY at DESC LIMIT $2) f
     LEFT JOIN hub.endpoint e ON e.id = f.endpoint ORDER BY f.at DESC`,
    [service, limit],
  )
  return rows
}
