import type { PoolClient } from 'pg'
import { HASH_BYTES, leafHash } from '../../crypto/merkle.ts'
import type { TreeBuilder } from './tree-builder.ts'

/** Leaves in memory at once: 512 kB. */
export const LEAVES_PER_PAGE = 16_384

/**
 * Reads the leaf hashes of a page of entries of a shard, after seq `from`. The entry of seq n is
 * leaf n − 1 of the tree; its data is the `leaf` of its row.
 * @throws RangeError if the entries do not continue at `from` without a gap
 */
export async function readLeafHashes(
  client: PoolClient,
  shard: number,
  { from, max }: { readonly from: number; readonly max: number },
): Promise<readonly Buffer[]> {
  const { rows } = await client.query<LeafPage>(
    `SELECT count(*) AS count, min(p.seq) AS first, max(p.seq) AS last,
       string_agg(p.leaf, '' ORDER BY p.seq) AS leaves
     FROM (SELECT j.seq, j.leaf FROM ledger.journal j
       WHERE j.shard = $1 AND j.seq > $2 ORDER BY j.seq LIMIT $3) p`,
    [shard, from, max],
  )
  const { count, first, last, leaves } = rows[0]!
  if (leaves === null) return []
  const isContinuous = first === BigInt(from) + 1n && last === BigInt(from) + count
  if (!isContinuous || BigInt(leaves.length) !== count * BigInt(HASH_BYTES)) {
    throw new RangeError(`shard ${shard} has a gap or a malformed leaf after seq ${from}`)
  }
  const hashes: Buffer[] = []
  for (let at = 0; at < leaves.length; at += HASH_BYTES) {
    hashes.push(leafHash(leaves.subarray(at, at + HASH_BYTES)))
  }
  return hashes
}

interface LeafPage {
  readonly count: bigint
  readonly first: bigint | null
  readonly last: bigint | null
  readonly leaves: Buffer | null
}

/**
 * Appends the entries of a shard up to seq `to`, page by page.
 * @throws RangeError if the journal has a gap or ends before
 */
export async function appendEntries(
  client: PoolClient,
  shard: number,
  builder: TreeBuilder,
  to: number,
): Promise<void> {
  while (builder.size < to) {
    const max = Math.min(LEAVES_PER_PAGE, to - builder.size)
    const hashes = await readLeafHashes(client, shard, { from: builder.size, max })
    if (hashes.length === 0) throw new RangeError(`shard ${shard} ends after seq ${builder.size}`)
    for (const hash of hashes) builder.append(hash)
  }
}
