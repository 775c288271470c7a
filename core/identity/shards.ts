import type { Pool } from 'pg'

/**
 * How many shards the ledger has; each is a writer's seat of its own, and a principal stays on one
 * for ever. They are opened at install, before there is a first principal, and fixed from then on.
 * @param wanted how many a new installation gets
 */
export async function openShards(pool: Pool, wanted: number): Promise<number> {
  const { rows } = await pool.query<{ shards: number; inUse: boolean }>(
    `SELECT (SELECT count(*)::integer FROM ledger.head) AS shards,
       EXISTS (SELECT FROM hub.principal) AS "inUse"`,
  )
  const { shards, inUse } = rows[0]!
  if (inUse || shards >= wanted) return shards
  await pool.query(
    'SELECT ledger.open_shard(s::smallint) FROM generate_series($1::int, $2::int) s',
    [shards, wanted - 1],
  )
  return wanted
}
