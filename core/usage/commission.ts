import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { KeyManager } from '../identity/sub-keys.ts'

/** Provider id of the platform, which pays no commission on first-party services. */
export const PLATFORM_PROVIDER = 'agenthub'

/** Commission of a service: its rule, its provider's, or the platform default. */
export const commissionBps = (provider: string, rule: number | null, defaultBps: number): number =>
  provider === PLATFORM_PROVIDER ? 0 : (rule ?? defaultBps)

/** Commission agreed with a provider. */
export interface CommissionRule {
  readonly provider: string
  /** Null: all services of the provider without a rule of their own. */
  readonly service: string | null
  /** Basis points; null removes the rule. */
  readonly bps: number | null
  readonly effectiveFrom: Date
  readonly author: string
  readonly reason: string
}

/** New rule. Without `effectiveFrom`, or with one in the past, it applies from now on. */
export type CommissionChange = Omit<CommissionRule, 'effectiveFrom'> & {
  readonly effectiveFrom?: Date | undefined
}

const COLUMNS = `provider, service, bps, effective_from AS "effectiveFrom", author, reason`

/**
 * Sets the commission of a provider, or of one of its services. The catalog creates a price version
 * with the new rate, which every process applies within a second.
 * @throws Fault `not_found` if the provider does not exist or does not own the service
 */
export async function setCommission(
  client: Pool | ClientBase,
  { provider, service, bps, effectiveFrom, author, reason }: CommissionChange,
): Promise<CommissionRule> {
  const { rows } = await client.query<CommissionRule>(
    `INSERT INTO hub.commission_rule (provider, service, bps, effective_from, author, reason)
     SELECT p.id, $2, $3, greatest($4::timestamptz, now()), $5, $6 FROM hub.provider p
     WHERE p.id = $1 AND ($2::text IS NULL
       OR EXISTS (SELECT FROM hub.service s WHERE s.slug = $2 AND s.provider = p.id))
     RETURNING ${COLUMNS}`,
    [provider, service, bps, effectiveFrom ?? null, author, reason],
  )
  if (!rows[0])
    throw new Fault('not_found', 'This provider does not exist, or does not own the service.')
  return rows[0]
}

const RULES_MAX = 1_000

/** Lists the rules of an owner's providers, newest first. */
export async function listCommissionRules(
  pool: Pool,
  owner: KeyManager,
): Promise<readonly CommissionRule[]> {
  const { rows } = await pool.query<CommissionRule>(
    `SELECT ${COLUMNS} FROM hub.commission_rule r
     WHERE r.provider IN (SELECT id FROM hub.provider WHERE owner = ANY ($1))
     ORDER BY effective_from DESC, r.id DESC LIMIT ${RULES_MAX}`,
    [owner],
  )
  return rows
}

/** Current commission of a service. */
export interface CommissionRate {
  readonly provider: string
  readonly service: string
  readonly bps: number
}

export async function listCommissionRates(
  pool: Pool,
  owner: KeyManager,
  defaultBps: number,
): Promise<readonly CommissionRate[]> {
  const { rows } = await pool.query<CommissionRate>(
    `SELECT s.provider, s.slug AS service, coalesce(hub.commission_of(p.id, s.slug), $2) AS bps
     FROM hub.provider p JOIN hub.service s ON s.provider = p.id
     WHERE p.owner = ANY ($1) AND s.state <> 'retired' ORDER BY s.slug LIMIT ${RULES_MAX}`,
    [owner, defaultBps],
  )
  return rows
}
