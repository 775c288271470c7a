import type { Pool } from 'pg'

/** What there is to say of the whole hub. */
export interface HubFigures {
  readonly services: number
  /** Listings of others that answer. */
  readonly listings: number
  /** Of the last 30 UTC days: calls that were delivered … */
  readonly calls: number
  /** … what a call took on average, in milliseconds, null without calls … */
  readonly latency: number | null
  /** … and calls whose money went back. */
  readonly refunded: number
}

export async function hubFigures(pool: Pool): Promise<HubFigures> {
  const { rows } = await pool.query<HubFigures>(
    `SELECT (SELECT count(*)::integer FROM hub.service WHERE state = 'active') AS services,
       (SELECT count(*)::integer FROM hub.listing
         WHERE state IN ('active', 'degraded')) AS listings,
       c.calls, c.latency, c.refunded
     FROM (SELECT coalesce(sum(delivered), 0)::integer AS calls,
         round(sum(latency_ms) / nullif(sum(calls), 0))::integer AS latency,
         coalesce(sum(failed), 0)::integer AS refunded
       FROM hub.service_day WHERE day > (now() AT TIME ZONE 'UTC')::date - 30) c`,
  )
  return rows[0]!
}

/** How the services of the hub do on the UTC day that it is. */
export interface HubToday {
  /** Services that were called … */
  readonly called: number
  /** … and those of them with which more than one call in twenty failed, on their side. */
  readonly troubled: number
}

export async function hubToday(pool: Pool): Promise<HubToday> {
  const { rows } = await pool.query<HubToday>(
    `SELECT count(*)::integer AS called,
       count(*) FILTER (WHERE 20 * d.up < 19 * d.calls)::integer AS troubled
     FROM hub.service_day d JOIN hub.service s ON s.slug = d.service AND s.state = 'active'
     WHERE d.day = (now() AT TIME ZONE 'UTC')::date AND d.calls > 0`,
  )
  return rows[0]!
}
