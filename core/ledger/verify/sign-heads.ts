import type { Pool, PoolClient } from 'pg'
import { Keyring } from '../../crypto/signed-note.ts'
import type { SigningKey } from '../../crypto/signing-key.ts'
import { inTransaction } from '../../db/transaction.ts'
import { knownKeys } from '../checkpoint.ts'
import type { RetainedCheckpoints } from '../retained-checkpoints.ts'
import { readShards } from '../shards.ts'
import { extendTree } from '../transparency/extend-trees.ts'
import {
  type HeadsNote,
  headsOrigin,
  parseHeadsNote,
  signHeads,
} from '../transparency/heads-note.ts'
import { HEADS_PER_PAGE } from '../transparency/leaves.ts'
import { findSignedTree, HEADS } from '../transparency/signed-tree.ts'
import { StoredTree } from '../transparency/stored-tree.ts'
import { readRoot } from '../transparency/tree.ts'
import { readLedgerId } from './checkpoints.ts'
import type { Findings } from './findings.ts'
import { SIGNED_AT } from './store-checkpoint.ts'

export const SIGNED_HEADS = 'the tree of checkpoints continues every one signed before'

export interface HeadsSigner {
  readonly key: SigningKey
  /** Holds the last signed root outside the database. */
  readonly retained?: RetainedCheckpoints | undefined
}

/**
 * Appends the newest checkpoint of each shard to the tree of checkpoints, and signs its root. Signs
 * nothing if the tree does not continue the one signed last: the one in the database, and the
 * retained one.
 * @returns the new signed note; undefined if nothing was added or the tree is not sound
 */
export async function signNewHeads(
  pool: Pool,
  { key, retained }: HeadsSigner,
  findings: Findings,
): Promise<string | undefined> {
  findings.list(SIGNED_HEADS)
  // The leaves are committed before their root is signed, so that a crash cannot replace them.
  const shards = await readShards(pool)
  await pool.query('SELECT ledger.add_signed_head(n) FROM unnest($1::smallint[]) AS n', [shards])
  try {
    await extendTree(pool, HEADS, HEADS_PER_PAGE)
    return await inTransaction(pool, (client) => signRoot(client, { key, retained }, findings))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    findings.add(SIGNED_HEADS, error.message)
    return undefined
  }
}

async function signRoot(
  client: PoolClient,
  { key, retained }: HeadsSigner,
  findings: Findings,
): Promise<string | undefined> {
  const { rows: lock } = await client.query<{ mine: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtext('ledger.verify_since'), ${HEADS}) AS mine`,
  )
  if (!lock[0]!.mine) return undefined
  const ledger = await readLedgerId(client)
  const stored = (await findSignedTree(client, HEADS))?.note
  const kept = await retained?.readHeads(ledger)
  const known = (await retained?.keys(ledger)) ?? []
  const keys = new Keyring(known.length > 0 ? known : await knownKeys(client))
  const tree = new StoredTree(client, HEADS)
  const size = await tree.size()
  for (const note of new Set([stored, kept])) {
    const problem = note && (await problemOf(parseHeadsNote(note), { ledger, keys, tree, size }))
    if (problem) findings.add(SIGNED_HEADS, problem)
  }
  const signed = stored === undefined ? 0 : (parseHeadsNote(stored)?.size ?? size)
  if (!findings.isSound || size === signed) return undefined
  const at = await readClock(client)
  const note = signHeads({ ledger, size, root: await readRoot(tree, size), at }, key)
  await retained?.retainHeads(ledger, note)
  const values = [size, key.id, note]
  await client.query('SELECT ledger.add_heads_checkpoint($1, $2, $3)', values)
  return note
}

/** Returns how a signed root contradicts the tree; undefined if it does not. */
async function problemOf(
  note: HeadsNote | undefined,
  {
    ledger,
    keys,
    tree,
    size,
  }: {
    readonly ledger: string
    readonly keys: Keyring
    readonly tree: StoredTree
    readonly size: number
  },
): Promise<string | undefined> {
  if (!note) return 'not a checkpoint'
  const place = `checkpoint of ${note.size} leaves:`
  if (note.ledger !== ledger) return `${place} of another ledger`
  if (!keys.hasSigned(note, headsOrigin(ledger))) return `${place} not signed by a trusted key`
  if (note.size > size) return `${place} the tree has only ${size}`
  const root = await readRoot(tree, note.size)
  return root.equals(note.root) ? undefined : `${place} the tree has another root`
}

async function readClock(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ at: string }>(`SELECT ${SIGNED_AT} AS at`)
  return rows[0]!.at
}
