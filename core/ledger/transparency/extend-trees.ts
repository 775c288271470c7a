import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { readShards } from '../shards.ts'
import { LEAVES_PER_PAGE, readLeafHashes } from './leaves.ts'
import { StoredTree } from './stored-tree.ts'
import { TileBuilder } from './tree-builder.ts'

/**
 * Forbids plans that look cheap in a young journal: sequential scans, and bitmap scans, which read
 * all entries that follow a page.
 */
const PLAN_SETTINGS =
  'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off'

/** Shards at once: PostgreSQL reads the entries of one while this process hashes another's. */
const CONCURRENCY = 2

/**
 * Adds the entries posted since the last run to the Merkle tree of each shard, page by page.
 * Safe to run concurrently with posting and with itself, and to interrupt: a page is stored
 * completely or not at all.
 * @returns the number of entries added
 * @throws RangeError if the journal has a gap, or stored tiles do not fit the size of their tree
 */
export async function extendTrees(
  pool: Pool,
  stopping?: AbortSignal,
  pageMax = LEAVES_PER_PAGE,
): Promise<number> {
  const shards = (await readShards(pool)).values()
  const extendNext = async (): Promise<number> => {
    let total = 0
    for (const shard of shards) total += await extendTree(pool, shard, pageMax, stopping)
    return total
  }
  const totals = await Promise.all(Array.from({ length: CONCURRENCY }, extendNext))
  return totals.reduce((sum, total) => sum + total, 0)
}

/**
 * Adds the missing leaves to one tree. A partial page is the last one: leaves that are added
 * meanwhile would keep it busy with small pages, whose cost is that of many leaves.
 * @param pageMax leaves of a full page; for `HEADS`, at most `HEADS_PER_PAGE`
 * @returns the number of leaves added
 * @throws RangeError as `extendTrees`
 */
export async function extendTree(
  pool: Pool,
  tree: number,
  pageMax = LEAVES_PER_PAGE,
  stopping?: AbortSignal,
): Promise<number> {
  let total = 0
  for (let added = pageMax; added === pageMax; total += added) {
    added = stopping?.aborted ? 0 : await addPage(pool, tree, pageMax)
  }
  return total
}

/** Adds a page of leaves; returns their number, 0 if another process extends the tree. */
const addPage = (pool: Pool, shard: number, pageMax: number): Promise<number> =>
  inTransaction(
    pool,
    async (client) => {
      const tree = new StoredTree(client, shard)
      const from = await tree.size()
      const hashes = await readLeafHashes(client, shard, { from, max: pageMax })
      if (hashes.length === 0) return 0
      const builder = new TileBuilder(from, await tree.lastTiles(from))
      builder.append(hashes)
      const tiles = builder.take()
      const { rows } = await client.query<{ isStored: boolean }>(
        'SELECT ledger.extend_tree($1, $2, $3, $4, $5, $6) AS "isStored"',
        [
          shard,
          from,
          builder.size,
          tiles.map(({ level }) => level),
          tiles.map(({ index }) => index),
          tiles.map(({ hashes }) => hashes),
        ],
      )
      return rows[0]!.isStored ? builder.size - from : 0
    },
    PLAN_SETTINGS,
  )
