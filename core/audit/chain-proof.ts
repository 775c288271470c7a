import type { Pool } from 'pg'
import type { Clock } from '../clock.ts'

/** Result of the last proof that read all lines of the log. */
export interface FullProof {
  readonly lines: bigint
  /** Hash of the last line, in hex; null if the log is empty. */
  readonly head: string | null
  readonly at: Date
}

/** Result of verifying the hash chain of the audit log. */
export interface AuditChain {
  readonly lines: bigint
  /** Hash of the newest line, in hex; stored elsewhere, it proves the log. Null if empty. */
  readonly head: string | null
  /** First line that was changed, removed or added; null if there is none. */
  readonly brokenAt: bigint | null
  /** Full proof on which this result is based. */
  readonly lastFull: FullProof
}

type ChainReading = Omit<AuditChain, 'whole'>

const DAY_MS = 86_400_000
const LOG_START = { lines: 0n, head: null }
const GENESIS_HASH = '00'.repeat(32)

/**
 * Verifies the audit log. Remembers the last full proof in this process, outside the database: the
 * log is append-only, so that the next proof reads only newer lines.
 */
export class AuditProof {
  readonly #pool: Pool
  readonly #clock: Clock
  #lastFull: FullProof | undefined
  #isSound = false

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  /** Reads every line, and checks that the lines of the last full proof are still there. */
  async verifyAll(): Promise<AuditChain> {
    const lastFull = this.#lastFull
    const at = this.#clock.now()
    const read = await this.#readAfter(LOG_START)
    const brokenAt = read.brokenAt ?? (lastFull ? (await this.#readAfter(lastFull)).brokenAt : null)
    const proof = { lines: read.lines, head: read.head, at }
    this.#isSound = brokenAt === null
    if (this.#isSound) this.#lastFull = proof
    return { ...read, brokenAt, lastFull: proof }
  }

  /**
   * Reads the lines added since the last full proof, or all lines if that is over a day ago or
   * found an error. Someone with write access to the tables could rewrite older lines: `verifyAll`
   * detects that.
   */
  async verifyRecent(): Promise<AuditChain> {
    const lastFull = this.#lastFull
    const isFresh = lastFull && this.#clock.now().getTime() - lastFull.at.getTime() <= DAY_MS
    if (!isFresh || !this.#isSound) return this.verifyAll()
    const read = await this.#readAfter(lastFull)
    return read.brokenAt === null ? { ...read, lastFull } : this.verifyAll()
  }

  async #readAfter({ lines, head }: Pick<FullProof, 'lines' | 'head'>): Promise<ChainReading> {
    const { rows } = await this.#pool.query<ChainReading>(
      `SELECT $1::bigint + count(*) AS lines, hub.audit_fault($1, decode($2, 'hex')) AS "brokenAt",
         (SELECT encode(hash, 'hex') FROM hub.audit ORDER BY seq DESC LIMIT 1) AS head
       FROM hub.audit WHERE seq > $1`,
      [lines, head ?? GENESIS_HASH],
    )
    return rows[0]!
  }
}
