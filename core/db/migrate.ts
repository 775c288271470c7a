import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client, DatabaseError } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'
import { connectClient } from './client.ts'
import { loginName } from './login-name.ts'
import { type MigrationKind, migrationKind } from './migration-kind.ts'
import { assertLogin } from './pool.ts'
import { grantRolesToOwner, managingRoles } from './roles.ts'
import { prepareServer } from './server-version.ts'

export interface MigrateOptions {
  /** Folder of `NNNN_name.sql` files. @defaultValue `core/db/migrations` */
  readonly folder?: string
  /**
   * Schema and role of a plugin: the files run in this role and cannot touch other schemas. Both
   * are created if missing. @defaultValue the hub's own migrations, in the role of the login
   */
  readonly schema?: string
  /** True if `url` logs in as that role (`createPluginLogin`), as untrusted files require. */
  readonly isRoleLogin?: boolean
  /** Maximum wait for another migrating instance. @defaultValue 60000 */
  readonly waitMs?: number
  /** Maximum wait of a migration for a table lock. @defaultValue 10000 */
  readonly lockMs?: number
  readonly log?: (text: string) => void
}

/** Migration file. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

/** Migration in the list of a database. */
export interface AppliedMigration extends Pick<Migration, 'number' | 'name' | 'sha256'> {
  /** Null if a version applied it that did not store this. */
  readonly kind: MigrationKind | null
}

/** SQL that reads the list of applied migrations, also one without the newest columns. */
export const readAppliedSql = (list: string): string =>
  `SELECT number, name, sha256, to_jsonb(m) ->> 'kind' AS kind FROM ${list} m ORDER BY 1`

const DEFAULT_FOLDER = join(import.meta.dirname, 'migrations')
const LOCK_KEY = 8_402_001n
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Applies pending migrations, each file in one transaction, forward only. Safe to call from several
 * instances at once. `url` must be the owner's and direct, because the lock belongs to a session.
 * @returns names of the files applied now
 * @throws ConfigError if the server is too old
 * @throws Error if a file fails, an applied file has changed, a number is missing, a newer version
 * has contracted the database, or another instance migrates for longer than `waitMs`; later files
 * are not applied then
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const { folder = DEFAULT_FOLDER, waitMs = 60_000, lockMs = 10_000, log = () => {} } = options
  const files = await readMigrations(folder)
  const client = await connectClient(url, 'agenthub migrate')
  try {
    await acquireMigrationLock(
      client,
      waitMs,
      options.isRoleLogin ? await pluginLockKey(client) : LOCK_KEY,
    )
    await client.query(`SET lock_timeout = ${lockMs}`)
    if (options.schema === undefined) await prepareServer(client)
    const list = await enterSchema(client, options)
    const pending = findPending(files, await readApplied(client, list))
    const applyPending = async (): Promise<void> => {
      for (const file of pending) {
        await applyMigration(client, file, list)
        log(`migration ${file.name} applied`)
      }
    }
    if (options.schema !== undefined) await applyPending()
    else await managingRoles(client, () => applyPending().then(() => grantRolesToOwner(client)))
    return pending.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/** Reads migration files in their order. @throws Error if a number is missing or repeated */
export async function readMigrations(folder = DEFAULT_FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const files = names.map(async (name, index) => {
    const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1])
    if (number !== index + 1) {
      const wanted = String(index + 1).padStart(4, '0')
      throw new Error(
        `${join(folder, name)} is found where migration ${wanted}_….sql is expected: migrations ` +
          'are numbered 0001, 0002 … without gaps, each number once. Rename or add the file.',
      )
    }
    // Windows line ends do not change the hash.
    const sql = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n')
    return { number, name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
  })
  return Promise.all(files)
}

/** Waits until no other instance migrates this database. */
export async function acquireMigrationLock(
  client: Client,
  waitMs: number,
  key = LOCK_KEY,
): Promise<void> {
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

/** Lock key of an untrusted plugin's migrations, which block only each other. */
async function pluginLockKey(client: Client): Promise<bigint> {
  const { rows } = await client.query('SELECT hashtextextended(session_user, 8402)::text AS key')
  return BigInt(rows[0].key)
}

/** Creates the schema; for a plugin, enters its role. @returns the table of applied migrations */
async function enterSchema(
  client: Client,
  { schema, isRoleLogin }: MigrateOptions,
): Promise<string> {
  if (schema === undefined) {
    await client.query('CREATE SCHEMA IF NOT EXISTS hub')
    return 'hub.migration'
  }
  const name = client.escapeIdentifier(schema)
  if (isRoleLogin) await assertLogin(client, schema)
  else {
    await client.query(createRoleSql(name))
    await client.query(`${grantToServingSql(client, name)}; SET ROLE ${name}`)
  }
  await client.query(`SET search_path = ${name}`)
  return `${name}.migration`
}

/** SQL that creates a plugin's role and schema if missing. */
export const createRoleSql = (name: string): string => `
  DO $$ BEGIN
    CREATE ROLE ${name} NOLOGIN;
    GRANT ${name} TO CURRENT_USER;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's did
  END $$;
  CREATE SCHEMA IF NOT EXISTS ${name} AUTHORIZATION ${name}`

/** SQL that lets the hub's serving login, if there is one, act in the role of a plugin. */
export function grantToServingSql(client: Client, role: string): string {
  const login = loginName(client.database ?? '', 'serving')
  return `DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = ${client.escapeLiteral(login)}) THEN
      GRANT ${role} TO ${client.escapeIdentifier(login)};
    END IF;
  END $$`
}

/**
 * Checks that a database needs no migration, for a login that could not apply it.
 * @param role role that may read the list of applied migrations
 * @throws ConfigError if one is missing, with what to do
 */
export async function assertMigrated(
  url: string,
  { folder = DEFAULT_FOLDER, schema = 'hub', role = 'hub_app' } = {},
): Promise<void> {
  const files = await readMigrations(folder)
  const client = await connectClient(url, 'agenthub migrate')
  try {
    const list = `${client.escapeIdentifier(schema)}.migration`
    await client.query(`SET ROLE ${client.escapeIdentifier(role)}`)
    const { rows } = await client.query(readAppliedSql(list))
    const [next] = findPending(files, rows)
    if (next) throw new Error(`migration ${next.name} is missing`)
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(
      `The database is not ready for this version of the hub (${(cause as Error).message}). Run ` +
        '"npm run migrate" with the login of its owner in DATABASE_OWNER_URL.',
      { cause },
    )
  } finally {
    await client.end()
  }
}

async function readApplied(client: Client, list: string): Promise<AppliedMigration[]> {
  await client.query(`
    CREATE TABLE IF NOT EXISTS ${list} (
      number integer PRIMARY KEY,
      name text NOT NULL,
      sha256 text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    );
    ALTER TABLE ${list} ADD COLUMN IF NOT EXISTS kind text`)
  const { rows } = await client.query(readAppliedSql(list))
  return rows
}

/**
 * Compares files with applied migrations. Returns the pending files: none for a database that newer
 * versions have only expanded, because this version may run on it.
 */
export function findPending(
  files: readonly Migration[],
  applied: readonly AppliedMigration[],
): Migration[] {
  const newest = applied.at(-1)
  const newer = applied.slice(files.length)
  if (newest !== undefined && newer.some(({ kind }) => kind !== 'expand')) {
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
    if (index < files.length && files[index]?.sha256 !== sha256) {
      throw new ConfigError(
        `Migration ${name} has changed since it was applied to this database. Start the version ` +
          'of the hub that applied it, or a sandbox in an empty data directory. If you changed ' +
          'the file, put the change into a new migration.',
      )
    }
  }
  return files.slice(applied.length)
}

async function applyMigration(client: Client, migration: Migration, list: string): Promise<void> {
  const { number, name, sql, sha256 } = migration
  try {
    await client.query('BEGIN')
    await client.query(sql)
    if (client.getTransactionStatus() !== 'T') throw new Error('it ends its own transaction')
    const values = [number, name, sha256, migrationKind(sql)]
    const columns = 'number, name, sha256, kind'
    await client.query(`INSERT INTO ${list} (${columns}) VALUES ($1, $2, $3, $4)`, values)
    await client.query('COMMIT')
  } catch (cause) {
    const { message, position, hint } = cause as DatabaseError
    const line = position ? ` line ${sql.slice(0, Number(position)).split('\n').length}` : ''
    const advice = hint ? ` (${hint})` : ''
    throw new Error(`Migration ${name}${line} failed: ${message}${advice}`, { cause })
  }
}
