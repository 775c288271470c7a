import type { ClientBase } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'
import { isPrivilegeError } from './privilege-error.ts'

/** Roles of the hub, which all databases of a server share. */
const HUB_ROLES = ['hub_app', 'hub_finance', 'hub_jobs'] as const

/** First version in which CREATEROLE does not grant the roles that others have created. */
const VERSION_WITH_ADMIN_RIGHTS = 16

interface Rights {
  readonly login: string
  readonly isSuperuser: boolean
  readonly mayCreate: boolean
  readonly major: number
  /** Existing roles that the login may not grant as their administrator. */
  readonly foreign: readonly string[]
}

/**
 * Runs what creates roles as the owner of the database.
 * @throws ConfigError if the owner may not, with the statements that allow it
 */
export async function managingRoles<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!isPrivilegeError(cause)) throw cause
    await client.query('ROLLBACK')
    const statements = await missingRights(client)
    if (statements.length === 0) throw cause
    throw new ConfigError(
      `The owner of the database may not manage the roles of the hub (${(cause as Error).message}` +
        `). Run as an administrator: ${statements.join('; ')}`,
      { cause },
    )
  }
}

async function missingRights(client: ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<Rights>(
    `SELECT quote_ident(rolname) AS login, rolsuper AS "isSuperuser", rolcreaterole AS "mayCreate",
       current_setting('server_version_num')::integer / 10000 AS major,
       array(SELECT r.rolname::text FROM pg_roles r WHERE r.rolname = ANY ($1)
         AND NOT pg_has_role(session_user, r.oid, 'MEMBER WITH ADMIN OPTION') ORDER BY 1) AS foreign
     FROM pg_roles WHERE rolname = session_user`,
    [HUB_ROLES],
  )
  const { login, isSuperuser, mayCreate, major, foreign } = rows[0]!
  if (isSuperuser) return []
  const isForeign = foreign.length > 0 && (major >= VERSION_WITH_ADMIN_RIGHTS || !mayCreate)
  return [
    ...(mayCreate ? [] : [`ALTER ROLE ${login} CREATEROLE`]),
    ...(isForeign ? [`GRANT ${foreign.join(', ')} TO ${login} WITH ADMIN OPTION`] : []),
  ]
}

/** Lets the owner act in the roles of the hub: creating a role does not include that right. */
export async function grantRolesToOwner(client: ClientBase): Promise<void> {
  for (const role of await missingRoles(client, HUB_ROLES)) {
    await client.query(`GRANT ${role} TO CURRENT_USER`)
  }
}

/** @throws ConfigError if the login may not act in one of the roles, with the missing statement */
export async function assertHasRoles(client: ClientBase, roles: readonly string[]): Promise<void> {
  const missing = await missingRoles(client, roles)
  if (missing.length === 0) return
  const { rows } = await client.query<{ login: string }>(
    'SELECT quote_ident(session_user) AS login',
  )
  const { login } = rows[0]!
  throw new ConfigError(
    `The database login ${login} may not act as ${missing.join(' and ')}: run as the owner: ` +
      `GRANT ${missing.join(', ')} TO ${login}.`,
  )
}

async function missingRoles(
  client: ClientBase,
  roles: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ role: string }>(
    `SELECT rolname AS role FROM pg_roles WHERE rolname = ANY ($1) AND NOT pg_has_role(session_user,
       oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET'
         ELSE 'MEMBER' END) ORDER BY 1`,
    [roles],
  )
  return rows.map(({ role }) => role)
}
