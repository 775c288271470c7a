import type { Pool } from 'pg'
import { z } from 'zod'
import { HASH_BYTES } from '../../core/crypto/merkle.ts'
import { Fault } from '../../core/errors.ts'
import { CachedTree } from '../../core/ledger/transparency/cached-tree.ts'
import { readBundle } from '../../core/ledger/transparency/leaves.ts'
import { FOR_EVER } from '../../core/ledger/transparency/log-store.ts'
import {
  findCosignedHeads,
  findSignedTree,
  HEADS,
  treeName,
} from '../../core/ledger/transparency/signed-tree.ts'
import { StoredTree } from '../../core/ledger/transparency/stored-tree.ts'
import { parseTilePath, type Tile, type TileContent } from '../../core/ledger/transparency/tile.ts'
import { readConsistencyProof, readInclusionProof } from '../../core/ledger/transparency/tree.ts'
import { type AnyRoute, route } from './route.ts'

const SHARD = /^(?:0|[1-9]\d{0,3})$/

const size = z.coerce.number().pipe(z.int().min(1).max(Number.MAX_SAFE_INTEGER))
const Hashes = z.array(z.string().meta({ description: 'Base64.' }))

/**
 * Signed Merkle trees (RFC 6962), as files of C2SP tlog-tiles, and their proofs: of the entries of
 * each shard, and `heads`, of the checkpoints of all shards.
 */
export const treeRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  ...fileRoutes(pool),
  ...proofRoutes(pool),
]

const fileRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('GET /v1/ledger/trees/{shard}/checkpoint', {
    summary: 'Returns the newest signed root of the Merkle tree of a ledger shard, or of `heads`.',
    auth: 'none',
    shared: true,
    query: z.object({
      cosignatures: z.coerce.number().pipe(z.int().min(0).max(100)).default(0).meta({
        description: 'Of `heads`: the newest with at least this many cosignatures of witnesses.',
      }),
    }),
    response: { status: 200, type: 'text/plain', schema: z.string() },
    faults: ['not_found'],
    handle: async ({ params, query: { cosignatures } }) => {
      const { note } = await signedTree(pool, readTree(params.shard), cosignatures)
      return { headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: Buffer.from(note) }
    },
  }),
  route('GET /v1/ledger/trees/{shard}/tile/{tile}', {
    summary: 'Returns a tile of hashes, such as `tile/0/x001/234`, or `….p/56` with 56 of them.',
    auth: 'none',
    shared: true,
    hasDeepPath: true,
    response: { status: 200, type: 'application/octet-stream', schema: z.string() },
    faults: ['not_found'],
    handle: async ({ params }) => {
      const path = parseTilePath(`tile/${params.tile}`)
      if (!path) throw new Fault('not_found', 'This is not a C2SP tlog-tiles path.')
      const body = await readFile(pool, readTree(params.shard), path)
      const headers = { 'Content-Type': 'application/octet-stream', 'Cache-Control': FOR_EVER }
      return { headers, body }
    },
  }),
]

/** Reads the hashes of a tile, or its leaves. @throws Fault `not_found` */
async function readFile(
  pool: Pool,
  tree: number,
  { tile, content }: { readonly tile: Tile; readonly content: TileContent },
): Promise<Buffer> {
  if (content === 'entries' && tree !== HEADS) {
    throw new Fault('not_found', 'The entries of a shard are not public.')
  }
  const stored = new StoredTree(pool, tree)
  const [hashes] = await stored.readTiles([tile])
  if (hashes?.length !== tile.width * HASH_BYTES) {
    throw new Fault('not_found', 'The tree does not have this tile yet.')
  }
  return content === 'entries' ? readBundle(pool, tile) : hashes
}

const proofRoutes = (pool: Pool): readonly AnyRoute[] => [
  route('GET /v1/ledger/trees/{shard}/consistency', {
    summary: 'Proves that the tree of `to` entries begins with that of `from` (RFC 6962, 2.1.2).',
    auth: 'none',
    shared: true,
    query: z.object({
      from: size.meta({ description: 'Entries of an earlier checkpoint.' }),
      to: size.optional().meta({ description: 'Entries of a later one. Default: the newest.' }),
    }),
    response: {
      status: 200,
      schema: z.object({ from: z.int(), to: z.int(), hashes: Hashes }),
    },
    faults: ['not_found'],
    handle: async ({ params, query: { from, to: wanted } }) => {
      const tree = readTree(params.shard)
      const to = await coveredSize(pool, tree, wanted)
      if (from > to) throw new Fault('validation_failed', `from: must be at most ${to}.`)
      const hashes = await readConsistencyProof(new CachedTree(pool, tree), from, to)
      return { body: { from, to, hashes: hashes.map(base64) } }
    },
  }),
  route('GET /v1/ledger/trees/{shard}/inclusion', {
    summary: 'Proves that a leaf is in the tree of `size` entries (RFC 6962, section 2.1.1).',
    auth: 'none',
    shared: true,
    query: z.object({
      leaf_index: z.coerce.number().pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER)),
      size: size.optional().meta({ description: 'Entries of a checkpoint. Default: the newest.' }),
    }),
    response: {
      status: 200,
      schema: z.object({ leaf_index: z.int(), size: z.int(), path: Hashes }),
    },
    faults: ['not_found'],
    handle: async ({ params, query: { leaf_index: index, size: wanted } }) => {
      const tree = readTree(params.shard)
      const covered = await coveredSize(pool, tree, wanted)
      if (index >= covered) {
        throw new Fault('validation_failed', `leaf_index: must be below ${covered}.`)
      }
      const path = await readInclusionProof(new CachedTree(pool, tree), index, covered)
      return { body: { leaf_index: index, size: covered, path: path.map(base64) } }
    },
  }),
]

const base64 = (hash: Buffer): string => hash.toString('base64')

/** Reads the number of a shard, or `heads`. @throws Fault `not_found` */
function readTree(text: string): number {
  if (text === treeName(HEADS)) return HEADS
  if (!SHARD.test(text)) throw new Fault('not_found', 'This is not the number of a ledger shard.')
  return Number(text)
}

/** @throws Fault `not_found` */
async function signedTree(pool: Pool, tree: number, cosignatures = 0) {
  if (cosignatures > 0 && tree !== HEADS) {
    throw new Fault('not_found', 'Witnesses cosign only the checkpoints of `heads`.')
  }
  const signed = await (cosignatures > 0
    ? findCosignedHeads(pool, cosignatures)
    : findSignedTree(pool, tree))
  if (!signed && cosignatures > 0) {
    throw new Fault('not_found', `No checkpoint has ${cosignatures} cosignatures of witnesses yet.`)
  }
  if (!signed) throw new Fault('not_found', `Tree ${treeName(tree)} has no signed checkpoint yet.`)
  return signed
}

/** A size that the newest checkpoint covers. @throws Fault `not_found`, `validation_failed` */
async function coveredSize(pool: Pool, tree: number, wanted: number | undefined): Promise<number> {
  const { size: newest } = await signedTree(pool, tree)
  if (wanted !== undefined && wanted > newest) {
    throw new Fault('validation_failed', `The newest checkpoint has ${newest} entries.`)
  }
  return wanted ?? newest
}
