import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'

/** Chunks in one transaction: each takes some 10 ms. */
const CHUNKS_AT_ONCE = 50

/**
 * Sums up what was booked since the last run, chunk by chunk, so that balances of the past need not
 * be added up from the start. Idle, it costs a query for each shard; it may run beside bookings and
 * beside itself. Balances are right without it, but late runs make them slow: run it every few
 * seconds.
 * @returns how many chunks it summed up
 */
export async function takeSnapshots(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ shard: number }>('SELECT shard FROM ledger.head')
  const taken = await Promise.all(rows.map(({ shard }) => ofShard(pool, shard)))
  return taken.reduce((sum, chunks) => sum + chunks, 0)
}

async function ofShard(pool: Pool, shard: number): Promise<number> {
  let taken = 0
  for (let made = CHUNKS_AT_ONCE; made === CHUNKS_AT_ONCE; taken += made) {
    const { rows } = await pool.query<{ made: number }>(
      'SELECT ledger.take_snapshots($1, $2) AS made',
      [shard, CHUNKS_AT_ONCE],
    )
    made = rows[0]!.made
  }
  return taken
}

/** Days in one transaction. */
const DAYS_AT_ONCE = 10

/**
 * Sums up the days that are over, the latest first, so that the trial balance of one need not
 * be added up account by account: that is done here once, and takes as long as `balancesAt`. It may
 * run beside bookings and beside itself. Trial balances are right without it.
 * @returns how many days it summed up
 */
export async function endDays(pool: Pool): Promise<number> {
  for (let days = 0; ; ) {
    const made = await inTransaction(
      pool,
      async (client) => {
        const { rows } = await client.query<{ made: number }>(
          'SELECT ledger.end_days($1) AS made',
          [DAYS_AT_ONCE],
        )
        return rows[0]!.made
      },
      'SET LOCAL statement_timeout = 0',
    )
    days += made
    if (made < DAYS_AT_ONCE) return days
  }
}

/**
 * SQL that answers the snapshots, as (shard, seq, example), that are not what the journal says. It
 * sums up the whole journal; `ledger.wrong_snapshots(shard, after, upto)` does so for a part of one
 * shard.
 */
export const SNAPSHOT_CHECK = `
  SELECT h.shard, w.seq, w.example FROM ledger.head h
  CROSS JOIN LATERAL ledger.wrong_snapshots(h.shard, 0, 9223372036854775807) w`
