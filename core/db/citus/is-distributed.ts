import type { ClientBase, Pool } from 'pg'

/**
 * SQL condition that Citus distributes the ledger of a database: only then has the key of the
 * journal its shard. Needs neither Citus nor a ledger, nor rights to it.
 */
export const IS_DISTRIBUTED = `EXISTS (SELECT 1 FROM pg_class t
  JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = 'ledger'
  JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p'
  JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (k.conkey)
  WHERE t.relname = 'journal' AND a.attname = 'shard')`

/** True if Citus distributes the ledger of this database. */
export async function isDistributed(database: Pick<Pool | ClientBase, 'query'>): Promise<boolean> {
  const { rows } = await database.query<{ distributed: boolean }>(
    `SELECT ${IS_DISTRIBUTED} AS distributed`,
  )
  return rows[0]!.distributed
}
