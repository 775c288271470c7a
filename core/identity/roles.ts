import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Manager } from './children.ts'

/** What somebody of the house may do: `finance` the books; `admin` that, and all else. */
export const ROLES = ['admin', 'finance'] as const
export type Role = (typeof ROLES)[number]

/** A role as it was given, and perhaps taken away. */
export interface RoleGrant {
  readonly id: bigint
  readonly principal: string
  readonly role: Role
  /** The wallet or the address of mail. */
  readonly name: string
  readonly grantedBy: string
  readonly grantedAt: Date
  readonly revokedBy: string | null
  readonly revokedAt: Date | null
}

/** Somebody as people know them: by the address of mail, or the wallet. `$1` is the principal. */
const NAME = `coalesce(h.email, p.wallet_address)`

const SELECT = `
  SELECT r.id, r.principal, r.role, ${NAME} AS name, r.granted_by AS "grantedBy",
    r.granted_at AS "grantedAt", r.revoked_by AS "revokedBy", r.revoked_at AS "revokedAt"
  FROM hub.role r JOIN hub.principal p ON p.id = r.principal
  LEFT JOIN hub.person h ON h.principal = p.id`

/**
 * The highest role that one of these principals has, or undefined.
 * @param admins wallets of administrators by configuration, in lower case
 */
export async function roleOf(
  pool: Pool,
  principals: Manager,
  admins: readonly string[],
): Promise<Role | undefined> {
  const { rows } = await pool.query<{ role: Role }>(
    `SELECT role FROM hub.role WHERE principal = ANY ($1) AND revoked_at IS NULL
     UNION SELECT 'admin' FROM hub.principal WHERE id = ANY ($1) AND wallet_address = ANY ($2)
     ORDER BY role LIMIT 1`,
    [principals, admins],
  )
  return rows[0]?.role
}

/** All roles that are held, and those that were, the newest first. */
export async function listRoles(pool: Pool, everHeld: boolean): Promise<readonly RoleGrant[]> {
  const { rows } = await pool.query<RoleGrant>(
    `${SELECT} WHERE $1 OR r.revoked_at IS NULL ORDER BY r.id DESC LIMIT 500`,
    [everHeld],
  )
  return rows
}

/**
 * The principal of a wallet or of an address of mail.
 * @throws Fault `not_found` for somebody who has never registered, or signed in
 */
export async function principalNamed(client: ClientBase, name: string): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM hub.principal WHERE wallet_address = $1
     UNION ALL SELECT principal FROM hub.person WHERE email = $1`,
    [name.toLowerCase()],
  )
  if (rows[0]) return rows[0].id
  throw new Fault('not_found', 'Nobody with this wallet or address has been here yet.')
}

/** @returns undefined when the principal has the role already */
export async function grantRole(
  client: ClientBase,
  principal: string,
  role: Role,
  by: string,
): Promise<RoleGrant | undefined> {
  const { rows } = await client.query<{ id: bigint }>(
    `INSERT INTO hub.role (principal, role, granted_by) VALUES ($1, $2, $3)
     ON CONFLICT (principal, role) WHERE revoked_at IS NULL DO NOTHING RETURNING id`,
    [principal, role, by],
  )
  return rows[0] && findGrant(client, rows[0].id)
}

/**
 * Takes a role away; at once, on every process.
 * @param admins as of `roleOf`: while there is one, it is no loss when nobody else has the role
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
  if (rowCount !== 1) throw new Fault('not_found', 'Nobody holds this role.')
  const { rows } = await client.query(
    `SELECT FROM hub.role WHERE role = 'admin' AND revoked_at IS NULL LIMIT 1`,
  )
  if (rows.length === 0 && admins.length === 0) throw new Fault('last_administrator')
  return (await findGrant(client, id))!
}

async function findGrant(client: ClientBase, id: bigint): Promise<RoleGrant | undefined> {
  const { rows } = await client.query<RoleGrant>(`${SELECT} WHERE r.id = $1`, [id])
  return rows[0]
}
