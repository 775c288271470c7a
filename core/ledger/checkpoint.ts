import type { Pool } from 'pg'
import { type Keyring, parseSignedNote, type SignedText, signNote } from '../crypto/signed-note.ts'
import type { SigningKey } from '../crypto/signing-key.ts'
import { readShards } from './shards.ts'

/**
 * Verified state of a shard at one sequence number. Signed, it is a C2SP tlog-checkpoint in a C2SP
 * signed note; the key name is the origin:
 *
 *     agenthub-ledger/<ledger>/<shard>      origin
 *     <seq>                                 size: the number of entries
 *     <base64>                              root of the Merkle tree of these entries
 *     at 2026-11-21T06:04:32.123456Z        time of verification
 *     seal <base64>                         hash of the seal that ends there
 *     balances <base64>                     ledger.balances_hash at that seq
 *     audit <lines> <base64>                audit log: its lines, and the hash of the last one
 *
 *     — <origin> <base64>                   4 bytes of key id, 64 bytes of signature
 *
 * Checkpoints without a root, as all were at first, have no line `seal`: the hash of the seal is
 * their third line.
 */
export interface Checkpoint {
  readonly ledger: string
  readonly shard: number
  readonly seq: bigint
  /** Hash of the seal. */
  readonly hash: Buffer
  /** Root of the Merkle tree; undefined in checkpoints that were signed before the tree existed. */
  readonly root?: Buffer | undefined
  readonly at: string
  readonly balances: Buffer
  /** Undefined if the audit log was empty. */
  readonly audit?: AuditHead | undefined
}

/** Last line of the audit log. */
export interface AuditHead {
  readonly lines: bigint
  readonly hash: Buffer
}

/** A checkpoint with its original text and its unverified signatures. */
export interface Note extends Checkpoint, SignedText {
  /** The signed note as a whole. */
  readonly note: string
}

/** First part of the origins of checkpoints. */
export const ORIGIN = 'agenthub-ledger'
const HASH_PATTERN = '[A-Za-z0-9+/]{43}='
const BODY = new RegExp(
  `^(${ORIGIN}/([0-9a-f-]{36})/(0|[1-9]\\d{0,4}))\\n([1-9]\\d{0,18})\\n(${HASH_PATTERN})\\n` +
    `at (\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z)\\n(?:seal (${HASH_PATTERN})\\n)?` +
    `balances (${HASH_PATTERN})\\n(?:audit ([1-9]\\d{0,18}) (${HASH_PATTERN})\\n)?$`,
)
/** Boundary between consecutive notes, with or without empty lines. */
const BETWEEN_NOTES = /(?<=^— .*\n)(?!— )\n*/m

const checkpointOrigin = ({ ledger, shard }: Pick<Checkpoint, 'ledger' | 'shard'>): string =>
  `${ORIGIN}/${ledger}/${shard}`

export function signCheckpoint(checkpoint: Checkpoint, key: SigningKey): string {
  const origin = checkpointOrigin(checkpoint)
  const seal = checkpoint.hash.toString('base64')
  const root = checkpoint.root?.toString('base64')
  const balances = checkpoint.balances.toString('base64')
  const { seq, at, audit } = checkpoint
  const text =
    `${origin}\n${seq}\n${root ?? seal}\nat ${at}\n${root ? `seal ${seal}\n` : ''}` +
    `balances ${balances}\n` +
    (audit ? `audit ${audit.lines} ${audit.hash.toString('base64')}\n` : '')
  return signNote(text, origin, key)
}

/** Parses a signed note without verifying its signatures; undefined if malformed. */
export function parseNote(note: string): Note | undefined {
  const signed = parseSignedNote(note)
  const found = signed && BODY.exec(signed.text)
  if (!found) return undefined
  const [, , ledger, shard, seq, third, at, seal, balances, auditLines, auditHash] = found
  return {
    ledger: ledger!,
    shard: Number(shard),
    seq: BigInt(seq!),
    hash: toBytes(seal ?? third),
    ...(seal && { root: toBytes(third) }),
    at: at!,
    balances: toBytes(balances),
    ...(auditLines && { audit: { lines: BigInt(auditLines), hash: toBytes(auditHash) } }),
    note,
    ...signed,
  }
}

/** Returns true if the checkpoint has a valid signature by one of the keys. */
export const isSignedBy = (keys: Keyring, note: Note): boolean =>
  keys.hasSigned(note, checkpointOrigin(note))

const toBytes = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64')

/** Returns true if `a` covers more entries than `b`, or more lines of the audit log. */
export const isNewer = (a: Checkpoint, b: Checkpoint | undefined): boolean =>
  b === undefined ||
  a.seq > b.seq ||
  (a.seq === b.seq && (a.audit?.lines ?? 0n) > (b.audit?.lines ?? 0n))

/** Splits a text as written by `exportCheckpoints` into its notes. */
export const splitNotes = (text: string): readonly string[] =>
  text
    .trimStart()
    .split(BETWEEN_NOTES)
    .filter((note) => note.trim() !== '')

const PAGE = 1_000

/** Streams all checkpoints, by shard and sequence, for auditors to store outside the database. */
export async function* exportCheckpoints(pool: Pick<Pool, 'query'>): AsyncGenerator<string> {
  let last = { shard: -1, seq: '0', audit: '0' }
  for (;;) {
    const { rows } = await pool.query<typeof last & { note: string }>(
      `SELECT shard, seq::text AS seq, audit::text AS audit, note FROM ledger.checkpoint c
       WHERE (shard, c.seq, c.audit) > ($1, $2, $3) ORDER BY shard, c.seq, c.audit LIMIT ${PAGE}`,
      [last.shard, last.seq, last.audit],
    )
    for (const { note } of rows) yield `${note}\n`
    if (rows.length < PAGE) return
    last = rows.at(-1)!
  }
}

/** Public keys stored in the database, oldest first, in the form that `Keyring` expects. */
export async function knownKeys(pool: Pick<Pool, 'query'>): Promise<readonly string[]> {
  const { rows } = await pool.query<{ key: string }>(
    `SELECT encode(public_key, 'base64') AS key FROM ledger.signing_key ORDER BY since, id`,
  )
  return rows.map(({ key }) => key)
}

/** Reads the newest checkpoint of each shard, or the newest before an instant. */
export async function publishedCheckpoints(
  pool: Pick<Pool, 'query'>,
  before?: Date,
): Promise<readonly string[]> {
  const notes: string[] = []
  for (const shard of await readShards(pool)) {
    const { rows } = await pool.query<{ note: string }>(
      `SELECT note FROM ledger.checkpoint WHERE shard = $1 AND at < $2
       ORDER BY seq DESC, audit DESC LIMIT 1`,
      [shard, before ?? 'infinity'],
    )
    notes.push(...rows.map(({ note }) => note))
  }
  return notes
}
