import { connectClient } from './client.ts'
import { findPending, type MigrateOptions, type Migration, readMigrations } from './migrate.ts'

/** Pending migration, and what it means for servers that still run the previous version. */
export interface PlannedMigration {
  readonly name: string
  /** Schema of a plugin; undefined: the hub's. */
  readonly schema?: string | undefined
  /** expand: they may keep running. contract: stop them first. Unmarked files count as contract. */
  readonly kind: 'expand' | 'contract'
}

export interface MigrationPlan {
  readonly applied: number
  /** Newest applied migration; undefined: an empty database. */
  readonly newest: string | undefined
  readonly pending: readonly PlannedMigration[]
}

const EXPAND = '-- upgrade: expand'

/** Reads from the header of a migration what it means for running servers. */
export const migrationKind = (sql: string): PlannedMigration['kind'] =>
  sql.split('\n').includes(EXPAND) ? 'expand' : 'contract'

/**
 * Compares a database with the files of this version. Changes nothing.
 * @throws ConfigError if the database is newer, or an applied file has changed
 */
export async function planMigrations(
  url: string,
  { folder, schema }: Pick<MigrateOptions, 'folder' | 'schema'> = {},
): Promise<MigrationPlan> {
  const files = await readMigrations(folder)
  const client = await connectClient(url, 'agenthub migrate')
  try {
    const list = `${client.escapeIdentifier(schema ?? 'hub')}.migration`
    const { rows: found } = await client.query('SELECT to_regclass($1) IS NOT NULL AS yes', [list])
    const applied = found[0].yes
      ? await client.query<Migration>(`SELECT number, name, sha256 FROM ${list} ORDER BY 1`)
      : { rows: [] }
    const pending = findPending(files, applied.rows).map(
      ({ name, sql }): PlannedMigration => ({ name, schema, kind: migrationKind(sql) }),
    )
    return { applied: applied.rows.length, newest: applied.rows.at(-1)?.name, pending }
  } finally {
    await client.end()
  }
}
