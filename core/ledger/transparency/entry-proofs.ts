import type { Pool } from 'pg'
import { findSignedTree } from './signed-tree.ts'
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

/** The columns of `ledger.leaf`, in its order. */
const READ_ROW = `SELECT record_send(ROW(j.id, j.owner, j.seq, j.at, j.amount, j.rest, j.fee,
    j.payee, j.expires_at, j.endpoint, j.price_version, j.bps, j.asset, j.shard, j.kind, j.phase,
    j.guards, j.accounts, j.amounts, j.effective_at, j.meta)) AS row
  FROM ledger.journal j WHERE j.shard = $1 AND j.seq = $2`

/**
 * Proves all entries with an id. Entries that no checkpoint with a root covers yet, which takes
 * about a minute, are left out.
 */
export async function proveEntries(
  pool: Pick<Pool, 'query'>,
  id: string,
): Promise<readonly ProvenEntry[]> {
  const { rows } = await pool.query<{ shard: number; seq: bigint }>(
    'SELECT o.shard, o.seq FROM ledger.owners_of($1) o ORDER BY o.shard, o.seq',
    [id],
  )
  const proven = await Promise.all(rows.map(({ shard, seq }) => proveEntry(pool, shard, seq)))
  return proven.filter((each) => each !== undefined)
}

async function proveEntry(
  pool: Pick<Pool, 'query'>,
  shard: number,
  seq: bigint,
): Promise<ProvenEntry | undefined> {
  const signed = await findSignedTree(pool, shard)
  if (!signed || signed.size < seq) return undefined
  const { rows } = await pool.query<{ row: Buffer }>(READ_ROW, [shard, seq])
  const index = Number(seq) - 1
  const tree = new StoredTree(pool, shard)
  const path = await readInclusionProof(tree, index, signed.size)
  return { shard, index, row: rows[0]!.row, path, checkpoint: signed.note }
}
