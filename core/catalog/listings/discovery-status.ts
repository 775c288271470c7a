import type { Pool } from 'pg'
import { type DiscoverySource, listSources } from './discovery/sources.ts'

/** State of discovery and probes, for operators. */
export interface DiscoveryStatus {
  readonly sources: readonly DiscoverySource[]
  /** Listings by state and reason. */
  readonly listings: readonly {
    readonly state: string
    readonly reason: string | null
    readonly count: number
  }[]
  /** Refused rows by source and reason. */
  readonly refused: readonly {
    readonly source: string
    readonly reason: string
    readonly count: number
  }[]
  /** Listings whose probe is due. */
  readonly due: number
  readonly probedToday: number
}

export async function readDiscoveryStatus(pool: Pool): Promise<DiscoveryStatus> {
  const [sources, listings, refused, counts] = await Promise.all([
    listSources(pool),
    pool.query<DiscoveryStatus['listings'][number]>(
      `SELECT state, reason, count(*)::integer AS count FROM hub.listing
       GROUP BY 1, 2 ORDER BY 1, 3 DESC`,
    ),
    pool.query<DiscoveryStatus['refused'][number]>(
      `SELECT source, reason, count(*)::integer AS count FROM hub.listing_source
       WHERE listing IS NULL AND NOT gone GROUP BY 1, 2 ORDER BY 1, 3 DESC LIMIT 100`,
    ),
    pool.query<{ due: number; probedToday: number }>(
      `SELECT count(*) FILTER (WHERE next_probe_at <= now())::integer AS due,
         (SELECT coalesce(sum(probes), 0)::integer FROM hub.listing_day
          WHERE day = (now() AT TIME ZONE 'UTC')::date) AS "probedToday" FROM hub.listing`,
    ),
  ])
  return { sources, listings: listings.rows, refused: refused.rows, ...counts.rows[0]! }
}

/** Makes one or all sources due for the next run of the job. @returns their names */
export async function scheduleReading(pool: Pool, source: string | undefined): Promise<string[]> {
  const { rows } = await pool.query<{ source: string }>(
    `UPDATE hub.discovery SET next_at = now() WHERE $1::text IS NULL OR source = $1
     RETURNING source`,
    [source ?? null],
  )
  return rows.map((row) => row.source).sort()
}

/** Makes the listings of one or all hosts due for a probe. @returns their number */
export async function scheduleProbes(pool: Pool, host: string | undefined): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE hub.listing SET next_probe_at = now() WHERE id IN (
       SELECT id FROM hub.listing WHERE next_probe_at > now() AND ($1::text IS NULL OR host = $1)
       ORDER BY id FOR NO KEY UPDATE)`,
    [host ?? null],
  )
  return rowCount ?? 0
}
