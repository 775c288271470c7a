import { connectClient } from './client.ts'
import {
  type AppliedMigration,
  findPending,
  type MigrateOptions,
  readAppliedSql,
  readMigrations,
} from './migrate.ts'
import { type MigrationKind, migrationKind } from './migration-kind.ts'

/** Pending migration, and what it means for servers that still run the previous version. */
export interface PlannedMigration {
  readonly name: string
  /** Schema of a plugin; undefined: the hub's. */
  readonly schema?: string | undefined
  readonly kind: MigrationKind
}

export interface MigrationPlan {
  readonly applied: number
  /** Newest applied migration; undefined: an empty database. */
  readonly newest: string | undefined
  readonly pending: readonly PlannedMigration[]
}

/**
 * Compares a database with the files of this version. Changes nothing.
 * @throws ConfigError if a newer version has contracted the database, or an applied file changed
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
      ? await client.query<AppliedMigration>(readAppliedSql(list))
      : { rows: [] }
    const pending = findPending(files, applied.rows).map(
      ({ name, sql }): PlannedMigration => ({ name, schema, kind: migrationKind(sql) }),
    )
    return { applied: applied.rows.length, newest: applied.rows.at(-1)?.name, pending }
  } finally {
    await client.end()
  }
}
