import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool } from 'pg'
import { readShards } from '../shards.ts'
import { findSignedTree, type SignedTree, signedTreeOf } from './signed-tree.ts'
import { StoredTree } from './stored-tree.ts'
import { newTiles, type Tile, tilePath } from './tile.ts'
import { readRoot } from './tree.ts'

/** Tree of a shard, as a folder has it now. */
export interface PublishedTree {
  readonly shard: number
  /** Entries that the published checkpoint covers. */
  readonly size: number
  /** Tiles written now. */
  readonly tiles: number
}

/** A folder whose published tree is not the beginning of the journal. */
export class ForkError extends Error {
  override readonly name = 'ForkError'
}

const TILES_PER_READ = 64

/**
 * Writes the signed Merkle trees into a folder as static files of C2SP tlog-tiles: in a folder for
 * each shard `checkpoint`, and its tiles below `tile`. Only what was added since the last time is
 * written, the checkpoint last. Without bundles of entries, which are not public.
 * @throws ForkError if the folder has a checkpoint that the journal contradicts; nothing is written
 */
export async function publishTrees(
  pool: Pick<Pool, 'query'>,
  folder: string,
): Promise<readonly PublishedTree[]> {
  const published: PublishedTree[] = []
  for (const shard of await readShards(pool)) {
    const signed = await findSignedTree(pool, shard)
    const tree = new StoredTree(pool, shard)
    if (signed) published.push(await publishTree(tree, signed, join(folder, String(shard))))
  }
  return published
}

async function publishTree(
  tree: StoredTree,
  { size, note }: SignedTree,
  folder: string,
): Promise<PublishedTree> {
  const checkpoint = join(folder, 'checkpoint')
  const before = await readPublished(checkpoint)
  await assertContained(tree, before, size)
  const tiles = [...newTiles(before?.size ?? 0, size)]
  for (let at = 0; at < tiles.length; at += TILES_PER_READ) {
    const some = tiles.slice(at, at + TILES_PER_READ)
    const contents = await tree.readTiles(some)
    await Promise.all(some.map((tile, n) => writeTile(folder, tile, contents[n]!)))
  }
  if (note !== before?.note) await writeWhole(checkpoint, note)
  return { shard: tree.shard, size, tiles: tiles.length }
}

async function readPublished(file: string): Promise<SignedTree | undefined> {
  const note = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (note === undefined) return undefined
  const signed = signedTreeOf(note)
  if (!signed) throw new ForkError(`${file} is not a checkpoint of this ledger.`)
  return signed
}

/** @throws ForkError unless the published tree is the beginning of the stored one */
async function assertContained(
  tree: StoredTree,
  published: SignedTree | undefined,
  size: number,
): Promise<void> {
  if (!published) return
  const place = `The checkpoint of ${published.size} entries that is published for shard`
  if (published.size > size) {
    throw new ForkError(`${place} ${tree.shard} is newer than the journal, which has ${size}.`)
  }
  if (!(await readRoot(tree, published.size)).equals(published.root)) {
    throw new ForkError(`${place} ${tree.shard} has another root than the journal.`)
  }
}

const writeTile = (folder: string, tile: Tile, hashes: Buffer): Promise<void> =>
  writeWhole(join(folder, tilePath(tile)), hashes)

/** Writes a file so that readers see the earlier file or the whole new one. */
async function writeWhole(file: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.part`, content)
  await rename(`${file}.part`, file)
}
