import type { Pool } from 'pg'

/** Public key figures of the hub. */
export interface HubFigures {
  readonly services: number
  /** External listings that are up. */
  readonly listings: number
  /** Calls delivered in the last 30 UTC days. */
  readonly calls: number
  /** Median latency of these calls, in ms; null without calls. */
  readonly latency: number | null
  /** Calls refunded in those days. */
  readonly refunded: number
}

export async function readHubFigures(pool: Pool): Promise<HubFigures> {
  const { rows } = await pool.query<HubFigures>(
    `SELECT (SELECT count(*)::integer FROM hub.service WHERE state = 'active') AS services,
       (SELECT count(*)::integer FROM hub.listing
         WHERE state IN ('active', 'degraded')) AS listings,
       (SELECT ms FROM (SELECT u.ms, sum(sum(u.calls)) OVER (ORDER BY u.ms) AS upto,
             sum(sum(u.calls)) OVER () AS of
           FROM hub.outcome_day o CROSS JOIN LATERAL unnest(o.ms, o.calls) u(ms, calls)
           WHERE o.day > (now() AT TIME ZONE 'UTC')::date - 30 AND o.outcome = 'delivered'
           GROUP BY u.ms) m
         WHERE upto * 2 >= of ORDER BY ms LIMIT 1) AS latency,
       c.calls, c.refunded
     FROM (SELECT coalesce(sum(delivered), 0)::integer AS calls,
         coalesce(sum(failed), 0)::integer AS refunded
       FROM hub.service_day WHERE day > (now() AT TIME ZONE 'UTC')::date - 30) c`,
  )
  return rows[0]!
}

/** Health of the hub's services on the current UTC day. */
export interface ServiceHealthToday {
  /** Number of services with calls. */
  readonly called: number
  /** Those of them with an uptime below 95 %. */
  readonly troubled: number
}

export async function readServiceHealthToday(pool: Pool): Promise<ServiceHealthToday> {
  const { rows } = await pool.query<ServiceHealthToday>(
    `SELECT count(*)::integer AS called,
       count(*) FILTER (WHERE hub.uptime(ARRAY[d]) < 95)::integer AS troubled
     FROM hub.service_day d JOIN hub.service s ON s.slug = d.service AND s.state = 'active'
     WHERE d.day = (now() AT TIME ZONE 'UTC')::date AND d.calls > 0`,
  )
  return rows[0]!
}
