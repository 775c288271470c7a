import { Client } from 'pg'
import { type EmbeddedOptions, runningUrl, startEmbedded } from './embedded.ts'

/** The database of the hub. */
export interface Database {
  /** Connection string of the owner, who migrates. */
  readonly url: string
  /** For the built-in server: the superuser's connection string to another database. */
  readonly adminUrl?: string
  /** Stops the built-in server; a server of one's own goes on. */
  close(): Promise<void>
}

/** Either a server of one's own, or the directory in which the built-in one keeps its data. */
export type DatabaseOptions = ({ readonly url: string } | { readonly dataDir: string }) &
  Pick<EmbeddedOptions, 'log' | 'warn'>

const NAME = 'agenthub'

/**
 * Opens the hub's database: the one at `url`, or the built-in server's, made when absent.
 * Throws what `startEmbedded` throws. A server of one's own is not contacted here.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  if ('url' in options) return { url: options.url, close: async () => {} }
  const embedded = await startEmbedded(options)
  try {
    await ensureDatabase(embedded.url, NAME)
  } catch (error) {
    await embedded.stop()
    throw error
  }
  return {
    url: databaseUrl(embedded.url, NAME),
    adminUrl: embedded.url,
    close: () => embedded.stop(),
  }
}

/**
 * Like `openDatabase`, but joins the built-in server that a running hub has started, if there is
 * one: for commands beside the hub.
 */
export async function joinDatabase(options: DatabaseOptions): Promise<Database> {
  const url = 'dataDir' in options ? await runningUrl(options.dataDir) : undefined
  if (url === undefined) return openDatabase(options)
  return { url: databaseUrl(url, NAME), adminUrl: url, close: async () => {} }
}

/** The same server and login, another database. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${encodeURIComponent(database)}`
  return other.href
}

async function ensureDatabase(url: string, name: string): Promise<void> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}
