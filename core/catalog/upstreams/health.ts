import type { Pool } from 'pg'
import type { Health } from '../../plugin/upstreams.ts'

/** Result of the last health check of an upstream. */
export interface UpstreamHealth {
  /** Null before the first check. */
  readonly up: boolean | null
  readonly since: Date
  readonly checkedAt: Date | null
  readonly latencyMs: number | null
  readonly detail: string | null
}

const CHECK_INTERVAL_SECONDS = 300
const BATCH = 20

export async function readUpstreamHealth(
  pool: Pool,
  slug: string,
): Promise<UpstreamHealth | undefined> {
  const { rows } = await pool.query<UpstreamHealth>(
    `SELECT up, since, checked_at AS "checkedAt", latency_ms AS "latencyMs", detail
     FROM hub.upstream_health WHERE service = $1`,
    [slug],
  )
  return rows[0]
}

/** Claims upstreams whose check is due, so that other processes skip them. @returns their slugs */
export async function claimDueChecks(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ service: string }>(
    `UPDATE hub.upstream_health SET next_at = now() + interval '${CHECK_INTERVAL_SECONDS} seconds'
     WHERE service IN (SELECT h.service FROM hub.upstream_health h
       JOIN hub.upstream u ON u.slug = h.service AND u.state = 'active'
       WHERE h.next_at <= now() ORDER BY h.next_at LIMIT ${BATCH} FOR UPDATE OF h SKIP LOCKED)
     RETURNING service`,
  )
  return rows.map(({ service }) => service)
}

export async function recordHealth(
  pool: Pool,
  slug: string,
  { up, latencyMs, detail }: Health,
): Promise<void> {
  await pool.query(
    `UPDATE hub.upstream_health SET up = $2, latency_ms = $3, detail = left($4, 100),
       checked_at = now(), since = CASE WHEN up IS DISTINCT FROM $2 THEN now() ELSE since END,
       failures = CASE WHEN $2 THEN 0 ELSE failures + 1 END
     WHERE service = $1`,
    [slug, up, latencyMs, detail],
  )
}
