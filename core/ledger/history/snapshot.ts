import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { readShards } from '../shards.ts'

/** Each chunk takes about 10 ms. */
const CHUNKS_PER_TRANSACTION = 50

/**
 * Stores snapshots of the entries posted since the last run, chunk by chunk, so that past balances
 * need not be summed from the start. Without new entries it costs one query per shard. Safe to run
 * concurrently with posting and with itself. Balances are correct without snapshots but slow: run
 * it every few seconds.
 * @returns the number of chunks
 */
export async function takeSnapshots(pool: Pool): Promise<number> {
  const shards = await readShards(pool)
  const taken = await Promise.all(shards.map((shard) => takeShardSnapshots(pool, shard)))
  return taken.reduce((sum, chunks) => sum + chunks, 0)
}

async function takeShardSnapshots(pool: Pool, shard: number): Promise<number> {
  let taken = 0
  for (let chunks = CHUNKS_PER_TRANSACTION; chunks === CHUNKS_PER_TRANSACTION; taken += chunks) {
    const { rows } = await pool.query<{ chunks: number }>(
      'SELECT ledger.take_snapshots($1, $2) AS chunks',
      [shard, CHUNKS_PER_TRANSACTION],
    )
    chunks = rows[0]!.chunks
  }
  return taken
}

const DAYS_PER_TRANSACTION = 10

/**
 * Stores the end-of-day balances of past days, the latest first, so that their trial balances need
 * not be summed account by account. Takes as long as `balancesAt` for each day. Safe to run
 * concurrently with posting and with itself. Trial balances are correct without it.
 * @returns the number of days
 */
export async function summarizeDays(pool: Pool): Promise<number> {
  for (let total = 0; ; ) {
    const days = await inTransaction(
      pool,
      async (client) => {
        const { rows } = await client.query<{ days: number }>(
          'SELECT ledger.end_days($1) AS days',
          [DAYS_PER_TRANSACTION],
        )
        return rows[0]!.days
      },
      'SET LOCAL statement_timeout = 0',
    )
    total += days
    if (days < DAYS_PER_TRANSACTION) return total
  }
}
