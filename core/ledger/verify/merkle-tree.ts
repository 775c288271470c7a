import type { PoolClient } from 'pg'
import { HASH_BYTES } from '../../crypto/merkle.ts'
import { type Note, parseNote } from '../checkpoint.ts'
import { parseHeadsNote } from '../transparency/heads-note.ts'
import { appendEntries, LEAVES_PER_PAGE, readLeafHashes } from '../transparency/leaves.ts'
import { HEADS, treeName } from '../transparency/signed-tree.ts'
import { StoredTree } from '../transparency/stored-tree.ts'
import { TILE_WIDTH, tilePath } from '../transparency/tile.ts'
import { readRoot } from '../transparency/tree.ts'
import { type FilledTile, TileBuilder, TreeBuilder } from '../transparency/tree-builder.ts'
import type { Findings } from './findings.ts'

export const TREE = 'the Merkle tree is that of the journal, with the signed roots'
/** Entries that one run adds to a tree that it does not store. */
const ENTRIES_MAX = 1_000_000
const NOTES_PER_PAGE = 1_000

export type SignedRoot = Pick<Note, 'seq' | 'root'>

const label = (tree: number): string => (tree === HEADS ? treeName(tree) : `shard ${tree}`)

/**
 * Computes the root that a checkpoint at `to` signs. Starts from stored tiles, and checks that they
 * have the root signed last and, if they reach that far, the one returned.
 * @returns undefined if the stored tree is too far behind, or the journal and its tree differ
 */
export async function computeRoot(
  client: PoolClient,
  { shard, to }: { readonly shard: number; readonly to: bigint },
  newest: SignedRoot | undefined,
  findings: Findings,
): Promise<Buffer | undefined> {
  findings.list(TREE)
  const tree = new StoredTree(client, shard)
  const stored = await tree.size()
  const end = Number(to)
  const signed = newest?.root ? Number(newest.seq) : end
  const start = Math.min(stored, signed, end)
  if (end - start > ENTRIES_MAX) return undefined
  try {
    const builder = new TreeBuilder(start, await tree.lastTiles(start))
    if (newest?.root) {
      await appendEntries(client, shard, builder, signed)
      checkRoot(builder, shard, newest, findings)
    }
    await appendEntries(client, shard, builder, end)
    const root = builder.root()
    if (stored >= end && !(await readRoot(tree, end)).equals(root)) {
      findings.add(TREE, `shard ${shard} seq ${end}: the stored tiles have another root`)
    }
    return root
  } catch (error) {
    addFault(findings, error)
    return undefined
  }
}

/** Signed roots of a tree that are stored elsewhere, and a visitor of those in the database. */
interface SignedRoots {
  readonly others: readonly SignedRoot[]
  readonly visit?: (checkpoint: { readonly seq: bigint; readonly note: string }) => void
}

/**
 * Builds a tree from its leaves and compares it with the stored tiles and with the
 * root of every checkpoint: those in the database, which it visits, and others.
 */
export async function verifyTree(
  client: PoolClient,
  shard: number,
  signed: SignedRoots,
  findings: Findings,
): Promise<void> {
  findings.list(TREE)
  const tree = new StoredTree(client, shard)
  const stored = await tree.size()
  const builder = new TileBuilder()
  const roots = signedRoots(client, shard, signed)
  let next = await roots.next()
  const addMissing = (place: string): void =>
    findings.add(TREE, `${label(shard)} ${place}: the journal ends before`)
  try {
    for (;;) {
      const from = builder.size
      const max = from < stored ? Math.min(stored - from, LEAVES_PER_PAGE) : LEAVES_PER_PAGE
      const hashes = await readLeafHashes(client, shard, { from, max })
      let at = 0
      while (!next.done && Number(next.value.seq) <= from + hashes.length / HASH_BYTES) {
        const end = (Number(next.value.seq) - from) * HASH_BYTES
        builder.append(hashes.subarray(at, end))
        at = end
        checkRoot(builder, shard, next.value, findings)
        next = await roots.next()
      }
      builder.append(hashes.subarray(at))
      const tiles = builder.take()
      if (builder.size <= stored) await compareTiles(tree, tiles, findings)
      if (hashes.length === 0) break
    }
    if (builder.size < stored) addMissing(`tree of ${stored} entries`)
    if (!next.done) addMissing(`checkpoint of seq ${next.value.seq}`)
  } catch (error) {
    addFault(findings, error)
  }
  while (!next.done) next = await roots.next()
}

const SIGNED_HEADS = `SELECT c.size AS seq, 0::bigint AS audit, c.note
  FROM ledger.heads_checkpoint c
  WHERE $1 = ${HEADS} AND (c.size, 0::bigint) > ($2, $3) ORDER BY c.size LIMIT ${NOTES_PER_PAGE}`
const SIGNED_SHARD = `SELECT c.seq, c.audit, c.note FROM ledger.checkpoint c
  WHERE c.shard = $1 AND (c.seq, c.audit) > ($2, $3) ORDER BY c.seq, c.audit
  LIMIT ${NOTES_PER_PAGE}`

/** Yields the signed roots of a tree in the order of their sizes. */
async function* signedRoots(
  client: PoolClient,
  shard: number,
  { others, visit }: SignedRoots,
): AsyncGenerator<SignedRoot> {
  const rest = others.filter(({ root }) => root).toSorted((a, b) => (a.seq < b.seq ? -1 : 1))
  let last = { seq: 0n, audit: 0n }
  for (let full = true; full; ) {
    const { rows } = await client.query<typeof last & { note: string }>(
      shard === HEADS ? SIGNED_HEADS : SIGNED_SHARD,
      [shard, last.seq, last.audit],
    )
    for (const { seq, note } of rows) {
      visit?.({ seq, note })
      while (rest.length > 0 && rest[0]!.seq <= seq) yield rest.shift()!
      const { root } = (shard === HEADS ? parseHeadsNote(note) : parseNote(note)) ?? {}
      if (root) yield { seq, root }
    }
    full = rows.length === NOTES_PER_PAGE
    last = rows.at(-1) ?? last
  }
  yield* rest
}

function checkRoot(
  builder: TreeBuilder,
  shard: number,
  { seq, root }: SignedRoot,
  findings: Findings,
): void {
  if (root?.equals(builder.root())) return
  findings.add(TREE, `${label(shard)} checkpoint of seq ${seq}: it signs another root`)
}

async function compareTiles(
  tree: StoredTree,
  tiles: readonly FilledTile[],
  findings: Findings,
): Promise<void> {
  const stored = await tree.readTiles(tiles)
  for (const [n, tile] of tiles.entries()) {
    if (tile.hashes.equals(stored[n]!)) continue
    const place = tile.level === 0 ? `seq ${firstDifference(tile, stored[n]!)}` : tilePath(tile)
    findings.add(TREE, `${label(tree.shard)} ${place}: the stored tile differs from the journal`)
  }
}

/** Sequence number of the first entry whose hash a tile of level 0 does not have. */
function firstDifference({ index, hashes }: FilledTile, stored: Buffer): number {
  let place = 0
  while (isSameHash(hashes, stored, place)) place++
  return index * TILE_WIDTH + place + 1
}

const isSameHash = (a: Buffer, b: Buffer, place: number): boolean => {
  const [start, end] = [place * HASH_BYTES, (place + 1) * HASH_BYTES]
  return a.subarray(start, end).equals(b.subarray(start, end))
}

/** Adds a fault of the journal or the tiles to the findings; throws every other error. */
function addFault(findings: Findings, error: unknown): void {
  if (!(error instanceof RangeError)) throw error
  findings.add(TREE, error.message)
}
