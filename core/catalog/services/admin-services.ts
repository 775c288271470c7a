import type { Pool } from 'pg'
import type { CommissionRule } from '../../usage/commission.ts'

/** Lists the commission rules of a provider, newest first. */
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

/** Service in any state, as shown to administrators. */
export interface AdminService {
  readonly slug: string
  readonly name: string
  readonly provider: string
  /** Email or wallet address of the provider's owner; null for a plugin's service. */
  readonly owner: string | null
  readonly state: 'active' | 'unlisted' | 'retired'
  /** State of its upstream; null unless the service was imported. */
  readonly stage: string | null
  /** Base URL of its upstream, as its owner wants it next. */
  readonly baseUrl: string | null
  /** Version to review, else the one that callers see; null for a plugin's service. */
  readonly version: number | null
  readonly waiting: boolean
  readonly suspended: 'no' | 'service' | 'provider'
  readonly reason: string | null
  /** Basis points, by the rule in force, else of its newest price; null if it has no price. */
  readonly commissionBps: number | null
}

export interface AdminServiceFilter {
  readonly limit: number
  /** Returns services after this slug. */
  readonly after?: string | undefined
  readonly provider?: string | undefined
  readonly slug?: string | undefined
  /** Restricts to suspended services, or to those pending approval. @defaultValue all */
  readonly only?: 'all' | 'suspended' | 'pending'
}

/** Lists services, sorted by slug. */
export async function listAdminServices(
  pool: Pool,
  { limit, after, provider, slug, only = 'all' }: AdminServiceFilter,
): Promise<readonly AdminService[]> {
  const { rows } = await pool.query<AdminService>({
    // Planning takes longer than reading a page. The others need a plan for their own service.
    ...((slug ?? provider) === undefined && { name: 'admin-services.list' }),
    text: `SELECT s.slug, s.name, s.provider, coalesce(h.email, o.wallet_address) AS owner, s.state,
       u.state AS stage, u.base_url AS "baseUrl",
       v.version, coalesce(v.state = 'waiting', false) AS waiting,
       CASE WHEN s.suspended_at IS NOT NULL OR u.state = 'suspended' THEN 'service'
         WHEN p.suspended_at IS NOT NULL THEN 'provider' ELSE 'no' END AS suspended,
       coalesce(s.suspended_reason, u.reason, p.suspended_reason) AS reason,
       coalesce(hub.commission_of(p.id, s.slug),
         (SELECT v.commission_bps FROM hub.endpoint e JOIN hub.price v ON v.endpoint = e.id
          WHERE e.service = s.slug AND e.state = 'active' ORDER BY v.since DESC LIMIT 1))
         AS "commissionBps"
     FROM hub.service s JOIN hub.provider p ON p.id = s.provider
     LEFT JOIN hub.upstream u ON u.slug = s.slug
     LEFT JOIN hub.domain d ON d.slug = s.slug AND d.state <> 'deleted'
     LEFT JOIN LATERAL (SELECT c.version, c.state FROM hub.content_version c
       WHERE c.subject = coalesce(u.slug, d.id) AND c.state IN ('waiting', 'approved')
       ORDER BY c.version DESC LIMIT 1) v ON true
     LEFT JOIN hub.principal o ON o.id = p.owner LEFT JOIN hub.person h ON h.principal = o.id
     WHERE s.slug > $1 AND ($2::text IS NULL OR s.provider = $2)
       AND CASE $3 WHEN 'all' THEN true WHEN 'pending' THEN v.state = 'waiting'
         ELSE s.suspended_at IS NOT NULL OR p.suspended_at IS NOT NULL OR u.state = 'suspended' END
       AND ($5::text IS NULL OR s.slug = $5) ORDER BY s.slug LIMIT $4`,
    values: [after ?? '', provider ?? null, only, limit, slug ?? null],
  })
  return rows
}
