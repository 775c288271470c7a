import type { PoolClient } from 'pg'
import { Keyring, knownKeys, type Note, parseNote, splitNotes } from '../checkpoint.ts'
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
const PAGE_ROWS = 1_000

interface CheckpointRow {
  readonly shard: number
  readonly seq: string
  readonly hash: Buffer
  readonly note: string
  /** The parsed note, if it is signed and agrees with its columns and its seal. */
  readonly sound?: Note
}

/** Verifies checkpoints against the seals of one snapshot of the database. */
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
    const { rows } = await client.query<{ id: string }>('SELECT id FROM ledger.identity')
    const keys = new Keyring(trust.keys ?? (await knownKeys(client)))
    findings.list(SIGNED)
    return new CheckpointVerifier(client, findings, keys, rows[0]?.id ?? 'unknown')
  }

  get ledger(): string {
    return this.#ledger
  }

  /** Verifies the newest stored checkpoint of a shard; returns it if it is sound. */
  async checkNewest(shard: number): Promise<Note | undefined> {
    const stored = await this.#read('c.shard = $1 ORDER BY c.shard DESC, c.seq DESC LIMIT 1', [
      shard,
    ])
    return stored[0]?.sound
  }

  /** Verifies all stored checkpoints; returns the newest of each shard, if it is sound. */
  async checkAll(): Promise<ReadonlyMap<number, Note | undefined>> {
    const newest = new Map<number, Note | undefined>()
    let last: readonly [number, string] = [-1, '0']
    for (let full = true; full; ) {
      const stored = await this.#read(
        `(c.shard, c.seq) > ($1, $2) ORDER BY c.shard, c.seq LIMIT ${PAGE_ROWS}`,
        last,
      )
      for (const { shard, sound } of stored) newest.set(shard, sound)
      full = stored.length === PAGE_ROWS
      if (full) last = [stored.at(-1)!.shard, stored.at(-1)!.seq]
    }
    return newest
  }

  /** Verifies checkpoints stored elsewhere, of one shard or of all. */
  async checkExternal(text: string, shard?: number): Promise<void> {
    const notes = splitNotes(text).map((note) => [note, parseNote(note)] as const)
    for (const [note, parsed] of notes) {
      if (!parsed) this.#findings.add(SIGNED, `not a checkpoint: ${note.slice(0, 80).trim()}`)
    }
    const notesToCheck = notes.flatMap(([, note]) =>
      note && (shard === undefined || note.shard === shard) ? [note] : [],
    )
    for (let i = 0; i < notesToCheck.length; i += PAGE_ROWS) {
      const page = notesToCheck.slice(i, i + PAGE_ROWS)
      const { rows } = await this.#client.query<{ hash: Buffer | null }>(
        `SELECT s.hash FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY w(shard, seq, n)
         LEFT JOIN ledger.seal s ON s.shard = w.shard AND s.seq_to = w.seq ORDER BY w.n`,
        [page.map((note) => note.shard), page.map(({ seq }) => String(seq))],
      )
      for (const [n, note] of page.entries()) this.#check(note, rows[n]?.hash ?? null)
    }
  }

  async #read(where: string, values: readonly unknown[]): Promise<CheckpointRow[]> {
    const { rows } = await this.#client.query<
      CheckpointRow & { sealed: Buffer | null; at: string }
    >(
      `SELECT c.shard, c.seq::text AS seq, c.hash, c.note, s.hash AS sealed,
         to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
       FROM ledger.checkpoint c
       LEFT JOIN ledger.seal s ON s.shard = c.shard AND s.seq_to = c.seq WHERE ${where}`,
      [...values],
    )
    return rows.map(({ sealed, at, ...stored }) => {
      const note = parseNote(stored.note)
      const isConsistent =
        note?.shard === stored.shard &&
        String(note.seq) === stored.seq &&
        note.at === at &&
        note.hash.equals(stored.hash)
      if (note && isConsistent)
        return this.#check(note, sealed) ? { ...stored, sound: note } : stored
      this.#findings.add(SIGNED, `${checkpointName(stored)}: the row and its note differ`)
      return stored
    })
  }

  #check(note: Note, sealed: Buffer | null): boolean {
    const problem = this.#problemOf(note, sealed)
    if (problem !== undefined) this.#findings.add(SIGNED, `${checkpointName(note)}: ${problem}`)
    return problem === undefined
  }

  #problemOf(note: Note, sealed: Buffer | null): string | undefined {
    if (note.ledger !== this.#ledger) return 'of another ledger'
    if (!this.#keys.hasSigned(note)) return 'not signed by a trusted key'
    if (!sealed) return 'its seal is missing'
    return sealed.equals(note.hash) ? undefined : 'the seal differs: history was rewritten'
  }
}

/** Compares the balances from which the next run continues with the newest checkpoint. */
export const signedBalancesCheck = (shard: number, note: Note | undefined): Checks => ({
  [SIGNED_BALANCES]: note
    ? `SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard} at seq ${note.seq}' AS example
       WHERE ledger.balances_hash(${shard}::smallint, ${note.seq}, ${note.seq})
         <> '\\x${note.balances.toString('hex')}'`
    : `SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard}: no checkpoint' AS example
       WHERE EXISTS (SELECT FROM ledger.verified_balance WHERE shard = ${shard})`,
})

const checkpointName = ({ shard, seq }: { shard: number; seq: bigint | string }): string =>
  `shard ${shard} checkpoint of seq ${seq}`
