import type { Pool } from 'pg'
import type { TreeHead } from '../../crypto/merkle.ts'
import { parseNote } from '../checkpoint.ts'
import { parseHeadsNote } from './heads-note.ts'

/** Number of the tree whose leaves are the checkpoints of all shards. */
export const HEADS = -1

/** Name of a tree in paths: the number of the shard, or `heads`. */
export const treeName = (tree: number): string => (tree === HEADS ? 'heads' : String(tree))

/** Root that a checkpoint signs, and the checkpoint: a C2SP signed note. */
export interface SignedTree extends TreeHead {
  readonly note: string
}

const NEWEST_OF_SHARD = `SELECT c.note FROM ledger.checkpoint c WHERE c.shard = $1
  AND c.seq <= (SELECT t.size FROM ledger.tree t WHERE t.shard = $1)
  ORDER BY c.seq DESC, c.audit DESC LIMIT 1`
const NEWEST_OF_HEADS = 'SELECT note FROM ledger.heads_checkpoint ORDER BY size DESC LIMIT 1'

/** Finds the newest checkpoint of a tree of which the stored tree has all leaves. */
export async function findSignedTree(
  pool: Pick<Pool, 'query'>,
  tree: number,
): Promise<SignedTree | undefined> {
  const { rows } = await (tree === HEADS
    ? pool.query<{ note: string }>(NEWEST_OF_HEADS)
    : pool.query<{ note: string }>(NEWEST_OF_SHARD, [tree]))
  return rows[0] && signedTreeOf(rows[0].note, tree)
}

/** Reads the signed root of a tree's checkpoint; undefined if it is malformed or has none. */
export function signedTreeOf(note: string, tree: number): SignedTree | undefined {
  if (tree === HEADS) return parseHeadsNote(note)
  const { shard, seq, root } = parseNote(note) ?? {}
  return root && shard === tree ? { note, root, size: Number(seq) } : undefined
}
