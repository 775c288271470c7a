import type { Pool, PoolClient } from 'pg'
import { isDistributed } from '../../db/citus/is-distributed.ts'
import { inTransaction } from '../../db/transaction.ts'
import { readHeads } from '../shards.ts'

/** Range of entries of one shard, in the order of posting; both ends inclusive. */
export interface Page {
  readonly shard: number
  readonly from: bigint
  readonly to: bigint
  /** True if the entries were handled before: tables are rebuilt, nothing is sent out again. */
  readonly replay: boolean
}

/** Handles every journal entry once, in order, in one transaction. Queue slow work as a job. */
export interface Subscriber {
  readonly name: string
  /** Tables that it writes; a rebuild clears them. Their content must not depend on page sizes. */
  readonly tables: readonly string[]
  /** Handles a page in the transaction of `client`, which is rolled back if this throws. */
  handle(client: PoolClient, page: Page): Promise<void>
}

/** A subscriber threw on this page. Its effect and its cursor were rolled back. */
export class PageFailed extends Error {
  override readonly name = 'PageFailed'
  readonly page: Page

  constructor(subscriber: string, page: Page, cause: unknown) {
    const { shard, from, to } = page
    super(`${subscriber} failed on shard ${shard}, entries ${from} to ${to}`, { cause })
    this.page = page
  }
}

/** Pages of a thousand entries cost three times as much CPU time for each. */
export const PAGE_MAX = 10_000n

/**
 * Forbids sequential scans, which look cheap in a young journal, and expensive plans. Citus cannot
 * send generic plans to a node.
 */
const planSettings = (isCluster: boolean): string =>
  `SET LOCAL enable_seqscan = off; SET LOCAL jit = off;
   SET LOCAL plan_cache_mode = ${isCluster ? 'auto' : 'force_generic_plan'}`

/** Results of `isDistributed` by pool; they never change while a hub runs. */
const clusters = new WeakMap<Pool, Promise<boolean>>()

function isCluster(pool: Pool): Promise<boolean> {
  const known = clusters.get(pool) ?? isDistributed(pool)
  clusters.set(pool, known)
  known.catch(() => clusters.delete(pool))
  return known
}

/** Creates the cursors of a new subscriber before the first entry. @returns the shards */
export async function enroll(pool: Pool, { name }: Subscriber): Promise<readonly number[]> {
  const heads = await readHeads(pool)
  const shards = [...heads.keys()]
  await pool.query(
    `INSERT INTO hub.cursor (name, shard, seq, replay_to)
     SELECT $1, h.shard, 0, h.seq FROM unnest($2::smallint[], $3::bigint[]) h(shard, seq)
     ON CONFLICT DO NOTHING`,
    [name, shards, [...heads.values()]],
  )
  return shards
}

export interface AdvanceOptions {
  /** Entries, at most. @defaultValue 10000 */
  readonly pageMax?: bigint
  /** Waits for a process that is handling this shard instead of skipping it. */
  readonly wait?: boolean
}

/**
 * Handles the next page of a shard. Any number of processes may call it: one locks the cursor, the
 * others skip the shard.
 * @returns the number of entries handled; 0 if there are none or another process has the lock
 * @throws PageFailed if the subscriber threw
 */
export async function advance(
  pool: Pool,
  subscriber: Subscriber,
  shard: number,
  options: AdvanceOptions = {},
): Promise<bigint> {
  const page = await handlePage(pool, subscriber, shard, options)
  return page ? sizeOf(page) : 0n
}

const sizeOf = ({ from, to }: Page): bigint => to - from + 1n

/** Handles the next page as `advance` does, and returns it; undefined if there was none. */
async function handlePage(
  pool: Pool,
  subscriber: Subscriber,
  shard: number,
  { pageMax = PAGE_MAX, wait = false }: AdvanceOptions,
): Promise<Page | undefined> {
  const handleNext = async (client: PoolClient): Promise<Page | undefined> => {
    const { rows } = await client.query<Cursor>(
      `SELECT seq, replay_to AS "replayTo" FROM hub.cursor
       WHERE name = $1 AND shard = $2 FOR UPDATE ${wait ? '' : 'SKIP LOCKED'}`,
      [subscriber.name, shard],
    )
    const [cursor] = rows
    const head = cursor && (await readHead(client, shard))
    if (!cursor || head === undefined || cursor.seq >= head) return undefined
    const page = { shard, ...nextPage(cursor, head, pageMax) }
    await subscriber.handle(client, page).catch((cause) => {
      throw new PageFailed(subscriber.name, page, cause)
    })
    await client.query('UPDATE hub.cursor SET seq = $3 WHERE name = $1 AND shard = $2', [
      subscriber.name,
      shard,
      page.to,
    ])
    return page
  }
  return inTransaction(pool, handleNext, planSettings(await isCluster(pool)))
}

interface Cursor {
  readonly seq: bigint
  readonly replayTo: bigint
}

async function readHead(client: PoolClient, shard: number): Promise<bigint | undefined> {
  const { rows } = await client.query<{ seq: bigint }>(
    'SELECT seq FROM ledger.head WHERE shard = $1',
    [shard],
  )
  return rows[0]?.seq
}

/** A page is a replay as a whole or not at all. Sequence numbers have no gaps. */
function nextPage({ seq, replayTo }: Cursor, head: bigint, pageMax: bigint): Omit<Page, 'shard'> {
  const replay = seq < replayTo
  const end = lesser(seq + pageMax, head)
  return { from: seq + 1n, to: replay ? lesser(end, replayTo) : end, replay }
}

/**
 * Handles the entries of every shard. A partial page of new entries is the last one of a shard:
 * entries that are posted meanwhile would keep it busy with small pages, whose cost is that of many
 * entries.
 * @returns the number of entries handled
 */
export async function catchUp(pool: Pool, subscriber: Subscriber): Promise<bigint> {
  let handled = 0n
  for (const shard of await enroll(pool, subscriber)) {
    let page: Page | undefined
    do {
      page = await handlePage(pool, subscriber, shard, { wait: true })
      handled += page ? sizeOf(page) : 0n
    } while (page && (page.replay || sizeOf(page) === PAGE_MAX)) // a replay ends before new entries
  }
  return handled
}

/**
 * Clears the tables of a subscriber and moves its cursors before the first entry, in one
 * transaction that waits for pages in progress; then wakes the processes that run it, which rebuild
 * the tables. Nothing is sent out again.
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
 * Moves a subscriber without tables back: it handles all entries after `seq` once more and sends
 * them out again, as for a receiver that lost them.
 * @throws RangeError for a subscriber with tables, which would count entries twice: rebuild it
 */
export async function replay(
  pool: Pool,
  { name, tables }: Subscriber,
  { shard, seq }: { readonly shard: number; readonly seq: bigint },
): Promise<void> {
  if (tables.length > 0) throw new RangeError(`${name} writes tables: rebuild it instead`)
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
  readonly behind: bigint
}

export async function subscriberLags(pool: Pool): Promise<readonly Lag[]> {
  const { rows: cursors } = await pool.query<{ name: string; shard: number; seq: bigint }>(
    'SELECT name, shard, seq FROM hub.cursor ORDER BY name, shard',
  )
  const ends = await readHeads(pool)
  return cursors.flatMap(({ name, shard, seq }) => {
    const end = ends.get(shard)
    return end === undefined ? [] : [{ name, shard, behind: end - seq }]
  })
}

const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b)
