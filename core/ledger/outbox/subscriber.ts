import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'

/** Entries of one shard, from the first number to the last, in the order in which they were booked. */
export interface Page {
  readonly shard: number
  readonly from: bigint
  readonly to: bigint
  /** It was handled before: what it keeps is made anew, and nothing leaves the database again. */
  readonly replay: boolean
}

/**
 * A reader of the journal's order, which is the outbox: every entry once, in order, in the same
 * transaction as its effect. Slow work is handed on from there, never done.
 */
export interface Subscriber {
  readonly name: string
  /** What it keeps, and is cleared by a rebuild; nothing else may depend on how entries fall on pages. */
  readonly tables: readonly string[]
  /** Whatever it does belongs to the transaction of `client`; when it throws, nothing happened. */
  handle(client: PoolClient, page: Page): Promise<void>
}

const PAGE_MAX = 1_000n

/**
 * Handles the next page of a shard, together with any number of other processes: one of them has the
 * place, the others pass by.
 * @returns how many entries it handled; 0 when there are none, or another process is at work
 */
export function advance(
  pool: Pool,
  subscriber: Subscriber,
  shard: number,
  pageMax = PAGE_MAX,
): Promise<bigint> {
  return inTransaction(pool, async (client) => {
    await client.query(
      'INSERT INTO hub.cursor (name, shard, seq) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING',
      [subscriber.name, shard],
    )
    const { rows } = await client.query<{ seq: bigint; replayTo: bigint; head: bigint }>(
      `SELECT c.seq, c.replay_to AS "replayTo", h.seq AS head
       FROM hub.cursor c JOIN ledger.head h ON h.shard = c.shard
       WHERE c.name = $1 AND c.shard = $2 FOR UPDATE OF c SKIP LOCKED`,
      [subscriber.name, shard],
    )
    const [place] = rows
    if (!place || place.seq >= place.head) return 0n
    const replay = place.seq < place.replayTo
    const end = least(place.seq + pageMax, place.head)
    const to = replay ? least(end, place.replayTo) : end
    await subscriber.handle(client, { shard, from: place.seq + 1n, to, replay })
    await client.query('UPDATE hub.cursor SET seq = $3 WHERE name = $1 AND shard = $2', [
      subscriber.name,
      shard,
      to,
    ])
    return to - place.seq
  })
}

/**
 * Clears what a subscriber keeps and sends it back to the first entry, in one transaction that waits for
 * pages at work. Whoever advances it next makes everything anew; what had been handed on is not again.
 */
export function rebuild(pool: Pool, { name, tables }: Subscriber): Promise<void> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT FROM hub.cursor WHERE name = $1 ORDER BY shard FOR UPDATE', [name])
    for (const table of tables) await client.query(`DELETE FROM ${table}`)
    await client.query(
      `UPDATE hub.cursor SET seq = 0, replay_to = greatest(replay_to, seq) WHERE name = $1`,
      [name],
    )
  })
}

/** Handles all that there is, on every shard. @returns how many entries */
export async function catchUp(pool: Pool, subscriber: Subscriber): Promise<bigint> {
  const { rows } = await pool.query<{ shard: number }>(
    'SELECT shard FROM ledger.head ORDER BY shard',
  )
  let handled = 0n
  for (const { shard } of rows) {
    for (let page = -1n; page !== 0n; handled += page) {
      page = await advance(pool, subscriber, shard)
    }
  }
  return handled
}

export interface Lag {
  readonly name: string
  readonly shard: number
  /** Entries that it has still to handle. */
  readonly behind: bigint
}

/** How far the readers of the journal are behind it. */
export async function lags(pool: Pool): Promise<readonly Lag[]> {
  const { rows } = await pool.query<Lag>(
    `SELECT c.name, c.shard, h.seq - c.seq AS behind FROM hub.cursor c
     JOIN ledger.head h ON h.shard = c.shard ORDER BY c.name, c.shard`,
  )
  return rows
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
