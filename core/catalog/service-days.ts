import type { Pool } from 'pg'

/** How a service did on a UTC day, by the calls that were made. */
export interface ServiceDay {
  /** `2026-11-21` */
  readonly day: string
  readonly calls: number
  /** Calls that did not fail on the service's side, in per cent; null without calls. */
  readonly uptime: number | null
  /** Median of what was delivered, in milliseconds. */
  readonly latency: number | null
}

/** The last days of a service, the oldest first; days without a call too. */
export async function serviceDays(pool: Pool, slug: string, days = 30): Promise<ServiceDay[]> {
  const { rows } = await pool.query<ServiceDay>(
    `WITH told AS (
       SELECT (at AT TIME ZONE 'UTC')::date AS day, count(*)::integer AS calls,
         round(100.0 * count(*) FILTER (WHERE status < 500) / count(*), 2)::float8 AS uptime,
         percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)
           FILTER (WHERE outcome = 'delivered') AS latency
       FROM hub.call
       WHERE service = $1 AND at >= (now() AT TIME ZONE 'UTC')::date - ($2::integer - 1)
       GROUP BY 1)
     SELECT to_char(d.day, 'YYYY-MM-DD') AS day, coalesce(t.calls, 0) AS calls, t.uptime, t.latency
     FROM (SELECT ((now() AT TIME ZONE 'UTC')::date - i) AS day
       FROM generate_series(0, $2::integer - 1) AS i) d
     LEFT JOIN told t USING (day) ORDER BY d.day`,
    [slug, days],
  )
  return rows
}
