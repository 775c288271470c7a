import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { readShards } from '../shards.ts'
import { HASH_BYTES, leafHash } from './merkle.ts'
import { StoredTree } from './stored-tree.ts'

/** Entries per transaction: 512 kB of leaves. */
const ENTRIES_PER_TRANSACTION = 16_384

/** Forbids sequential scans, which look cheap in a young journal. */
const PLAN_SETTINGS = 'SET LOCAL enable_seqscan = off; SET LOCAL jit = off'

/**
 * Adds the entries posted since the last run to the Merkle tree of each shard, page by page. The
 * entry of seq n is leaf n − 1; its data is the `leaf` of its row. Safe to run concurrently with
 * posting and with itself, and to interrupt: a page is stored completely or not at all.
 * @returns the number of entries added
 * @throws RangeError if the journal has a gap, or stored tiles do not fit the size of their tree
 */
export async function extendTrees(
  pool: Pool,
  stopping?: AbortSignal,
  pageMax = ENTRIES_PER_TRANSACTION,
): Promise<number> {
  let total = 0
  for (const shard of await readShards(pool)) {
    for (;;) {
      if (stopping?.aborted) return total
      const added = await extendTree(pool, shard, pageMax)
      if (added === 0) break
      total += added
    }
  }
  return total
}

/** Adds a page of entries; returns their number, 0 if another process extends the tree. */
const extendTree = (pool: Pool, shard: number, pageMax: number): Promise<number> =>
  inTransaction(
    pool,
    async (client) => {
      const tree = new StoredTree(client, shard)
      const from = await tree.size()
      const { rows } = await client.query<LeafPage>(
        `SELECT count(*) AS count, min(p.seq) AS first, max(p.seq) AS last,
           string_agg(p.leaf, '' ORDER BY p.seq) AS leaves
         FROM (SELECT j.seq, j.leaf FROM ledger.journal j
           WHERE j.shard = $1 AND j.seq > $2 ORDER BY j.seq LIMIT $3) p`,
        [shard, from, pageMax],
      )
      const leaves = checkedLeaves(rows[0]!, shard, from)
      if (leaves.length === 0) return 0
      const builder = await tree.continueAt(from)
      for (let at = 0; at < leaves.length; at += HASH_BYTES) {
        builder.append(leafHash(leaves.subarray(at, at + HASH_BYTES)))
      }
      const tiles = builder.take()
      const { rows: stored } = await client.query<{ isStored: boolean }>(
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
      return stored[0]!.isStored ? builder.size - from : 0
    },
    PLAN_SETTINGS,
  )

interface LeafPage {
  readonly count: bigint
  readonly first: bigint | null
  readonly last: bigint | null
  readonly leaves: Buffer | null
}

/** @throws RangeError unless the entries continue the tree without a gap */
function checkedLeaves({ count, first, last, leaves }: LeafPage, shard: number, from: number) {
  if (leaves === null) return Buffer.alloc(0)
  const isContinuous = first === BigInt(from) + 1n && last === BigInt(from) + count
  if (isContinuous && BigInt(leaves.length) === count * BigInt(HASH_BYTES)) return leaves
  throw new RangeError(`shard ${shard} has a gap or a malformed leaf after seq ${from}`)
}
