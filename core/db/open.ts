import { connectClient } from './client.ts'
import { type EmbeddedOptions, runningUrl, startEmbedded } from './embedded.ts'

/** Database of the hub. */
export interface Database {
  /** Connection string of the owner, used for migrations. */
  readonly url: string
  /** Built-in server only: superuser connection string of the database `postgres`. */
  readonly adminUrl?: string
  /** Stops the built-in server; does nothing for an external one. */
  close(): Promise<void>
}

/** External server, or data directory of the built-in one. */
export type DatabaseOptions = ({ readonly url: string } | { readonly dataDir: string }) &
  Pick<EmbeddedOptions, 'log' | 'warn'>

const DATABASE_NAME = 'agenthub'

/**
 * Opens the hub's database: the one at `url`, which is not contacted yet, or that of the built-in
 * server, created if missing.
 * @throws Error as `startEmbedded`
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  if ('url' in options) return { url: options.url, close: async () => {} }
  const embedded = await startEmbedded(options)
  try {
    await ensureDatabase(embedded.url, DATABASE_NAME)
  } catch (error) {
    await embedded.stop()
    throw error
  }
  return {
    url: databaseUrl(embedded.url, DATABASE_NAME),
    adminUrl: embedded.url,
    close: () => embedded.stop(),
  }
}

/** Like `openDatabase`, but uses the built-in server of a running hub, if any. */
export async function joinDatabase(options: DatabaseOptions): Promise<Database> {
  const url = 'dataDir' in options ? await runningUrl(options.dataDir) : undefined
  if (url === undefined) return openDatabase(options)
  return { url: databaseUrl(url, DATABASE_NAME), adminUrl: url, close: async () => {} }
}

/** Replaces the database in a connection string. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${encodeURIComponent(database)}`
  return other.href
}

async function ensureDatabase(url: string, name: string): Promise<void> {
  const client = await connectClient(url, 'agenthub')
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}
