import type { Pool } from 'pg'
import type { AccountRef } from '../ledger.ts'
import { CachedTree } from './cached-tree.ts'
import { COSIGNED_NOTE, HEADS, type SignedTree, signedTreeOf } from './signed-tree.ts'
import { readInclusionProofs } from './tree.ts'

/** Entry of the journal, with its path to the root that a checkpoint signs. */
export interface ProvenEntry {
  readonly shard: number
  /** Number of the leaf in the tree of the shard: its seq − 1. */
  readonly index: number
  /** PostgreSQL's binary record of the entry, whose SHA-256 is the data of the leaf. */
  readonly row: Buffer
  readonly path: readonly Buffer[]
  /** Checkpoint of the shard: a C2SP signed note. */
  readonly checkpoint: string
  readonly heads: ProvenHead
}

/** Path of a checkpoint to a signed root over the checkpoints of all shards. */
export interface ProvenHead {
  readonly index: number
  readonly path: readonly Buffer[]
  /** C2SP signed note with that root, and cosignatures of witnesses. */
  readonly checkpoint: string
}

/** Signed tree of a shard, whose checkpoint is a leaf of a signed tree of all shards. */
interface SignedShard {
  readonly signed: SignedTree
  readonly index: number
  readonly heads: SignedTree
}

/**
 * Finds the checkpoints of a shard under the newest root over all shards, and under the newest that
 * a witness has cosigned.
 */
async function findSignedShard(
  pool: Pick<Pool, 'query'>,
  shard: number,
): Promise<readonly SignedShard[]> {
  const { rows: trees } = await pool.query<{ size: bigint }>({ ...TREE_SIZE, values: [shard] })
  const { rows } = await pool.query<{ note: string; index: bigint; heads: string }>({
    ...SIGNED_SHARDS,
    values: [shard, trees[0]?.size ?? 0n],
  })
  return rows.flatMap(({ note, index, heads: headsNote }) => {
    const [signed, heads] = [signedTreeOf(note, shard), signedTreeOf(headsNote, HEADS)]
    return signed && heads ? [{ signed, index: Number(index), heads }] : []
  })
}

const TREE_SIZE = {
  name: 'entry-proofs.tree-size',
  text: 'SELECT t.size FROM ledger.tree t WHERE t.shard = $1',
}

const SIGNED_SHARDS = {
  name: 'entry-proofs.signed-shards',
  text: `SELECT s.note, s.index, ${COSIGNED_NOTE} AS heads
    FROM ledger.heads_checkpoint h CROSS JOIN LATERAL (
      SELECT s.note, s.index FROM ledger.signed_head s
      WHERE s.shard = $1 AND s.index < h.size AND s.seq <= $2
      ORDER BY s.seq DESC, s.audit DESC LIMIT 1) s
    WHERE h.size IN ((SELECT max(size) FROM ledger.heads_checkpoint),
      (SELECT max(size) FROM ledger.cosignature))
    ORDER BY h.size DESC`,
}

/** Place of an entry, and the columns of `ledger.leaf` in its order. */
const COLUMNS = `j.shard, j.seq, record_send(ROW(j.id, j.owner, j.seq, j.at, j.amount, j.rest,
  j.fee, j.payee, j.expires_at, j.endpoint, j.price_version, j.bps, j.asset, j.shard, j.kind,
  j.phase, j.guards, j.accounts, j.amounts, j.effective_at, j.meta)) AS row`

interface FoundEntry {
  readonly shard: number
  readonly seq: bigint
  readonly row: Buffer
}

type Owner = Pick<AccountRef, 'id' | 'shard'>

/** Finds the entries with an id, by their owner if it is known. */
async function findEntries(
  pool: Pick<Pool, 'query'>,
  id: string,
  owner: Owner | undefined,
): Promise<readonly FoundEntry[]> {
  if (owner) return readEntries(pool, BY_OWNER, [owner.shard, owner.id, id])
  const { rows } = await pool.query<Pick<FoundEntry, 'shard' | 'seq'>>(
    'SELECT o.shard, o.seq FROM ledger.owners_of($1) o ORDER BY o.shard, o.seq',
    [id],
  )
  const found = rows.map(({ shard, seq }) => readEntries(pool, BY_SEQ, [shard, seq, id]))
  return (await Promise.all(found)).flat()
}

const BY_OWNER = {
  name: 'entry-proofs.by-owner',
  text: `SELECT ${COLUMNS} FROM ledger.journal j
    WHERE j.shard = $1 AND j.owner = $2 AND j.id = $3 ORDER BY j.seq`,
}

const BY_SEQ = {
  name: 'entry-proofs.by-seq',
  text: `SELECT ${COLUMNS} FROM ledger.journal j
    WHERE j.shard = $1 AND j.seq = $2 AND j.id = $3`,
}

async function readEntries(
  pool: Pick<Pool, 'query'>,
  query: typeof BY_OWNER,
  values: readonly [shard: number, value: bigint, id: string],
): Promise<readonly FoundEntry[]> {
  const { rows } = await pool.query<FoundEntry>({ ...query, values: [...values] })
  return rows
}

/**
 * Proves all entries with an id, or those of one owner, which are found faster. Entries that no
 * signed root over all shards covers yet, which takes about a minute, are left out. If a cosigned
 * root covers all of a shard, it is preferred to a newer one.
 */
export async function proveEntries(
  pool: Pick<Pool, 'query'>,
  id: string,
  owner?: Owner,
): Promise<readonly ProvenEntry[]> {
  // Read at the same time as the entries, so the checkpoint may not cover the newest ones yet.
  const early = owner && findSignedShard(pool, owner.shard)
  const [found, known] = await Promise.all([findEntries(pool, id, owner), early])
  const shards = [...new Set(found.map(({ shard }) => shard))]
  const proven = shards.map(async (shard) => {
    const roots = (owner ? known : await findSignedShard(pool, shard)) ?? []
    const entries = found.filter((entry) => entry.shard === shard)
    const covers = ({ signed }: SignedShard) => entries.every(({ seq }) => seq <= signed.size)
    const chosen = roots.findLast(covers) ?? roots[0]
    return chosen ? proveShard(pool, entries, shard, chosen) : []
  })
  return (await Promise.all(proven)).flat()
}

/** Proves the entries of one shard that its checkpoint covers. */
async function proveShard(
  pool: Pick<Pool, 'query'>,
  found: readonly FoundEntry[],
  shard: number,
  { signed: { size, note }, index: leaf, heads }: SignedShard,
): Promise<readonly ProvenEntry[]> {
  const entries = found
    .filter(({ seq }) => seq <= size)
    .map(({ seq, row }) => ({ index: Number(seq) - 1, row }))
  const indexes = entries.map(({ index }) => index)
  const [paths, [path]] = await Promise.all([
    readInclusionProofs(new CachedTree(pool, shard), indexes, size),
    readInclusionProofs(new CachedTree(pool, HEADS), [leaf], heads.size),
  ])
  const head = { index: leaf, path: path!, checkpoint: heads.note }
  const shared = { shard, checkpoint: note, heads: head }
  return entries.map((entry, n) => ({ ...entry, path: paths[n]!, ...shared }))
}
