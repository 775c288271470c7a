import type { Pool } from 'pg'
import { LATENCY_TEXT, LatencySum, type LatencyText, slowestOf } from '../../usage/latencies.ts'

/** How a service did on a UTC day, by the calls that were made. */
export interface ServiceDay {
  /** `2026-11-21` */
  readonly day: string
  readonly calls: number
  /** Calls that did not fail on the service's side, in per cent; null without calls. */
  readonly uptime: number | null
  /** Median of what was delivered, in milliseconds: at most 3.2 per cent more than it was. */
  readonly latency: number | null
}

/** The last UTC days up to today. */
const lastDays = (days: string): string => `(SELECT (now() AT TIME ZONE 'UTC')::date - i AS day
  FROM generate_series(0, ${days}::integer - 1) AS i)`

/** The last days of a service, the oldest first; days without a call too. */
export async function serviceDays(pool: Pool, slug: string, days = 30): Promise<ServiceDay[]> {
  const { rows } = await pool.query<Omit<ServiceDay, 'latency'> & LatencyText>(
    `SELECT to_char(d.day, 'YYYY-MM-DD') AS day, coalesce(s.calls, 0)::integer AS calls,
       round(100.0 * s.up / nullif(s.calls, 0), 2)::float8 AS uptime, ${LATENCY_TEXT}
     FROM ${lastDays('$2')} d LEFT JOIN hub.service_day s ON s.service = $1 AND s.day = d.day
     LEFT JOIN hub.outcome_day o ON o.service = $1 AND o.day = d.day AND o.outcome = 'delivered'
     ORDER BY d.day`,
    [slug, days],
  )
  return [...Map.groupBy(rows, ({ day }) => day).values()].map((endpoints) => {
    const latencies = new LatencySum()
    for (const each of endpoints) latencies.add(each)
    const { day, calls, uptime } = endpoints[0]!
    return { day, calls, uptime, latency: slowestOf(latencies.sorted(), 0.5) }
  })
}

/** The same of several services, without latencies: by slug. */
export async function uptimeDays(
  pool: Pool,
  slugs: readonly string[],
  days = 30,
): Promise<ReadonlyMap<string, readonly ServiceDay[]>> {
  const { rows } = await pool.query<ServiceDay & { slug: string }>(
    `SELECT n.slug, to_char(d.day, 'YYYY-MM-DD') AS day, coalesce(s.calls, 0)::integer AS calls,
       round(100.0 * s.up / nullif(s.calls, 0), 2)::float8 AS uptime, NULL AS latency
     FROM unnest($1::text[]) n(slug) CROSS JOIN ${lastDays('$2')} d
     LEFT JOIN hub.service_day s ON s.service = n.slug AND s.day = d.day ORDER BY d.day`,
    [slugs, days],
  )
  return Map.groupBy(rows, ({ slug }) => slug)
}
