import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { acquireMigrationLock, createRoleSql } from './migrate.ts'

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
  const client = new Client({ connectionString: url, application_name: 'agenthub migrate' })
  client.on('error', () => {})
  await client.connect()
  try {
    await acquireMigrationLock(client, 60_000)
    const name = client.escapeIdentifier(schema)
    await client.query(createRoleSql(name))
    await claimRole(client, schema, password)
    const verifier = client.escapeLiteral(scramVerifier(password))
    await client.query(`ALTER ROLE ${name} LOGIN PASSWORD ${verifier}`)
  } finally {
    await client.end()
  }
  const login = new URL(url)
  for (const name of ['user', 'password']) login.searchParams.delete(name)
  login.username = schema
  login.password = password
  return login.href
}

/** Comment that names the hub of a role, in shared databases: `agenthub 3fa9… of NAME`. */
const HUB_MARK = /^agenthub ([\da-f]{16}) of (.+)$/s

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
  const key = createHash('sha256').update(`login ${password}`).digest('hex').slice(0, 16)
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

/** PostgreSQL's default of `scram_iterations`; the passwords verified here are random. */
const ITERATIONS = 4_096

/**
 * Computes the SCRAM verifier that PostgreSQL stores for a password (RFC 5803,
 * `pg_authid.rolpassword`), so that the password does not appear in the server's logs.
 * @param password ASCII only, which SASLprep leaves unchanged
 */
function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (name: string): Buffer => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const server = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`
}
