import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { KeyManager } from '../identity/sub-keys.ts'

/** The provider id of the house: what it sells is its own income, without commission. */
export const PLATFORM_PROVIDER = 'agenthub'

/**
 * The commission of a service in basis points: what a rule says (`hub.commission_of`: its own, else
 * its provider's), else the platform's default (specification §1.6). The house pays itself none.
 */
export const commissionBps = (provider: string, rule: number | null, defaultBps: number): number =>
  provider === PLATFORM_PROVIDER ? 0 : (rule ?? defaultBps)

/** What is agreed on with a provider, from an instant on. */
export interface CommissionRule {
  readonly provider: string
  /** Null: all of the provider's services that have no rule of their own. */
  readonly service: string | null
  /** Basis points; null: no rule of its own any more. */
  readonly bps: number | null
  readonly effectiveFrom: Date
  readonly author: string
  readonly reason: string
}

/** In the past nothing is changed: left out, or earlier than now, it counts from now on. */
export type CommissionChange = Omit<CommissionRule, 'effectiveFrom'> & {
  readonly effectiveFrom?: Date | undefined
}

const COLUMNS = `provider, service, bps, effective_from AS "effectiveFrom", author, reason`

/**
 * Sets the commission of a provider, or of one of its services. Calls from then on are settled by
 * it, everywhere within a second: the catalogue gives each price a new version with the new rate.
 * @throws Fault `not_found` for a provider that is none, or a service that is another's
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
  if (!rows[0]) throw new Fault('not_found', 'There is no such provider, or no such service of it.')
  return rows[0]
}

const RULES_MAX = 1_000

/** The rules of an owner's providers, the newest first. */
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

/** What the platform keeps of the sales of a service, as of now. */
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
