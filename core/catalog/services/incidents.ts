import type { Pool } from 'pg'

/** Days in a row on which a service was below 95 % up, or a pause of payments to sellers. */
export interface Incident {
  /** Stable while its first day is among the last days. */
  readonly id: string
  /** Slug of the service; null for a pause of payments to external sellers. */
  readonly slug: string | null
  readonly name: string | null
  readonly startedAt: Date
  /** End of its last day, known after a day without failures, or of the pause; null before. */
  readonly endedAt: Date | null
  /** Uptime of the worst day, in percent; null for a pause. */
  readonly uptime: number | null
  readonly calls: number
  readonly failed: number
}

export const INCIDENT_DAYS = 90
/** Days with fewer failed calls are no incident. */
const FAILED_MIN = 3
const UPTIME_MIN = 95
const INCIDENTS_MAX = 50

/** Lists the incidents of the last days, newest first. */
export async function listIncidents(pool: Pool): Promise<readonly Incident[]> {
  const { rows } = await pool.query<Incident>(
    `WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day),
     bad AS (
       SELECT d.service, d.day, d.calls, d.calls - d.up AS failed, hub.uptime(ARRAY[d]) AS uptime,
         d.day - (row_number() OVER (PARTITION BY d.service ORDER BY d.day))::integer AS run
       FROM hub.service_day d, today
       WHERE d.day > today.day - $1::integer AND d.calls - d.up >= $2 AND hub.uptime(ARRAY[d]) < $3
     ), switched AS (
       SELECT id, paused, at, lag(paused) OVER (ORDER BY id) AS was FROM hub.outgoing_switch
     )
     SELECT b.service || '-' || min(b.day) AS id, b.service AS slug, s.name,
       min(b.day)::timestamp AT TIME ZONE 'UTC' AS "startedAt",
       CASE WHEN max(b.day) < today.day - 1
         THEN (max(b.day) + 1)::timestamp AT TIME ZONE 'UTC' END AS "endedAt",
       round(min(b.uptime)::numeric, 2)::float8 AS uptime,
       sum(b.calls)::integer AS calls, sum(b.failed)::integer AS failed
     FROM bad b JOIN hub.service s ON s.slug = b.service AND s.state = 'active' CROSS JOIN today
     GROUP BY b.service, s.name, b.run, today.day
     UNION ALL
     SELECT 'payments-' || p.id, NULL, NULL, p.at,
       (SELECT min(n.at) FROM switched n WHERE n.id > p.id AND NOT n.paused), NULL, 0, 0
     FROM switched p, today
     WHERE p.paused AND p.was IS DISTINCT FROM true AND p.at > today.day - $1::integer
     ORDER BY "startedAt" DESC, id LIMIT $4`,
    [INCIDENT_DAYS, FAILED_MIN, UPTIME_MIN, INCIDENTS_MAX],
  )
  return rows
}
