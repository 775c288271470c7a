import type { PoolClient } from 'pg'
import { Keyring } from '../../crypto/signed-note.ts'
import { knownKeys, splitNotes } from '../checkpoint.ts'
import { readShards } from '../shards.ts'
import { headsOrigin, parseHeadsNote } from '../transparency/heads-note.ts'
import { HEADS } from '../transparency/signed-tree.ts'
import { readLedgerId, type TrustAnchors } from './checkpoints.ts'
import type { Findings } from './findings.ts'
import { verifyTree } from './merkle-tree.ts'
import { SIGNED_HEADS } from './sign-heads.ts'

const PAGE = 1_000

/**
 * Builds the tree of checkpoints from its leaves, and compares it with the stored tiles and with
 * every signed root: those in the database, and those stored elsewhere.
 */
export async function verifyHeads(
  client: PoolClient,
  { keys, checkpoints = '' }: TrustAnchors,
  findings: Findings,
): Promise<void> {
  findings.list(SIGNED_HEADS)
  const keyring = new Keyring(keys ?? (await knownKeys(client)))
  const ledger = await readLedgerId(client)
  const check = ({ note: source, seq: size }: { note: string; seq?: bigint }): void => {
    const note = parseHeadsNote(source)
    const isSound =
      note?.ledger === ledger &&
      (size === undefined || BigInt(note.size) === size) &&
      keyring.hasSigned(note, headsOrigin(ledger))
    if (isSound) return
    const name = `checkpoint of ${size ?? note?.size} leaves`
    findings.add(SIGNED_HEADS, `${name}: malformed, or not signed by a trusted key`)
  }
  const others = splitNotes(checkpoints).flatMap((source) => parseHeadsNote(source) ?? [])
  others.forEach(({ note }) => check({ note }))
  const shards = await readShards(client)
  for (const shard of shards) await compareLeaves(client, shard, findings)
  const { rows: foreign } = await client.query<{ index: bigint }>(
    `SELECT index FROM ledger.signed_head WHERE shard <> ALL ($1::smallint[])
     ORDER BY index LIMIT ${PAGE}`,
    [shards],
  )
  for (const { index } of foreign) findings.add(SIGNED_HEADS, `leaf ${index} is of no shard`)
  const roots = others.map(({ size, root }) => ({ seq: BigInt(size), root }))
  await verifyTree(client, HEADS, { others: roots, visit: check }, findings)
}

/** Reports leaves that are not stored checkpoints of their shard. */
async function compareLeaves(client: PoolClient, shard: number, findings: Findings): Promise<void> {
  let last = -1n
  for (let full = true; full; ) {
    const { rows: leaves } = await client.query<Leaf>(
      `SELECT h.index, h.seq, h.audit, h.note FROM ledger.signed_head h
       WHERE h.shard = $1 AND h.index > $2 ORDER BY h.index LIMIT ${PAGE}`,
      [shard, last],
    )
    const { rows: stored } = await client.query<Omit<Leaf, 'index'>>(
      `SELECT c.seq, c.audit, c.note FROM ledger.checkpoint c
       WHERE c.shard = $1 AND c.seq = ANY ($2)`,
      [shard, leaves.map(({ seq }) => seq)],
    )
    const notes = new Map(stored.map(({ seq, audit, note }) => [`${seq} ${audit}`, note]))
    for (const { index, seq, audit, note } of leaves) {
      if (notes.get(`${seq} ${audit}`) === note) continue
      findings.add(SIGNED_HEADS, `leaf ${index} is not a checkpoint of shard ${shard}`)
    }
    full = leaves.length === PAGE
    last = leaves.at(-1)?.index ?? last
  }
}

interface Leaf {
  readonly index: bigint
  readonly seq: bigint
  readonly audit: bigint
  readonly note: string
}
