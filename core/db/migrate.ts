import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type DatabaseError } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'
import { requireLogin } from './pool.ts'

export interface MigrateOptions {
  /** Folder of `NNNN_name.sql` files. @defaultValue `core/db/migrations` */
  readonly folder?: string
  /**
   * The files of a plugin: they run in this role, in the schema of the same name, and can touch
   * nothing else; both are made when absent. @defaultValue the hub's own, in the role of the login
   */
  readonly schema?: string
  /**
   * Whether `url` logs in as that role (`makeLogin`). Files of a plugin that is not trusted: of the
   * owner's login they could take whatever role it has.
   */
  readonly asItself?: boolean
  /** Longest to wait for another instance that migrates, in ms. @defaultValue 60000 */
  readonly waitMs?: number
  /** Longest that a migration may wait for a lock on a table in use, in ms. @defaultValue 10000 */
  readonly lockMs?: number
  readonly log?: (text: string) => void
}

interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

const FOLDER = join(import.meta.dirname, 'migrations')
const LOCK = 8_402_001n
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Brings the database at `url` to the newest migration, each file in one transaction, forward only.
 * Any number of instances may call it at once. `url` must be the owner's and reach the server
 * directly: the lock belongs to a session. Throws, having changed nothing more, when a file fails,
 * a file that was applied has changed, a number is missing, the database is newer than the files,
 * or another instance migrates for longer than `waitMs`.
 * @returns the names of the files that were applied now.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const { folder = FOLDER, waitMs = 60_000, lockMs = 10_000, log = () => {} } = options
  const files = await readMigrations(folder)
  const client = new Client({ connectionString: url, application_name: 'agenthub migrate' })
  client.on('error', () => {})
  await client.connect().catch((cause: Error) => {
    throw new ConfigError(`The database cannot be reached: ${cause.message}`, { cause })
  })
  try {
    await lock(client, waitMs, options.asItself ? await ownLock(client) : LOCK)
    await client.query(`SET lock_timeout = ${lockMs}`)
    const list = await enter(client, options)
    const pending = compare(files, await readApplied(client, list))
    for (const file of pending) {
      await apply(client, file, list)
      log(`migration ${file.name} applied`)
    }
    return pending.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const files = names.map(async (name, index) => {
    const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1])
    if (number !== index + 1) {
      const wanted = String(index + 1).padStart(4, '0')
      throw new Error(
        `${join(folder, name)} stands where migration ${wanted}_….sql is expected: migrations ` +
          'are numbered 0001, 0002 … without gaps, each number once. Rename or add the file.',
      )
    }
    // A checkout with Windows line ends is the same migration.
    const sql = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n')
    return { number, name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
  })
  return Promise.all(files)
}

/** Waits until nobody else migrates this database. */
export async function lock(client: Client, waitMs: number, key = LOCK): Promise<void> {
  await client.query(`SET lock_timeout = ${waitMs}`)
  await client.query('SELECT pg_advisory_lock($1)', [key]).catch((cause) => {
    if (cause.code !== LOCK_NOT_AVAILABLE) throw cause
    throw new Error(
      `Another instance has been migrating the database for more than ${waitMs / 1000} s. Wait ` +
        'for it and start again, or see what holds it up in pg_stat_activity.',
      { cause },
    )
  })
}

/** What is not trusted waits for its own kind, and nobody else for it. @returns the key */
async function ownLock(client: Client): Promise<bigint> {
  const { rows } = await client.query('SELECT hashtextextended(session_user, 8402)::text AS key')
  return BigInt(rows[0].key)
}

/**
 * Makes the schema; a plugin's is entered in its role.
 * @returns the table that keeps the list of what was applied
 */
async function enter(client: Client, { schema, asItself }: MigrateOptions): Promise<string> {
  if (schema === undefined) {
    await client.query('CREATE SCHEMA IF NOT EXISTS hub')
    return 'hub.migration'
  }
  const name = client.escapeIdentifier(schema)
  if (asItself) await requireLogin(client, schema)
  else await client.query(`${makeRole(name)}; SET ROLE ${name}`)
  await client.query(`SET search_path = ${name}`)
  return `${name}.migration`
}

/** A plugin's role, and its schema. */
export const makeRole = (name: string): string => `
  DO $$ BEGIN
    CREATE ROLE ${name} NOLOGIN;
    GRANT ${name} TO CURRENT_USER;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's did
  END $$;
  CREATE SCHEMA IF NOT EXISTS ${name} AUTHORIZATION ${name}`

async function readApplied(client: Client, list: string): Promise<Omit<Migration, 'sql'>[]> {
  await client.query(`
    CREATE TABLE IF NOT EXISTS ${list} (
      number integer PRIMARY KEY,
      name text NOT NULL,
      sha256 text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`)
  const { rows } = await client.query(`SELECT number, name, sha256 FROM ${list} ORDER BY 1`)
  return rows
}

/** What is still to be applied. */
function compare(files: Migration[], applied: Omit<Migration, 'sql'>[]): Migration[] {
  const newest = applied.at(-1)
  if (newest !== undefined && newest.number > files.length) {
    throw new ConfigError(
      `The database is at migration ${newest.name}, and this version of the hub knows only ` +
        `${files.length}. Start the newer version of the hub, or restore a backup from before it.`,
    )
  }
  for (const [index, { number, name, sha256 }] of applied.entries()) {
    if (number !== index + 1) {
      throw new Error(
        `The list of migrations lacks number ${index + 1}. Restore the database from a backup.`,
      )
    }
    if (files[index]?.sha256 !== sha256) {
      throw new ConfigError(
        `Migration ${name} has changed since it was applied to this database. Start the version ` +
          'of the hub that applied it, or a sandbox in an empty data directory; whoever changed ' +
          'the file puts the change into a new migration.',
      )
    }
  }
  return files.slice(applied.length)
}

async function apply(client: Client, migration: Migration, list: string): Promise<void> {
  const { number, name, sql, sha256 } = migration
  try {
    await client.query('BEGIN')
    await client.query(sql)
    if (client.getTransactionStatus() !== 'T') throw new Error('it ends its own transaction')
    const values = [number, name, sha256]
    await client.query(`INSERT INTO ${list} (number, name, sha256) VALUES ($1, $2, $3)`, values)
    await client.query('COMMIT')
  } catch (cause) {
    const { message, position, hint } = cause as DatabaseError
    const line = position ? ` line ${sql.slice(0, Number(position)).split('\n').length}` : ''
    const advice = hint ? ` (${hint})` : ''
    throw new Error(`Migration ${name}${line} failed: ${message}${advice}`, { cause })
  }
}
