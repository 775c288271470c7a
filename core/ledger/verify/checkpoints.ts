import type { PoolClient } from 'pg'
import { Keyring } from '../../crypto/signed-note.ts'
import { isNewer, isSignedBy, knownKeys, type Note, parseNote, splitNotes } from '../checkpoint.ts'
import type { RetainedShard } from '../retained-checkpoints.ts'
import { parseHeadsNote } from '../transparency/heads-note.ts'
import type { Checks } from './checks.ts'
import type { Findings } from './findings.ts'

/** Inputs of the verifier that come from outside the database. */
export interface TrustAnchors {
  /** Public keys, 32 bytes in base64. @defaultValue the keys stored in the database */
  readonly keys?: readonly string[]
  /** Checkpoints stored elsewhere, as written by `exportCheckpoints`. */
  readonly checkpoints?: string
}

export const SIGNED = 'every checkpoint is signed and matches its seal'
export const SIGNED_BALANCES = 'the verified balances match the signed ones'
const AUDIT = 'the audit log is one unbroken chain'
const PAGE_ROWS = 1_000

interface CheckpointRow {
  readonly shard: number
  readonly seq: string
  readonly audit: string
  readonly hash: Buffer
  readonly note: string
  /** The parsed note, if it is signed and agrees with its columns and its seal. */
  readonly sound?: Note
}

/** State of the database that a checkpoint signs. */
interface SignedState {
  /** Hash of the seal at its sequence number. */
  readonly sealed: Buffer | null
  /** Hash of the last line of the audit log that it covers. */
  readonly audited: Buffer | null
  readonly isStored?: boolean
}

/** A retained checkpoint that is not stored in the database. */
export interface MissingCheckpoint {
  readonly note: Note
  /** False if the process ended before it was stored. */
  readonly wasDeleted: boolean
}

/** Verifies checkpoints against the seals and the audit log of one snapshot of the database. */
export class CheckpointVerifier {
  readonly #client: PoolClient
  readonly #findings: Findings
  readonly #keys: Keyring
  readonly #ledger: string

  private constructor(client: PoolClient, findings: Findings, keys: Keyring, ledger: string) {
    this.#client = client
    this.#findings = findings
    this.#keys = keys
    this.#ledger = ledger
  }

  static async open(
    client: PoolClient,
    findings: Findings,
    trust: TrustAnchors,
  ): Promise<CheckpointVerifier> {
    const keys = new Keyring(trust.keys ?? (await knownKeys(client)))
    findings.list(SIGNED)
    return new CheckpointVerifier(client, findings, keys, await readLedgerId(client))
  }

  get ledger(): string {
    return this.#ledger
  }

  /** Verifies the newest stored checkpoint of a shard; returns it if it is sound. */
  async checkNewest(shard: number): Promise<Note | undefined> {
    const newest = 'c.shard = $1 ORDER BY c.shard DESC, c.seq DESC, c.audit DESC LIMIT 1'
    const stored = await this.#read(newest, [shard])
    return stored[0]?.sound
  }

  /** Verifies all stored checkpoints; returns the newest of each shard, if it is sound. */
  async checkAll(): Promise<ReadonlyMap<number, Note | undefined>> {
    const newest = new Map<number, Note | undefined>()
    let last: readonly unknown[] = [-1, '0', '0']
    for (let full = true; full; ) {
      const stored = await this.#read(
        `(c.shard, c.seq, c.audit) > ($1, $2, $3) ORDER BY c.shard, c.seq, c.audit
         LIMIT ${PAGE_ROWS}`,
        last,
      )
      for (const { shard, sound } of stored) newest.set(shard, sound)
      full = stored.length === PAGE_ROWS
      const end = stored.at(-1)
      if (end) last = [end.shard, end.seq, end.audit]
    }
    return newest
  }

  /**
   * Verifies checkpoints stored elsewhere, of one shard or of all.
   * @returns the newest of each shard
   */
  async checkExternal(text: string, shard?: number): Promise<ReadonlyMap<number, Note>> {
    const newest = new Map<number, Note>()
    const deleted: Note[] = []
    const notes = splitNotes(text).flatMap((source) => {
      const note = parseNote(source)
      if (note) return shard === undefined || note.shard === shard ? [note] : []
      if (parseHeadsNote(source)) return [] // see `verifyHeads`
      this.#findings.add(SIGNED, `not a checkpoint: ${source.slice(0, 80).trim()}`)
      return []
    })
    for (let i = 0; i < notes.length; i += PAGE_ROWS) {
      const page = notes.slice(i, i + PAGE_ROWS)
      const states = await this.#readStates(page)
      for (const [n, note] of page.entries()) {
        if (this.#check(note, states[n]!) && !states[n]!.isStored) deleted.push(note)
        if (isNewer(note, newest.get(note.shard))) newest.set(note.shard, note)
      }
    }
    for (const note of deleted) {
      this.#findings.add(SIGNED, `${checkpointName(note)}: it was deleted from the database`)
    }
    return newest
  }

  /**
   * Verifies the retained checkpoints of a shard.
   * @returns the one that is newer than those in the database, if it is sound
   */
  async checkRetained(
    stored: Note | undefined,
    { newest, pending }: Partial<RetainedShard> = {},
  ): Promise<MissingCheckpoint | undefined> {
    const notes = [newest, pending].filter((note) => note !== undefined)
    if (notes.length === 0) return undefined
    const states = await this.#readStates(notes)
    const sound = notes.filter((note, n) => this.#check(note, states[n]!))
    const note = sound.findLast((each) => isNewer(each, stored))
    return note && { note, wasDeleted: note !== pending }
  }

  async #readStates(notes: readonly Note[]): Promise<readonly SignedState[]> {
    const lines = notes.map(({ audit }) => audit?.lines ?? 0n)
    const audited = await this.#readAuditHashes(lines)
    const sealed = new Map<string, Buffer>()
    const stored = new Set<string>()
    for (const [shard, own] of Map.groupBy(notes, (note) => note.shard)) {
      const seqs = own.map(({ seq }) => seq)
      const seals = await this.#client.query<{ seq: string; hash: Buffer }>(
        `SELECT s.seq_to::text AS seq, s.hash FROM ledger.seal s
         WHERE s.shard = $1 AND s.seq_to = ANY ($2)`,
        [shard, seqs],
      )
      for (const { seq, hash } of seals.rows) sealed.set(`${shard} ${seq}`, hash)
      const checkpoints = await this.#client.query<{ seq: string; audit: string }>(
        `SELECT c.seq::text AS seq, c.audit::text AS audit FROM ledger.checkpoint c
         WHERE c.shard = $1 AND c.seq = ANY ($2)`,
        [shard, seqs],
      )
      for (const { seq, audit } of checkpoints.rows) stored.add(`${shard} ${seq} ${audit}`)
    }
    return notes.map(({ shard, seq }, n) => ({
      sealed: sealed.get(`${shard} ${seq}`) ?? null,
      audited: audited.get(String(lines[n])) ?? null,
      isStored: stored.has(`${shard} ${seq} ${lines[n]}`),
    }))
  }

  /** Returns the hashes of lines of the audit log, by their number. */
  async #readAuditHashes(
    lines: readonly (bigint | string)[],
  ): Promise<ReadonlyMap<string, Buffer>> {
    const { rows } = await this.#client.query<{ seq: string; hash: Buffer }>(
      'SELECT seq::text AS seq, hash FROM hub.audit WHERE seq = ANY ($1)',
      [lines],
    )
    return new Map(rows.map(({ seq, hash }) => [seq, hash]))
  }

  async #read(where: string, values: readonly unknown[]): Promise<CheckpointRow[]> {
    const { rows } = await this.#client.query<
      CheckpointRow & Pick<SignedState, 'sealed'> & { at: string }
    >(
      `SELECT c.shard, c.seq::text AS seq, c.audit::text AS audit, c.hash, c.note,
         s.hash AS sealed,
         to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
       FROM ledger.checkpoint c
       LEFT JOIN ledger.seal s ON s.shard = c.shard AND s.seq_to = c.seq WHERE ${where}`,
      [...values],
    )
    const lines = await this.#readAuditHashes(rows.map(({ audit }) => audit))
    return rows.map(({ sealed, at, ...stored }) => {
      const audited = lines.get(stored.audit) ?? null
      const note = parseNote(stored.note)
      const isConsistent =
        note?.shard === stored.shard &&
        String(note.seq) === stored.seq &&
        String(note.audit?.lines ?? 0n) === stored.audit &&
        note.at === at &&
        note.hash.equals(stored.hash)
      if (note && isConsistent)
        return this.#check(note, { sealed, audited }) ? { ...stored, sound: note } : stored
      this.#findings.add(SIGNED, `${checkpointName(stored)}: the row and its note differ`)
      return stored
    })
  }

  #check(note: Note, state: SignedState): boolean {
    const problem = this.#problemOf(note, state)
    if (problem !== undefined) this.#findings.add(SIGNED, `${checkpointName(note)}: ${problem}`)
    return problem === undefined
  }

  #problemOf(note: Note, { sealed, audited }: SignedState): string | undefined {
    if (note.ledger !== this.#ledger) return 'of another ledger'
    if (!isSignedBy(this.#keys, note)) return 'not signed by a trusted key'
    if (!sealed) return 'its seal is missing: history was cut off or rewritten'
    if (!sealed.equals(note.hash)) return 'the seal differs: history was rewritten'
    if (!note.audit || audited?.equals(note.audit.hash)) return undefined
    return `line ${note.audit.lines} of the audit log was changed or removed`
  }
}

export async function readLedgerId(client: Pick<PoolClient, 'query'>): Promise<string> {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM ledger.identity')
  return rows[0]?.id ?? 'unknown'
}

/** Compares the balances from which the next run continues with the newest checkpoint. */
export const signedBalancesCheck = (shard: number, note: Note | undefined): Checks => ({
  [SIGNED_BALANCES]: note
    ? `SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard} at seq ${note.seq}' AS example
       WHERE ledger.balances_hash(${shard}::smallint, ${note.seq}, ${note.seq})
         <> '\\x${note.balances.toString('hex')}'`
    : `SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard}: no checkpoint' AS example
       WHERE EXISTS (SELECT 1 FROM ledger.verified_balance WHERE shard = ${shard})`,
})

/** Compares the balances of the journal at a checkpoint with those it signed. */
export const journalBalancesCheck = ({ shard, seq, balances }: Note): Checks => ({
  [SIGNED_BALANCES]: `
    SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard} at seq ${seq}' AS example
    WHERE ledger.journal_balances_hash(${shard}::smallint, ${seq})
      <> '\\x${balances.toString('hex')}'`,
})

/** Checks the chain of the audit log, all of it or the lines after those of a checkpoint. */
export const auditChainCheck = (note?: Note): Checks => ({
  [AUDIT]: `
    SELECT NULL::smallint AS shard, f.line AS seq, 'line ' || f.line AS example
    FROM hub.audit_fault(${
      note?.audit ? `${note.audit.lines}, '\\x${note.audit.hash.toString('hex')}'` : ''
    }) f(line) WHERE f.line IS NOT NULL`,
})

const checkpointName = ({ shard, seq }: { shard: number; seq: bigint | string }): string =>
  `shard ${shard} checkpoint of seq ${seq}`
