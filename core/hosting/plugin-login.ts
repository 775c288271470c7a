import type { Pool } from 'pg'
import { connectClient } from '../db/client.ts'
import { createPluginLogin, pluginLoginUrl } from '../db/login.ts'
import { createPool } from '../db/pool.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import { SESSIONS_MAX } from './limits.ts'

interface LoginOptions {
  /** Direct connection string of the owner; undefined: this process cannot set passwords. */
  readonly ownerUrl: string | undefined
  /** Direct connection string of a login that may take on the role. */
  readonly servingUrl: string
  readonly role: string
  /** Returns the valid passwords, the current one first. */
  readonly passwords: () => readonly [string, ...string[]]
  readonly log: Log
  /** Time limit of a statement. */
  readonly timeLimitMs: number
}

/** A login of the role, and its connections. */
export interface Login {
  readonly url: string
  /** The current password when it was opened. */
  readonly password: string
  readonly pool: Pool
}

/** Opens connections that log in as the role; as owner, sets the current password first. */
export async function openLogin(options: LoginOptions): Promise<Login> {
  const { ownerUrl, role, passwords, log, timeLimitMs } = options
  const [password] = passwords()
  const url =
    ownerUrl === undefined
      ? await findAccepted(options)
      : await createPluginLogin(ownerUrl, role, password)
  const pool = createPool(url, {
    role,
    schema: role,
    isRoleLogin: true,
    max: SESSIONS_MAX,
    statementMs: timeLimitMs,
    applicationName: `agenthub ${role}`,
    onError: (err) =>
      logFailure(log, 'warn', { err, role, component: 'database' }, 'database connection lost'),
  })
  return { url, password, pool }
}

/** Finds the password that the role has: in a rotation, the owner may not have set the new one. */
async function findAccepted({ servingUrl, role, passwords }: LoginOptions): Promise<string> {
  const urls = passwords().map((each) => pluginLoginUrl(servingUrl, role, each))
  for (const url of urls.length > 1 ? urls : []) {
    const client = await connectClient(url, `agenthub ${role}`).catch(() => undefined)
    await client?.end().catch(() => {})
    if (client) return url
  }
  return urls[0]!
}
