import type { Pool } from 'pg'

/** What there is to say of the whole hub. */
export interface HubFigures {
  readonly services: number
  /** Listings of others that answer. */
  readonly listings: number
  /** Of the last 30 days: calls that were delivered … */
  readonly calls: number
  /** … the median of the time that they took, in milliseconds, null without calls … */
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
     FROM (SELECT count(*) FILTER (WHERE outcome = 'delivered')::integer AS calls,
         percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)
           FILTER (WHERE outcome = 'delivered') AS latency,
         count(*) FILTER (WHERE outcome = 'failed')::integer AS refunded
       FROM hub.call WHERE at > now() - interval '30 days') c`,
  )
  return rows[0]!
}
