import type { Pool } from 'pg'
import type { CommissionRule } from '../../usage/commission.ts'

/** All that was agreed on with a provider, the newest first. */
export async function commissionHistory(
  pool: Pool,
  provider: string,
): Promise<readonly CommissionRule[]> {
  const { rows } = await pool.query<CommissionRule>(
    `SELECT provider, service, bps, effective_from AS "effectiveFrom", author, reason
     FROM hub.commission_rule WHERE provider = $1 ORDER BY effective_from DESC, id DESC LIMIT 200`,
    [provider],
  )
  return rows
}

/** A service as the operator sees it, whatever its state. */
export interface ServiceOfHouse {
  readonly slug: string
  readonly name: string
  readonly provider: string
  /** The wallet or the address of mail of who earns; null: declared by a plugin. */
  readonly owner: string | null
  readonly state: 'active' | 'unlisted' | 'retired'
  /** Of a service that was listed without code: what its owner, and the operator, made of it. */
  readonly stage: string | null
  /** Of the same: where its API is, and what an administrator approves of. */
  readonly baseUrl: string | null
  readonly revision: number | null
  readonly suspended: 'no' | 'service' | 'provider'
  readonly reason: string | null
  /** By the rule in force, else of its newest prices, in basis points; null: it has none. */
  readonly commissionBps: number | null
}

export interface OversightFilter {
  readonly limit: number
  /** The slug before the first one. */
  readonly after?: string | undefined
  readonly provider?: string | undefined
  readonly slug?: string | undefined
  /** Those alone that are stopped, or that wait for an administrator. @defaultValue all */
  readonly only?: 'all' | 'suspended' | 'pending'
}

/** Services by slug. */
export async function listServicesOfHouse(
  pool: Pool,
  { limit, after, provider, slug, only = 'all' }: OversightFilter,
): Promise<readonly ServiceOfHouse[]> {
  const { rows } = await pool.query<ServiceOfHouse>(
    `SELECT s.slug, s.name, s.provider, coalesce(h.email, o.wallet_address) AS owner, s.state,
       u.state AS stage, u.base_url AS "baseUrl", u.revision,
       CASE WHEN s.suspended_at IS NOT NULL OR u.state = 'suspended' THEN 'service'
         WHEN p.suspended_at IS NOT NULL THEN 'provider' ELSE 'no' END AS suspended,
       coalesce(s.suspended_reason, u.reason, p.suspended_reason) AS reason,
       coalesce(hub.commission_of(p.id, s.slug),
         (SELECT v.commission_bps FROM hub.endpoint e JOIN hub.price v ON v.endpoint = e.id
          WHERE e.service = s.slug AND e.state = 'active' ORDER BY v.since DESC LIMIT 1))
         AS "commissionBps"
     FROM hub.service s JOIN hub.provider p ON p.id = s.provider
     LEFT JOIN hub.upstream u ON u.slug = s.slug
     LEFT JOIN hub.principal o ON o.id = p.owner LEFT JOIN hub.person h ON h.principal = o.id
     WHERE s.slug > $1 AND ($2::text IS NULL OR s.provider = $2)
       AND CASE $3 WHEN 'all' THEN true WHEN 'pending' THEN u.state = 'pending'
         ELSE s.suspended_at IS NOT NULL OR p.suspended_at IS NOT NULL OR u.state = 'suspended' END
       AND ($5::text IS NULL OR s.slug = $5) ORDER BY s.slug LIMIT $4`,
    [after ?? '', provider ?? null, only, limit, slug ?? null],
  )
  return rows
}
