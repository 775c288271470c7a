import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'

/** Entries of one shard, from the first number to the last, in the order of booking. */
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
  /** What it keeps; a rebuild clears it. It must not depend on how entries fall on pages. */
  readonly tables: readonly string[]
  /** Whatever it does belongs to the transaction of `client`; when it throws, nothing happened. */
  handle(client: PoolClient, page: Page): Promise<void>
}

/** A subscriber threw. Its effect, and the move of its place, were rolled back. */
export class PageFailed extends Error {
  override readonly name = 'PageFailed'
  readonly page: Page

  constructor(subscriber: string, page: Page, cause: unknown) {
    const { shard, from, to } = page
    super(`${subscriber} failed on shard ${shard}, entries ${from} to ${to}`, { cause })
    this.page = page
  }
}

export const PAGE_MAX = 1_000n

/**
 * The statistics of a young journal make a scan of all of it look cheap; and what subscribers ask
 * is the same for every page, and takes longer to plan than to do.
 */
const PLANS = `SET LOCAL enable_seqscan = off; SET LOCAL jit = off;
  SET LOCAL plan_cache_mode = force_generic_plan`

/**
 * Gives a new subscriber its place, before the first entry of every shard. What is booked already
 * is history to it: it is handled, and not handed on.
 * @returns the shards
 */
export async function enrol(pool: Pool, { name }: Subscriber): Promise<readonly number[]> {
  const { rows } = await pool.query<{ shard: number }>(
    `WITH new AS (INSERT INTO hub.cursor (name, shard, seq, replay_to)
       SELECT $1, shard, 0, seq FROM ledger.head ON CONFLICT DO NOTHING)
     SELECT shard FROM ledger.head ORDER BY shard`,
    [name],
  )
  return rows.map(({ shard }) => shard)
}

export interface AdvanceOptions {
  /** Entries at most. @defaultValue 1000 */
  readonly pageMax?: bigint
  /** Waits for a process that is at work here, instead of passing by. */
  readonly wait?: boolean
}

/**
 * Handles the next page of a shard, together with any number of other processes: one of them has
 * the place, the others pass by.
 * @returns how many entries it handled; 0 when there are none, or another process is at work
 * @throws PageFailed when the subscriber threw
 */
export function advance(
  pool: Pool,
  subscriber: Subscriber,
  shard: number,
  { pageMax = PAGE_MAX, wait = false }: AdvanceOptions = {},
): Promise<bigint> {
  const handleNext = async (client: PoolClient): Promise<bigint> => {
    const { rows } = await client.query<Place>(
      `SELECT c.seq, c.replay_to AS "replayTo", h.seq AS head
       FROM hub.cursor c JOIN ledger.head h ON h.shard = c.shard
       WHERE c.name = $1 AND c.shard = $2 FOR UPDATE OF c ${wait ? '' : 'SKIP LOCKED'}`,
      [subscriber.name, shard],
    )
    const [place] = rows
    if (!place || place.seq >= place.head) return 0n
    const page = { shard, ...nextPage(place, pageMax) }
    await subscriber.handle(client, page).catch((cause) => {
      throw new PageFailed(subscriber.name, page, cause)
    })
    await client.query('UPDATE hub.cursor SET seq = $3 WHERE name = $1 AND shard = $2', [
      subscriber.name,
      shard,
      page.to,
    ])
    return page.to - place.seq
  }
  return inTransaction(pool, handleNext, PLANS)
}

interface Place {
  readonly seq: bigint
  readonly replayTo: bigint
  readonly head: bigint
}

/** All of a page is a replay, or nothing of it. The journal's numbers have no gaps. */
function nextPage({ seq, replayTo, head }: Place, pageMax: bigint): Omit<Page, 'shard'> {
  const replay = seq < replayTo
  const end = least(seq + pageMax, head)
  return { from: seq + 1n, to: replay ? least(end, replayTo) : end, replay }
}

/** Handles all that there is, on every shard. @returns how many entries */
export async function catchUp(pool: Pool, subscriber: Subscriber): Promise<bigint> {
  let handled = 0n
  for (const shard of await enrol(pool, subscriber)) {
    for (;;) {
      const page = await advance(pool, subscriber, shard, { wait: true })
      if (page === 0n) break
      handled += page
    }
  }
  return handled
}

/**
 * Clears what a subscriber keeps and sends it back to the first entry, in one transaction that
 * waits for pages at work, and wakes those who run it: they make everything anew. What had been
 * handed on is not handed on again.
 */
export function rebuild(pool: Pool, { name, tables }: Subscriber): Promise<void> {
  return inTransaction(pool, async (client) => {
    await client.query('SELECT FROM hub.cursor WHERE name = $1 ORDER BY shard FOR UPDATE', [name])
    for (const table of tables) await client.query(`DELETE FROM ${table}`)
    await client.query(
      `UPDATE hub.cursor SET seq = 0, replay_to = greatest(replay_to, seq) WHERE name = $1`,
      [name],
    )
    await client.query(`SELECT pg_notify('ledger', shard::text) FROM hub.cursor WHERE name = $1`, [
      name,
    ])
  })
}

/**
 * Sends a subscriber that keeps nothing back to a place in a shard: it handles, and hands on,
 * everything after entry `seq` once more, as for a receiver that lost what it was told.
 * @throws RangeError for one that keeps something, which would count twice: it is to be rebuilt
 */
export async function replay(
  pool: Pool,
  { name, tables }: Subscriber,
  { shard, seq }: { readonly shard: number; readonly seq: bigint },
): Promise<void> {
  if (tables.length > 0) throw new RangeError(`${name} keeps what it was told: rebuild it`)
  await inTransaction(pool, async (client) => {
    await client.query(
      `UPDATE hub.cursor SET seq = least(seq, $3), replay_to = least(replay_to, $3)
       WHERE name = $1 AND shard = $2`,
      [name, shard, seq],
    )
    await client.query(`SELECT pg_notify('ledger', $1)`, [String(shard)])
  })
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
