import type { Pool } from 'pg'
import { readShards } from '../shards.ts'
import { readBundle } from './leaves.ts'
import type { LogStore } from './log-store.ts'
import { findSignedTree, HEADS, type SignedTree, signedTreeOf, treeName } from './signed-tree.ts'
import { StoredTree } from './stored-tree.ts'
import { newTiles, tilePath } from './tile.ts'
import { readRoot } from './tree.ts'

/** A tree as it is published now. */
export interface PublishedTree {
  /** Number of the shard, or `heads`. */
  readonly tree: string
  /** Leaves that the published checkpoint covers. */
  readonly size: number
  /** Files of hashes and leaves written now. */
  readonly tiles: number
}

/** The published tree is not a prefix of the tree in the database. */
export class ForkError extends Error {
  override readonly name = 'ForkError'
}

const TILES_PER_READ = 64

/** A tree to be published, and what is published of it. */
interface Publication {
  readonly stored: StoredTree
  readonly signed: SignedTree
  readonly before: SignedTree | undefined
}

/**
 * Publishes the signed Merkle trees as static files of C2SP tlog-tiles: in a folder for each shard,
 * and one for the tree of checkpoints, `checkpoint`, and its tiles below `tile`. Only what was
 * added since the last time is written, the checkpoint last. Without bundles of entries, which are
 * not public; those of checkpoints are.
 * @throws ForkError if a published checkpoint contradicts the journal; nothing is written
 */
export async function publishTrees(
  pool: Pick<Pool, 'query'>,
  store: LogStore,
): Promise<readonly PublishedTree[]> {
  // The tree of checkpoints is read first and written last: its leaves are published before it.
  const heads = await findSignedTree(pool, HEADS)
  const publications: Publication[] = []
  for (const tree of [...(await readShards(pool)), HEADS]) {
    const signed = tree === HEADS ? heads : await findSignedTree(pool, tree)
    if (!signed) continue
    const before = await readPublished(store, tree)
    const stored = new StoredTree(pool, tree)
    await assertContained(stored, before, signed.size)
    publications.push({ stored, signed, before })
  }
  const published: PublishedTree[] = []
  for (const each of publications) published.push(await publishTree(pool, store, each))
  return published
}

async function publishTree(
  pool: Pick<Pool, 'query'>,
  store: LogStore,
  { stored, signed: { size, note }, before }: Publication,
): Promise<PublishedTree> {
  const folder = treeName(stored.shard)
  const tiles = [...newTiles(before?.size ?? 0, size)]
  const bundles = stored.shard === HEADS ? tiles.filter(({ level }) => level === 0) : []
  for (let at = 0; at < tiles.length; at += TILES_PER_READ) {
    const some = tiles.slice(at, at + TILES_PER_READ)
    const contents = await stored.readTiles(some)
    await Promise.all(
      some.map((tile, n) => store.write(`${folder}/${tilePath(tile)}`, contents[n]!)),
    )
  }
  for (const tile of bundles) {
    await store.write(`${folder}/${tilePath(tile, 'entries')}`, await readBundle(pool, tile))
  }
  if (note !== before?.note) await store.write(`${folder}/checkpoint`, Buffer.from(note))
  return { tree: folder, size, tiles: tiles.length + bundles.length }
}

async function readPublished(store: LogStore, tree: number): Promise<SignedTree | undefined> {
  const file = `${treeName(tree)}/checkpoint`
  const note = await store.read(file)
  if (note === undefined) return undefined
  const signed = signedTreeOf(note.toString('utf8'), tree)
  if (!signed) throw new ForkError(`${store.place}/${file} is not a checkpoint of this tree.`)
  return signed
}

/** @throws ForkError unless the published tree is a prefix of the stored one */
async function assertContained(
  tree: StoredTree,
  published: SignedTree | undefined,
  size: number,
): Promise<void> {
  if (!published) return
  const place = `The checkpoint of ${published.size} leaves that is published for`
  const name = tree.shard === HEADS ? 'all shards' : `shard ${tree.shard}`
  if (published.size > size) {
    throw new ForkError(`${place} ${name} is newer than the journal, which has ${size}.`)
  }
  if (!(await readRoot(tree, published.size)).equals(published.root)) {
    throw new ForkError(`${place} ${name} has another root than the journal.`)
  }
}
