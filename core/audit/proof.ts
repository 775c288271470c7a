import type { Pool } from 'pg'
import type { Clock } from '../clock.ts'

/** How many lines of the log were all read, and when. */
export interface Whole {
  readonly lines: bigint
  /** The hash of the last of them, in hex. */
  readonly head: string | null
  readonly at: Date
}

/** Whether the log is as it was written. */
export interface AuditChain {
  readonly lines: bigint
  /** Of the newest line, in hex: who keeps it elsewhere can prove the log; null: it is empty. */
  readonly head: string | null
  /** The first line that was changed, taken away or added; null: none. */
  readonly brokenAt: bigint | null
  /** The proof of all lines that this one stands on, or is. */
  readonly whole: Whole
}

type Read = Omit<AuditChain, 'whole'>

const DAY_MS = 86_400_000
const NONE = { lines: 0n, head: null }
const ZEROS = '00'.repeat(32)

/**
 * Proves the audit log. It keeps, in this process and out of the reach of the database, how far all
 * of it was proved: lines are only ever added, so that the next proof needs those alone that came
 * since.
 */
export class AuditProof {
  readonly #pool: Pool
  readonly #clock: Clock
  #kept: Whole | undefined
  #isSound = false

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  /** Reads every line; and those that were there at an earlier proof still have to be. */
  async all(): Promise<AuditChain> {
    const kept = this.#kept
    const at = this.#clock.now()
    const read = await this.#readAfter(NONE)
    const brokenAt = read.brokenAt ?? (kept ? (await this.#readAfter(kept)).brokenAt : null)
    const whole = { lines: read.lines, head: read.head, at }
    this.#isSound = brokenAt === null
    if (this.#isSound) this.#kept = whole
    return { ...read, brokenAt, whole }
  }

  /**
   * Reads the lines that came since all were read; all of them, where that is a day ago or
   * something was wrong. Who gets past the database can rewrite older lines: `all` finds that.
   */
  async latest(): Promise<AuditChain> {
    const kept = this.#kept
    const isFresh = kept && this.#clock.now().getTime() - kept.at.getTime() <= DAY_MS
    if (!isFresh || !this.#isSound) return this.all()
    const read = await this.#readAfter(kept)
    return read.brokenAt === null ? { ...read, whole: kept } : this.all()
  }

  async #readAfter({ lines, head }: Pick<Whole, 'lines' | 'head'>): Promise<Read> {
    const { rows } = await this.#pool.query<Read>(
      `SELECT $1::bigint + count(*) AS lines, hub.audit_fault($1, decode($2, 'hex')) AS "brokenAt",
         (SELECT encode(hash, 'hex') FROM hub.audit ORDER BY seq DESC LIMIT 1) AS head
       FROM hub.audit WHERE seq > $1`,
      [lines, head ?? ZEROS],
    )
    return rows[0]!
  }
}
