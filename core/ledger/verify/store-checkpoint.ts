import type { PoolClient } from 'pg'
import type { SigningKey } from '../../crypto/signing-key.ts'
import {
  type AuditHead,
  type Checkpoint,
  type Note,
  parseNote,
  signCheckpoint,
} from '../checkpoint.ts'
import type { RetainedCheckpoints } from '../retained-checkpoints.ts'
import { type MissingCheckpoint, SIGNED, SIGNED_BALANCES } from './checkpoints.ts'
import type { Findings } from './findings.ts'

/** SQL of the time of a signature: ISO 8601 in UTC, with microseconds. */
export const SIGNED_AT = `to_char(clock_timestamp() AT TIME ZONE 'UTC',
  'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** End of a sound run, at which a checkpoint is signed. */
export interface Signing {
  readonly client: PoolClient
  readonly ledger: string
  readonly shard: number
  readonly from: bigint
  readonly to: bigint
  /** Root of the Merkle tree of the entries up to `to`. */
  readonly root: Buffer | undefined
  readonly key: SigningKey
  readonly retained: RetainedCheckpoints | undefined
}

/** Signs a checkpoint, unless neither the shard nor the audit log has grown. */
export async function addCheckpoint(
  signing: Signing,
  newest: Note | undefined,
): Promise<string | undefined> {
  const { client, ledger, shard, to, root, key, retained } = signing
  const audit = await readAuditHead(client)
  const hasGrown = to > signing.from || (audit?.lines ?? 0n) > (newest?.audit?.lines ?? 0n)
  if (!hasGrown || to === 0n) return undefined
  const state = await readSignedState(signing)
  const note = signCheckpoint({ ledger, shard, seq: to, root, ...state, audit }, key)
  await retained?.prepare(note)
  await storeCheckpoint(client, parseNote(note)!, key)
  return note
}

/** Stores a retained checkpoint again that is missing in the database. */
export async function restoreCheckpoint(
  signing: Signing,
  { note, wasDeleted }: MissingCheckpoint,
  findings: Findings,
): Promise<string | undefined> {
  const { balances } = await readSignedState(signing)
  const name = `shard ${note.shard} checkpoint of seq ${note.seq}`
  if (!balances.equals(note.balances)) {
    findings.add(SIGNED_BALANCES, `shard ${note.shard} at seq ${note.seq}`)
    return undefined
  }
  if (note.root && signing.root && !note.root.equals(signing.root)) {
    findings.add(SIGNED, `${name}: it signs another root of the Merkle tree`)
    return undefined
  }
  await storeCheckpoint(signing.client, note, signing.key)
  if (wasDeleted) findings.add(SIGNED, `${name}: it was deleted from the database; it is back`)
  return note.note
}

/** Reads what a checkpoint at the end of a run signs. */
async function readSignedState({
  client,
  shard,
  from,
  to,
}: Signing): Promise<Pick<Checkpoint, 'hash' | 'balances' | 'at'>> {
  const { rows: seals } = await client.query<Pick<Checkpoint, 'hash' | 'at'>>(
    `SELECT s.hash, ${SIGNED_AT} AS at FROM ledger.seal s WHERE s.shard = $1 AND s.seq_to = $2`,
    [shard, to],
  )
  const { rows } = await client.query<Pick<Checkpoint, 'balances'>>(
    'SELECT ledger.balances_hash($1, $2, $3) AS balances',
    [shard, from, to],
  )
  return { ...seals[0]!, ...rows[0]! }
}

async function readAuditHead(client: PoolClient): Promise<AuditHead | undefined> {
  const { rows } = await client.query<AuditHead>(
    'SELECT seq AS lines, hash FROM hub.audit ORDER BY seq DESC LIMIT 1',
  )
  return rows[0]
}

async function storeCheckpoint(client: PoolClient, note: Note, key: SigningKey): Promise<void> {
  const { shard, seq, audit, hash, at } = note
  await client.query('SELECT ledger.add_checkpoint($1, $2, $3, $4, $5, $6, $7)', [
    shard,
    seq,
    audit?.lines ?? 0n,
    hash,
    at,
    key.id,
    note.note,
  ])
}
