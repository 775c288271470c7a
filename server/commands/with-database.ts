import type { Pool } from 'pg'
import { ConfigError, readConfig } from '../../core/config.ts'
import { joinLogins } from '../../core/db/logins.ts'
import { joinDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { isPrivilegeError } from '../../core/db/privilege-error.ts'

/** Runs a command on the hub's database, which is opened on first use. */
export async function withDatabase(
  command: (connect: () => Promise<Pool>) => Promise<number>,
  role: Role = 'hub_app',
): Promise<number> {
  const { databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir } = readConfig()
  const url = databaseDirectUrl ?? databaseUrl
  let opened: Promise<{ pool: Pool; close(): Promise<void> }> | undefined
  const connect = async (): Promise<Pool> => {
    opened ??= openDatabase(url ? { url } : { dataDir }, databaseOwnerUrl, role)
    return (await opened).pool
  }
  try {
    return await command(connect)
  } finally {
    await (await opened)?.close()
  }
}

type Role = 'hub_app' | 'hub_finance' | 'owner'

async function openDatabase(
  place: Parameters<typeof joinDatabase>[0],
  ownerUrl: string | undefined,
  role: Role,
) {
  const database = await joinDatabase(place)
  const logins = await joinLogins({ url: database.url, ownerUrl }).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const urls = {
    hub_app: logins.directUrl,
    hub_finance: logins.financeUrl,
    owner: logins.ownerUrl ?? database.url,
  }
  const own = role === 'owner' ? {} : { role }
  const pool = createPool(urls[role], { max: 4, ...own, statementMs: 3_600_000 })
  const close = async (): Promise<void> => {
    await pool.end()
    await database.close()
  }
  try {
    await pool.query(`SELECT 'ledger.head'::regclass`)
  } catch (error) {
    await close()
    if (isPrivilegeError(error)) throw error
    const advice = 'Start the hub once, or set HUB_DATA_DIR or DATABASE_URL to where it runs.'
    throw new ConfigError(`No ledger found. ${advice}`, { cause: error })
  }
  return { pool, close }
}
