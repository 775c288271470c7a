import type { Pool } from 'pg'

/** Services and recent calls that a suspension stops. */
export interface SuspensionImpact {
  /** Services on sale that would stop. */
  readonly services: number
  readonly calls: bigint
  /** Principals that called. */
  readonly callers: bigint
  /** Microdollars that callers paid. */
  readonly charged: bigint
}

export const IMPACT_DAYS = 7

/** Reads what stops if a service, or all services of its provider, are suspended. */
export async function readSuspensionImpact(
  pool: Pool,
  slug: string,
): Promise<{ readonly service: SuspensionImpact; readonly provider: SuspensionImpact }> {
  const { rows } = await pool.query<SuspensionImpact>(
    `SELECT count(DISTINCT s.slug)::integer AS services, coalesce(sum(c.calls), 0)::bigint AS calls,
       count(DISTINCT c.principal) AS callers, coalesce(sum(c.charged), 0)::bigint AS charged
     FROM (VALUES (1), (2)) scope (n)
     LEFT JOIN hub.service s ON s.state = 'active' AND s.suspended_at IS NULL
       AND CASE scope.n WHEN 1 THEN s.slug = $1
         ELSE s.provider = (SELECT provider FROM hub.service WHERE slug = $1) END
     LEFT JOIN hub.caller_day c ON c.service = s.slug
       AND c.day > (now() AT TIME ZONE 'UTC')::date - ${IMPACT_DAYS}
     GROUP BY scope.n ORDER BY scope.n`,
    [slug],
  )
  const [service, provider] = rows
  return { service: service!, provider: provider! }
}
