import { createHash } from 'node:crypto'
import type { Client, ClientBase } from 'pg'
import { connectClient } from './client.ts'
import { acquireMigrationLock, createRoleSql, grantToServingSql } from './migrate.ts'
import { scramVerifier } from './scram.ts'

/**
 * Creates a plugin's role and schema if missing, and lets the role log in. A connection of that
 * login cannot get another role, because SET ROLE and SET SESSION AUTHORIZATION check the rights of
 * the login. The server receives a SCRAM verifier instead of the password.
 * @param url connection string of the owner
 * @returns connection string of the plugin's login
 * @throws Error if a hub of another database on the same server uses the role
 */
export async function createPluginLogin(
  url: string,
  schema: string,
  password: string,
): Promise<string> {
  const client = await connectClient(url, 'agenthub migrate')
  try {
    await acquireMigrationLock(client, 60_000)
    const name = client.escapeIdentifier(schema)
    await client.query(createRoleSql(name))
    await client.query(grantToServingSql(client, name))
    await claimRole(client, schema, password)
    const verifier = client.escapeLiteral(scramVerifier(password))
    await client.query(`ALTER ROLE ${name} LOGIN PASSWORD ${verifier}`)
  } finally {
    await client.end()
  }
  return pluginLoginUrl(url, schema, password)
}

/** Returns the connection string of a plugin's login on the server of `url`. */
export function pluginLoginUrl(url: string, role: string, password: string): string {
  const login = new URL(url)
  for (const name of ['user', 'password']) login.searchParams.delete(name)
  login.username = role
  login.password = password
  return login.href
}

/** Comment that names the hub of a role, in shared databases: `agenthub 3fa9… of NAME`. */
const HUB_MARK = /^agenthub ([\da-f]{16}) of (.+)$/s

/** Identifies a password in the comment of its role. */
const markOf = (password: string): string =>
  createHash('sha256').update(`login ${password}`).digest('hex').slice(0, 16)

/** Lists the plugin roles of this database whose password is the given one. */
export async function rolesWithPassword(
  on: Pick<ClientBase, 'query'>,
  passwordOf: (role: string) => string,
): Promise<readonly string[]> {
  const { rows } = await on.query<{ own: string; role: string; mark: string }>(
    `SELECT current_database() AS own, rolname AS role, shobj_description(oid, 'pg_authid') AS mark
     FROM pg_roles WHERE shobj_description(oid, 'pg_authid') LIKE 'agenthub %'`,
  )
  const marked = rows.filter(({ own, role, mark }) => {
    const [, known, owner] = HUB_MARK.exec(mark) ?? []
    return owner === own && known === markOf(passwordOf(role))
  })
  return marked.map(({ role }) => role)
}

/** Marks the role as this hub's: another hub's password would lock out that hub's plugin. */
async function claimRole(client: Client, role: string, password: string): Promise<void> {
  const { rows } = await client.query<{ own: string; mark: string | null; others: string[] }>(
    `SELECT current_database() AS own, shobj_description(oid, 'pg_authid') AS mark,
       (SELECT array_agg(datname::text) FROM pg_database
        WHERE datname <> current_database()) AS others
     FROM pg_roles WHERE rolname = $1`,
    [role],
  )
  const { own, mark, others } = rows[0]!
  const key = markOf(password)
  const [, known, owner = ''] = HUB_MARK.exec(mark ?? '') ?? []
  const name = client.escapeIdentifier(role)
  if (known !== undefined && known !== key && others.includes(owner)) {
    throw new Error(
      `The role ${role} belongs to a hub with another HUB_SIGNING_KEY, or with another version ` +
        `of its key plugin-databases. The database of that hub is ${owner} on the same server. ` +
        'Use separate servers or, if that hub is gone, run: ' +
        `COMMENT ON ROLE ${name} IS NULL`,
    )
  }
  const text = client.escapeLiteral(`agenthub ${key} of ${own}`)
  await client.query(`COMMENT ON ROLE ${name} IS ${text}`)
}
