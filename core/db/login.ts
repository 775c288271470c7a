import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { lock, makeRole } from './migrate.ts'
import { scramVerifier } from './scram.ts'

/**
 * Makes a plugin's role and schema where they are absent, and lets the role log in. Whoever is
 * connected as it cannot come by another role: SET ROLE and SET SESSION AUTHORIZATION ask what the
 * login may. The server is told no password, but what it verifies one by.
 * @param url the owner's
 * @returns `url` for that login
 * @throws Error when a hub of another database on the same server has the role
 */
export async function makeLogin(url: string, schema: string, password: string): Promise<string> {
  const client = new Client({ connectionString: url, application_name: 'agenthub migrate' })
  client.on('error', () => {})
  await client.connect()
  try {
    await lock(client, 60_000)
    const name = client.escapeIdentifier(schema)
    await client.query(makeRole(name))
    await claim(client, schema, password)
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

/** The mark of a hub on a role, which all databases of a server share: `agenthub 3fa9… of NAME`. */
const MARK = /^agenthub ([\da-f]{16}) of (.+)$/s

/** Another password would lock out the other hub's plugin. In one database the newest counts. */
async function claim(client: Client, role: string, password: string): Promise<void> {
  const { rows } = await client.query<{ own: string; mark: string | null; others: string[] }>(
    `SELECT current_database() AS own, shobj_description(oid, 'pg_authid') AS mark,
       (SELECT array_agg(datname::text) FROM pg_database
        WHERE datname <> current_database()) AS others
     FROM pg_roles WHERE rolname = $1`,
    [role],
  )
  const { own, mark, others } = rows[0]!
  const key = createHash('sha256').update(`login ${password}`).digest('hex').slice(0, 16)
  const [, known, owner = ''] = MARK.exec(mark ?? '') ?? []
  const name = client.escapeIdentifier(role)
  if (known !== undefined && known !== key && others.includes(owner)) {
    throw new Error(
      `The role ${role} is that of a hub with another HUB_SIGNING_KEY, whose database is ` +
        `${owner} on the same server. Give one of them a server of its own; or, if that is gone: ` +
        `COMMENT ON ROLE ${name} IS NULL`,
    )
  }
  const text = client.escapeLiteral(`agenthub ${key} of ${own}`)
  await client.query(`COMMENT ON ROLE ${name} IS ${text}`)
}
