import type { PoolClient } from 'pg'
import { Keyring, knownKeys, type Note, parseNote, splitNotes } from '../checkpoint.ts'
import type { Checks } from './checks.ts'
import type { Findings } from './findings.ts'

/** What the verifier knows from outside of the database. */
export interface Trust {
  /** Public keys, 32 bytes in base64; left out: those that the database knows. */
  readonly keys?: readonly string[]
  /** Checkpoints that were kept elsewhere, as `exportCheckpoints` writes them. */
  readonly checkpoints?: string
}

export const SIGNED = 'every checkpoint is signed, and fits its seal'
export const CARRIED = 'the verified balances are those that were signed'
const PAGE = 1_000

interface Kept {
  readonly shard: number
  readonly seq: string
  readonly hash: Buffer
  readonly note: string
  /** The note, when it can be read, is signed, and its columns and its seal say the same. */
  readonly sound?: Note
}

/** Judges checkpoints against the seals of one snapshot. */
export class CheckpointReader {
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
    trust: Trust,
  ): Promise<CheckpointReader> {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM ledger.identity')
    const keys = new Keyring(trust.keys ?? (await knownKeys(client)))
    findings.list(SIGNED)
    return new CheckpointReader(client, findings, keys, rows[0]?.id ?? 'unknown')
  }

  get ledger(): string {
    return this.#ledger
  }

  /** The newest checkpoint of a shard that the database keeps. */
  async newest(shard: number): Promise<Note | undefined> {
    const kept = await this.#kept('c.shard = $1 ORDER BY c.shard DESC, c.seq DESC LIMIT 1', [shard])
    return kept[0]?.sound
  }

  /** All that the database keeps; returns the newest of each shard, if it is sound. */
  async all(): Promise<ReadonlyMap<number, Note | undefined>> {
    const newest = new Map<number, Note | undefined>()
    let last: readonly [number, string] = [-1, '0']
    for (let full = true; full; ) {
      const kept = await this.#kept(
        `(c.shard, c.seq) > ($1, $2) ORDER BY c.shard, c.seq LIMIT ${PAGE}`,
        last,
      )
      for (const { shard, sound } of kept) newest.set(shard, sound)
      full = kept.length === PAGE
      if (full) last = [kept.at(-1)!.shard, kept.at(-1)!.seq]
    }
    return newest
  }

  /** Those from elsewhere, of which `shard` alone when it is given. */
  async elsewhere(text: string, shard?: number): Promise<void> {
    const notes = splitNotes(text).map((note) => [note, parseNote(note)] as const)
    for (const [note, parsed] of notes) {
      if (!parsed) this.#findings.add(SIGNED, `not a checkpoint: ${note.slice(0, 80).trim()}`)
    }
    const wanted = notes.flatMap(([, note]) =>
      note && (shard === undefined || note.shard === shard) ? [note] : [],
    )
    for (let i = 0; i < wanted.length; i += PAGE) {
      const page = wanted.slice(i, i + PAGE)
      const { rows } = await this.#client.query<{ hash: Buffer | null }>(
        `SELECT s.hash FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY w(shard, seq, n)
         LEFT JOIN ledger.seal s ON s.shard = w.shard AND s.seq_to = w.seq ORDER BY w.n`,
        [page.map((note) => note.shard), page.map(({ seq }) => String(seq))],
      )
      for (const [n, note] of page.entries()) this.#judge(note, rows[n]?.hash ?? null)
    }
  }

  async #kept(where: string, values: readonly unknown[]): Promise<Kept[]> {
    const { rows } = await this.#client.query<Kept & { sealed: Buffer | null; at: string }>(
      `SELECT c.shard, c.seq::text AS seq, c.hash, c.note, s.hash AS sealed,
         to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
       FROM ledger.checkpoint c
       LEFT JOIN ledger.seal s ON s.shard = c.shard AND s.seq_to = c.seq WHERE ${where}`,
      [...values],
    )
    return rows.map(({ sealed, at, ...kept }) => {
      const note = parseNote(kept.note)
      const same =
        note?.shard === kept.shard &&
        String(note.seq) === kept.seq &&
        note.at === at &&
        note.hash.equals(kept.hash)
      if (note && same) return this.#judge(note, sealed) ? { ...kept, sound: note } : kept
      this.#findings.add(SIGNED, `${nameOf(kept)}: the row and its note differ`)
      return kept
    })
  }

  #judge(note: Note, sealed: Buffer | null): boolean {
    const wrong = this.#wrong(note, sealed)
    if (wrong !== undefined) this.#findings.add(SIGNED, `${nameOf(note)}: ${wrong}`)
    return wrong === undefined
  }

  #wrong(note: Note, sealed: Buffer | null): string | undefined {
    if (note.ledger !== this.#ledger) return 'of another ledger'
    if (!this.#keys.signed(note)) return 'signed by no key that is trusted'
    if (!sealed) return 'no seal ends there any more'
    return sealed.equals(note.hash) ? undefined : 'the seal is another one: history was rewritten'
  }
}

/** The sums that the next run goes on from, against the newest checkpoint. */
export const carried = (shard: number, note: Note | undefined): Checks => ({
  [CARRIED]: note
    ? `SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard} at seq ${note.seq}' AS example
       WHERE ledger.balances_hash(${shard}::smallint, ${note.seq}, ${note.seq})
         <> '\\x${note.balances.toString('hex')}'`
    : `SELECT ${shard} AS shard, NULL::bigint AS seq, 'shard ${shard}: of no checkpoint' AS example
       WHERE EXISTS (SELECT FROM ledger.verified_balance WHERE shard = ${shard})`,
})

const nameOf = ({ shard, seq }: { shard: number; seq: bigint | string }): string =>
  `shard ${shard} checkpoint of seq ${seq}`
