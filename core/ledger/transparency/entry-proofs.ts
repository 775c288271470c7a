import type { Pool } from 'pg'
import type { AccountRef } from '../ledger.ts'
import { findSignedTree, type SignedTree } from './signed-tree.ts'
import { StoredTree } from './stored-tree.ts'
import { readInclusionProof } from './tree.ts'

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
  const found = await findEntries(pool, id, owner)
  const shards = [...new Set(found.map(({ shard }) => shard))]
  const signed = new Map(
    await Promise.all(
      shards.map(async (shard) => [shard, await findSignedTree(pool, shard)] as const),
    ),
  )
  const proven = found.map((entry) => proveEntry(pool, entry, signed.get(entry.shard)))
  return (await Promise.all(proven)).filter((each) => each !== undefined)
}

async function proveEntry(
  pool: Pick<Pool, 'query'>,
  { shard, seq, row }: FoundEntry,
  signed: SignedTree | undefined,
): Promise<ProvenEntry | undefined> {
  if (!signed || signed.size < seq) return undefined
  const index = Number(seq) - 1
  const path = await readInclusionProof(new StoredTree(pool, shard), index, signed.size)
  return { shard, index, row, path, checkpoint: signed.note }
}
