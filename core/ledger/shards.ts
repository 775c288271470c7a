import type { Pool } from 'pg'

/** Reads the numbers of the shards, in ascending order. */
export async function readShards(db: Pick<Pool, 'query'>): Promise<readonly number[]> {
  const { rows } = await db.query<{ shard: number }>('SELECT shard FROM ledger.head ORDER BY shard')
  return rows.map(({ shard }) => shard)
}
