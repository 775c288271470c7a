import type { Pool } from 'pg'

/**
 * Opens the ledger's shards in a new installation; once there is a principal, their number is
 * fixed. Each shard has its own writer, and a principal never moves between shards.
 * @param requested number of shards of a new installation
 * @returns the actual number
 */
export async function openShards(pool: Pool, requested: number): Promise<number> {
  const { rows } = await pool.query<{ shards: number; inUse: boolean }>(
    `SELECT (SELECT count(*)::integer FROM ledger.head) AS shards,
       EXISTS (SELECT FROM hub.principal) AS "inUse"`,
  )
  const { shards, inUse } = rows[0]!
  if (inUse || shards >= requested) return shards
  await pool.query(
    'SELECT ledger.open_shard(s::smallint) FROM generate_series($1::int, $2::int) s',
    [shards, requested - 1],
  )
  return requested
}
