import type { Pool } from 'pg'
import type { AccountRef } from '../ledger.ts'
import { CachedTree } from './cached-tree.ts'
import { findSignedTree, type SignedTree } from './signed-tree.ts'
import { readInclusionProofs } from './tree.ts'

/** Entry of the journal, with its path to the root that a checkpoint signs. */
export interface ProvenEntry {
  readonly shard: number
  /** Number of the leaf in the tree of the shard: its seq − 1. */
  readonly index: number
  /** PostgreSQL's binary record of the entry, whose SHA-256 is the data of the leaf. */
  readonly row: Buffer
  readonly path: readonly Buffer[]
  /** Newest checkpoint of the shard: a C2SP signed note. */
  readonly checkpoint: string
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
  if (owner) return readEntries(pool, 'j.owner = $2', [owner.shard, owner.id, id])
  const { rows } = await pool.query<Pick<FoundEntry, 'shard' | 'seq'>>(
    'SELECT o.shard, o.seq FROM ledger.owners_of($1) o ORDER BY o.shard, o.seq',
    [id],
  )
  const found = rows.map(({ shard, seq }) => readEntries(pool, 'j.seq = $2', [shard, seq, id]))
  return (await Promise.all(found)).flat()
}

async function readEntries(
  pool: Pick<Pool, 'query'>,
  condition: 'j.owner = $2' | 'j.seq = $2',
  values: readonly [shard: number, value: bigint, id: string],
): Promise<readonly FoundEntry[]> {
  const { rows } = await pool.query<FoundEntry>(
    `SELECT ${COLUMNS} FROM ledger.journal j
     WHERE j.shard = $1 AND ${condition} AND j.id = $3 ORDER BY j.seq`,
    [...values],
  )
  return rows
}

/**
 * Proves all entries with an id, or those of one owner, which are found faster. Entries that no
 * checkpoint with a root covers yet, which takes about a minute, are left out.
 */
export async function proveEntries(
  pool: Pick<Pool, 'query'>,
  id: string,
  owner?: Owner,
): Promise<readonly ProvenEntry[]> {
  // The checkpoint is read beside the entries; one that misses the newest of them is no fault.
  const early = owner && findSignedTree(pool, owner.shard)
  const [found, known] = await Promise.all([findEntries(pool, id, owner), early])
  const shards = [...new Set(found.map(({ shard }) => shard))]
  const proven = shards.map(async (shard) => {
    const signed = owner ? known : await findSignedTree(pool, shard)
    return signed ? proveShard(pool, found, shard, signed) : []
  })
  return (await Promise.all(proven)).flat()
}

/** Proves the entries of one shard that its checkpoint covers. */
async function proveShard(
  pool: Pick<Pool, 'query'>,
  found: readonly FoundEntry[],
  shard: number,
  { size, note }: SignedTree,
): Promise<readonly ProvenEntry[]> {
  const entries = found
    .filter((entry) => entry.shard === shard && entry.seq <= size)
    .map(({ seq, row }) => ({ index: Number(seq) - 1, row }))
  const indexes = entries.map(({ index }) => index)
  const paths = await readInclusionProofs(new CachedTree(pool, shard), indexes, size)
  return entries.map((entry, n) => ({ ...entry, shard, path: paths[n]!, checkpoint: note }))
}
