import type { Pool } from 'pg'
import type { TreeHead } from '../../crypto/merkle.ts'
import { parseNote } from '../checkpoint.ts'

/** Root that a checkpoint signs, and the checkpoint: a C2SP signed note. */
export interface SignedTree extends TreeHead {
  readonly note: string
}

/** Finds the newest checkpoint of a shard of which the stored tree has all entries. */
export async function findSignedTree(
  pool: Pick<Pool, 'query'>,
  shard: number,
): Promise<SignedTree | undefined> {
  const { rows } = await pool.query<{ note: string }>(
    `SELECT c.note FROM ledger.checkpoint c WHERE c.shard = $1
       AND c.seq <= (SELECT t.size FROM ledger.tree t WHERE t.shard = $1)
     ORDER BY c.seq DESC, c.audit DESC LIMIT 1`,
    [shard],
  )
  return rows[0] && signedTreeOf(rows[0].note)
}

/** Reads the signed root of a checkpoint; undefined if it is malformed or has none. */
export function signedTreeOf(note: string): SignedTree | undefined {
  const { seq, root } = parseNote(note) ?? {}
  return root && { note, root, size: Number(seq) }
}
