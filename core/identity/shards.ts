import type { Pool } from 'pg'
import { readShards } from '../ledger/shards.ts'

/**
 * Opens the ledger's shards in a new installation; once there is a principal, their number is
 * fixed. Each shard has its own writer, and a principal never moves between shards.
 * @param requested number of shards of a new installation
 * @returns the actual number
 */
export async function openShards(pool: Pool, requested: number): Promise<number> {
  const shards = (await readShards(pool)).length
  const { rows } = await pool.query<{ inUse: boolean }>(
    'SELECT EXISTS (SELECT 1 FROM hub.principal) AS "inUse"',
  )
  if (rows[0]!.inUse || shards >= requested) return shards
  for (let shard = shards; shard < requested; shard++) {
    await pool.query('SELECT ledger.open_shard($1::smallint)', [shard])
  }
  return requested
}
