import type { ClientBase, Pool } from 'pg'

/** Entries of a shard after its newest checkpoint. */
export interface Unverified {
  readonly entries: bigint
  /** Seconds since the oldest was posted; null if there is none. */
  readonly ageSeconds: number | null
}

/** @param last number of the last entry that counts. @defaultValue that of the shard */
export async function readUnverified(
  database: Pool | ClientBase,
  shard: number,
  last?: bigint,
): Promise<Unverified> {
  const { rows } = await database.query<Unverified>(
    `SELECT greatest(0, coalesce($2::bigint, h.seq) - c.seq) AS entries,
       extract(epoch FROM clock_timestamp() - (SELECT s.at FROM ledger.seal s
         WHERE s.shard = $1 AND s.seq_to > c.seq ORDER BY s.seq_to LIMIT 1))::float8 AS "ageSeconds"
     FROM ledger.head h CROSS JOIN LATERAL (
       SELECT coalesce(max(x.seq), 0) AS seq FROM ledger.checkpoint x WHERE x.shard = $1) c
     WHERE h.shard = $1`,
    [shard, last ?? null],
  )
  return rows[0]!
}
