import type { Pool } from 'pg'
import {
  LATENCY_COLUMNS,
  LatencyHistogram,
  type LatencyRow,
  percentile,
} from '../../usage/latencies.ts'

/** Figures of a service on one UTC day, from its calls. */
export interface ServiceDay {
  /** `2026-11-21` */
  readonly day: string
  readonly calls: number
  /** Percentage of calls without a failure of the service, by caller; null without calls. */
  readonly uptime: number | null
  readonly latency: LatencyPercentiles
}

/** Figures of one UTC day without latencies. */
export type UptimeDay = Omit<ServiceDay, 'latency'>

/** Latency percentiles of delivered calls, in ms; at most 3.2 % above the exact values. */
export type LatencyPercentiles = Readonly<Record<'p50' | 'p95' | 'p99', number | null>>

const percentilesOf = (latencies: LatencyHistogram): LatencyPercentiles => {
  const sorted = latencies.sorted()
  return {
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
  }
}

/** Returns the percentiles of each endpoint over the last 30 days, by `METHOD /path`. */
export async function readEndpointLatencies(
  pool: Pool,
  slug: string,
): Promise<ReadonlyMap<string, LatencyPercentiles>> {
  const { rows } = await pool.query<LatencyRow & { readonly route: string }>({
    name: 'service-days.endpoint-latencies',
    text: `SELECT e.method || ' ' || e.path AS route, ${LATENCY_COLUMNS}
     FROM hub.outcome_day o JOIN hub.endpoint e ON e.id = o.endpoint
     WHERE o.service = $1 AND o.outcome = 'delivered'
       AND o.day > (now() AT TIME ZONE 'UTC')::date - 30`,
    values: [slug],
  })
  const byRoute = Map.groupBy(rows, ({ route }) => route)
  return new Map(
    [...byRoute].map(([route, all]) => {
      const latencies = new LatencyHistogram()
      for (const each of all) latencies.add(each)
      return [route, percentilesOf(latencies)]
    }),
  )
}

/** SQL for the last UTC days up to today. */
const lastDays = (days: string): string => `(SELECT (now() AT TIME ZONE 'UTC')::date - i AS day
  FROM generate_series(0, ${days}::integer - 1) AS i)`

/**
 * Returns the last days of a service, oldest first, including days without calls.
 * @param endpoint `METHOD /path` whose latency they have. @defaultValue all endpoints
 */
export async function readServiceDays(
  pool: Pool,
  slug: string,
  days: number,
  endpoint?: string,
): Promise<ServiceDay[]> {
  const { rows } = await pool.query<UptimeDay & LatencyRow>(
    `SELECT to_char(d.day, 'YYYY-MM-DD') AS day, coalesce(s.calls, 0)::integer AS calls,
       round(hub.uptime(ARRAY[s])::numeric, 2)::float8 AS uptime, ${LATENCY_COLUMNS}
     FROM ${lastDays('$2')} d LEFT JOIN hub.service_day s ON s.service = $1 AND s.day = d.day
     LEFT JOIN hub.outcome_day o ON o.service = $1 AND o.day = d.day AND o.outcome = 'delivered'
       AND ($3::text IS NULL OR o.endpoint IN (SELECT e.id FROM hub.endpoint e
         WHERE e.service = $1 AND e.method || ' ' || e.path = $3))
     ORDER BY d.day`,
    [slug, days, endpoint ?? null],
  )
  return [...Map.groupBy(rows, ({ day }) => day).values()].map((endpoints) => {
    const latencies = new LatencyHistogram()
    for (const each of endpoints) latencies.add(each)
    const { day, calls, uptime } = endpoints[0]!
    return { day, calls, uptime, latency: percentilesOf(latencies) }
  })
}

/** Returns the last 30 days of several services by slug, without latencies. */
export async function readUptimeDays(
  pool: Pool,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, readonly UptimeDay[]>> {
  const { rows } = await pool.query<UptimeDay & { slug: string }>(
    `SELECT n.slug, to_char(d.day, 'YYYY-MM-DD') AS day, coalesce(s.calls, 0)::integer AS calls,
       round(hub.uptime(ARRAY[s])::numeric, 2)::float8 AS uptime
     FROM unnest($1::text[]) n(slug) CROSS JOIN ${lastDays('30')} d
     LEFT JOIN hub.service_day s ON s.service = n.slug AND s.day = d.day ORDER BY d.day`,
    [slugs],
  )
  return Map.groupBy(rows, ({ slug }) => slug)
}

/** Calls of a service that failed with one error. */
export interface ServiceFailures {
  /** Code of the error. */
  readonly code: string
  /** True if the caller caused them, such as by an invalid input. */
  readonly byCaller: boolean
  readonly calls: bigint
}

const FAILURES_MAX = 20

/** Returns the most frequent errors of a service in the last days. */
export async function readServiceFailures(
  pool: Pool,
  slug: string,
  days: number,
): Promise<readonly ServiceFailures[]> {
  const { rows } = await pool.query<ServiceFailures>(
    `SELECT o.outcome AS code, o.refused AS "byCaller", sum(n)::bigint AS calls
     FROM hub.outcome_day o CROSS JOIN LATERAL unnest(o.calls) n
     WHERE o.service = $1 AND o.day > (now() AT TIME ZONE 'UTC')::date - $2::integer
       AND o.outcome NOT IN ('delivered', 'taken', 'unresolved')
     GROUP BY 1, 2 HAVING sum(n) > 0 ORDER BY 3 DESC, 1, 2 LIMIT ${FAILURES_MAX}`,
    [slug, days],
  )
  return rows
}

/** Counts the calls of a service in as many days before the last ones. */
export async function readCallsBefore(pool: Pool, slug: string, days: number): Promise<number> {
  const { rows } = await pool.query<{ calls: number }>(
    `SELECT coalesce(sum(calls), 0)::float8 AS calls FROM hub.service_day
     WHERE service = $1 AND day <= (now() AT TIME ZONE 'UTC')::date - $2::integer
       AND day > (now() AT TIME ZONE 'UTC')::date - 2 * $2::integer`,
    [slug, days],
  )
  return rows[0]!.calls
}
