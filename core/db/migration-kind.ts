/** expand: servers of the previous version may run and start. contract: stop them first. */
export type MigrationKind = 'expand' | 'contract'

const EXPAND = '-- upgrade: expand'

/** Reads the kind from the header of a migration. Unmarked files count as contract. */
export const migrationKind = (sql: string): MigrationKind =>
  sql.split('\n').includes(EXPAND) ? 'expand' : 'contract'
