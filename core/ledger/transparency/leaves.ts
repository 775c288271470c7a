import type { Pool, PoolClient } from 'pg'
import { HASH_BYTES, leafHash, leafHashes } from '../../crypto/merkle.ts'
import { HEADS, treeName } from './signed-tree.ts'
import { TILE_WIDTH, type Tile } from './tile.ts'
import type { TreeBuilder } from './tree-builder.ts'

/** Leaves in memory at once: 512 kB. */
export const LEAVES_PER_PAGE = 16_384
/** Leaves of `HEADS` in memory at once: checkpoints of about 500 bytes. */
export const HEADS_PER_PAGE = 1_024

interface Page {
  /** Leaves before the page. */
  readonly from: number
  readonly max: number
}

/**
 * Reads the hashes of a page of leaves of a tree, one after the other.
 * @throws RangeError if the leaves do not continue at `from` without a gap
 */
export async function readLeafHashes(
  client: PoolClient,
  tree: number,
  page: Page,
): Promise<Buffer> {
  if (tree !== HEADS) return readEntryHashes(client, tree, page)
  const notes = await readHeads(client, page)
  return Buffer.concat(notes.map((note) => leafHash(note)))
}

/**
 * Reads a page of the checkpoints that are the leaves of `HEADS`.
 * @throws RangeError if one of them is missing
 */
async function readHeads(
  client: Pick<Pool, 'query'>,
  { from, max }: Page,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ index: bigint; note: string }>(
    'SELECT index, note FROM ledger.signed_head WHERE index >= $1 ORDER BY index LIMIT $2',
    [from, Math.min(max, HEADS_PER_PAGE)],
  )
  return rows.map(({ index, note }, n) => {
    if (index === BigInt(from + n)) return note
    throw new RangeError(`${treeName(HEADS)}: the checkpoint of leaf ${from + n} is missing`)
  })
}

/**
 * Reads the leaves of a tile of `HEADS` as an entry bundle of C2SP tlog-tiles: each with its length
 * in two bytes before it.
 * @throws RangeError if a checkpoint is missing
 */
export async function readBundle(db: Pick<Pool, 'query'>, { index, width }: Tile): Promise<Buffer> {
  const notes = await readHeads(db, { from: index * TILE_WIDTH, max: width })
  if (notes.length !== width) {
    throw new RangeError(`${treeName(HEADS)}: leaves from ${index * TILE_WIDTH} on are missing`)
  }
  return Buffer.concat(
    notes.flatMap((note) => {
      const data = Buffer.from(note, 'utf8')
      const length = Buffer.alloc(2)
      length.writeUInt16BE(data.length)
      return [length, data]
    }),
  )
}

/** Leaf hashes of entries. The entry of seq n is leaf n − 1; its data is the `leaf` of its row. */
async function readEntryHashes(
  client: PoolClient,
  shard: number,
  { from, max }: Page,
): Promise<Buffer> {
  const { rows } = await client.query<LeafPage>(
    `SELECT count(*) AS count, min(p.seq) AS first, max(p.seq) AS last,
       string_agg(p.leaf, '' ORDER BY p.seq) AS leaves
     FROM (SELECT j.seq, j.leaf FROM ledger.journal j
       WHERE j.shard = $1 AND j.seq > $2 ORDER BY j.seq LIMIT $3) p`,
    [shard, from, max],
  )
  const { count, first, last, leaves } = rows[0]!
  if (leaves === null) return Buffer.alloc(0)
  const isContinuous = first === BigInt(from) + 1n && last === BigInt(from) + count
  if (!isContinuous || BigInt(leaves.length) !== count * BigInt(HASH_BYTES)) {
    throw new RangeError(`shard ${shard} has a gap or a malformed leaf after seq ${from}`)
  }
  return leafHashes(leaves)
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
    builder.append(hashes)
  }
}
