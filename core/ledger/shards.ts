import type { Pool } from 'pg'

type Database = Pick<Pool, 'query'>

/** Sequence numbers by shard. */
type ShardPositions = ReadonlyMap<number, bigint>

/** Reads the numbers of the shards, in ascending order. */
export async function readShards(db: Database): Promise<readonly number[]> {
  const { rows } = await db.query<{ shard: number }>('SELECT shard FROM ledger.head ORDER BY shard')
  return rows.map(({ shard }) => shard)
}

/** Reads the number of the last entry of each shard. */
export const readHeads = (db: Database): Promise<ShardPositions> =>
  readPositions(db, 'SELECT shard, seq FROM ledger.head ORDER BY shard')

/** Reads the number of the last entry of each shard that was posted before an instant, or 0. */
export const readCut = (db: Database, instant: Date): Promise<ShardPositions> =>
  readPositions(db, 'SELECT shard, seq FROM ledger.cut($1) ORDER BY shard', [instant])

async function readPositions(
  db: Database,
  sql: string,
  values: readonly unknown[] = [],
): Promise<ShardPositions> {
  const { rows } = await db.query<{ shard: number; seq: bigint }>(sql, [...values])
  return new Map(rows.map(({ shard, seq }) => [shard, seq]))
}

/** Reads when the first entry was posted; undefined if there is none. */
export async function readFirstInstant(db: Database): Promise<Date | undefined> {
  let first: Date | undefined
  for (const shard of await readShards(db)) {
    const { rows } = await db.query<{ at: Date }>(
      'SELECT at FROM ledger.seal WHERE shard = $1 ORDER BY at LIMIT 1',
      [shard],
    )
    const at = rows[0]?.at
    if (at !== undefined && (first === undefined || at < first)) first = at
  }
  return first
}
