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
/** SQL of a checkpoint `h` of `HEADS` with its cosignatures. */
export const COSIGNED_NOTE = `h.note || coalesce((SELECT string_agg(c.line, '' ORDER BY c.witness)
  FROM ledger.cosignature c WHERE c.size = h.size), '')`
const NEWEST_OF_HEADS = `SELECT ${COSIGNED_NOTE} AS note FROM ledger.heads_checkpoint h
  ORDER BY h.size DESC LIMIT 1`
/** Leaves before the newest cosignature in which a checkpoint with more cosignatures is sought. */
const SEARCHED_LEAVES = 10_000
const NEWEST_COSIGNED = `SELECT ${COSIGNED_NOTE} AS note FROM ledger.heads_checkpoint h
  WHERE h.size = (SELECT c.size FROM ledger.cosignature c
    WHERE c.size > (SELECT max(size) - ${SEARCHED_LEAVES} FROM ledger.cosignature)
    GROUP BY c.size HAVING count(*) >= $1 ORDER BY c.size DESC LIMIT 1)`

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

/** Finds the newest checkpoint of `HEADS` with at least `count` cosignatures of witnesses. */
export async function findCosignedHeads(
  pool: Pick<Pool, 'query'>,
  count: number,
): Promise<SignedTree | undefined> {
  const { rows } = await pool.query<{ note: string }>(NEWEST_COSIGNED, [count])
  return rows[0] && signedTreeOf(rows[0].note, HEADS)
}

/** Reads the signed root of a tree's checkpoint; undefined if it is malformed or has none. */
export function signedTreeOf(note: string, tree: number): SignedTree | undefined {
  if (tree === HEADS) return parseHeadsNote(note)
  const { shard, seq, root } = parseNote(note) ?? {}
  return root && shard === tree ? { note, root, size: Number(seq) } : undefined
}
