import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'

/** Staff roles, highest first; each includes the next. An `auditor` may only read. */
export const ROLES = ['admin', 'finance', 'auditor'] as const
export type Role = (typeof ROLES)[number]

/** Grant of a role, possibly revoked. */
export interface RoleGrant {
  readonly id: bigint
  readonly principal: string
  readonly role: Role
  /** Email address or wallet. */
  readonly name: string
  readonly grantedBy: string
  readonly grantedAt: Date
  /** End of the waiting time, unless a second administrator confirms the grant earlier. */
  readonly effectiveAt: Date
  readonly confirmedBy: string | null
  readonly revokedBy: string | null
  readonly revokedAt: Date | null
}

/** Display name of a principal: email address or wallet. */
const NAME = `coalesce(h.email, p.wallet_address)`

const SELECT = `
  SELECT r.id, r.principal, r.role, ${NAME} AS name, r.granted_by AS "grantedBy",
    r.granted_at AS "grantedAt", r.effective_at AS "effectiveAt",
    r.confirmed_by AS "confirmedBy", r.revoked_by AS "revokedBy", r.revoked_at AS "revokedAt"
  FROM hub.role r JOIN hub.principal p ON p.id = r.principal
  LEFT JOIN hub.person h ON h.principal = p.id`

/**
 * SQL that selects the roles of principals.
 * @param principals SQL of an array of their ids
 * @param admins SQL of an array of configured administrator wallets, lower case
 */
export const rolesSql = (principals: string, admins: string): string => `
  SELECT role FROM hub.role WHERE principal = ANY (${principals}) AND revoked_at IS NULL
    AND effective_at <= clock_timestamp()
  UNION SELECT 'admin' FROM hub.principal
    WHERE id = ANY (${principals}) AND wallet_address = ANY (${admins})`

export const highestRole = (roles: readonly Role[]): Role | undefined =>
  ROLES.find((role) => roles.includes(role))

/**
 * Returns the role of a principal, or undefined.
 * @param admins configured administrator wallets, lower case
 */
export async function findRole(
  pool: Pool,
  principal: string,
  admins: readonly string[],
): Promise<Role | undefined> {
  const { rows } = await pool.query<{ role: Role }>(rolesSql('$1', '$2'), [[principal], admins])
  return highestRole(rows.map(({ role }) => role))
}

/** Lists role grants, newest first. */
export async function listRoles(
  pool: Pool,
  includeRevoked: boolean,
): Promise<readonly RoleGrant[]> {
  const { rows } = await pool.query<RoleGrant>(
    `${SELECT} WHERE $1 OR r.revoked_at IS NULL ORDER BY r.id DESC LIMIT 500`,
    [includeRevoked],
  )
  return rows
}

/** Finds a principal by wallet or email address. @throws Fault `not_found` */
export async function findPrincipalByName(client: ClientBase, name: string): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM hub.principal WHERE wallet_address = $1
     UNION ALL SELECT principal FROM hub.person WHERE email = $1`,
    [name.toLowerCase()],
  )
  if (rows[0]) return rows[0].id
  throw new Fault(
    'not_found',
    'This wallet has not registered, or this email address has not signed in yet.',
  )
}

export interface GrantOrder {
  readonly principal: string
  readonly role: Role
  readonly by: { readonly name: string; readonly principal: string }
  /** Hours before the role takes effect; an `auditor` reads immediately. */
  readonly waitHours: number
  /** See `findRole`. */
  readonly admins: readonly string[]
}

/** @returns undefined if the principal already has the role */
export async function grantRole(
  client: ClientBase,
  { principal, role, by, waitHours, admins }: GrantOrder,
): Promise<RoleGrant | undefined> {
  const { rows } = await client.query<{ id: bigint | null }>(
    'SELECT hub.grant_role($1, $2, $3, $4, make_interval(hours => $5), $6) AS id',
    [principal, role, by.name, by.principal, waitHours, admins],
  )
  const { id } = rows[0]!
  return id === null ? undefined : findGrant(client, id)
}

/**
 * Ends the waiting time of a role on confirmation by a second administrator.
 * @returns the grant, or the reason of `hub.second_person_fault`
 */
export async function confirmRole(
  client: ClientBase,
  id: bigint,
  by: GrantOrder['by'],
  admins: readonly string[],
): Promise<RoleGrant | string> {
  const { rows } = await client.query<{ fault: string | null }>(
    'SELECT hub.confirm_role($1, $2, $3, $4) AS fault',
    [id, by.name, by.principal, admins],
  )
  return rows[0]!.fault ?? (await findGrant(client, id))!
}

/**
 * Revokes a role, immediately on every process.
 * @param admins see `findRole`; if there is one, the last granted `admin` role may be revoked
 * @throws Fault `not_found`; `last_administrator`
 */
export async function revokeRole(
  client: ClientBase,
  id: bigint,
  by: string,
  admins: readonly string[],
): Promise<RoleGrant> {
  const { rowCount } = await client.query(
    `UPDATE hub.role SET revoked_by = $2, revoked_at = clock_timestamp()
     WHERE id = $1 AND revoked_at IS NULL`,
    [id, by],
  )
  if (rowCount !== 1) throw new Fault('not_found', 'This role is not granted, or was revoked.')
  const { rows } = await client.query(
    `SELECT FROM hub.role WHERE role = 'admin' AND revoked_at IS NULL LIMIT 1`,
  )
  if (rows.length === 0 && admins.length === 0) throw new Fault('last_administrator')
  return (await findGrant(client, id))!
}

/** Finds a grant, revoked or not. */
export async function findGrant(client: ClientBase, id: bigint): Promise<RoleGrant | undefined> {
  const { rows } = await client.query<RoleGrant>(`${SELECT} WHERE r.id = $1`, [id])
  return rows[0]
}
