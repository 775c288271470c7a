import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { withDeadline } from '../clock.ts'
import { ASYNC_COMMIT } from './transaction.ts'

const BEAT_EVERY_MS = 1_000
const RELEASE_WAIT_MS = 1_000
/** Maximum number of releases that wait for the database. */
const WAITING_MAX = 10_000

/**
 * Lease of this process on the attempts and payments that it works on. It is renewed each second;
 * three seconds after the last renewal, `hub.is_gone` lets other processes take them over.
 */
export class ProcessLease {
  readonly id = randomUUID()
  readonly #pool: Pool
  readonly #waiting = new Set<() => Promise<unknown>>()
  #timer: NodeJS.Timeout | undefined
  #isBeating = false

  private constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Takes the lease, before this process begins anything under it. */
  static async open(pool: Pool): Promise<ProcessLease> {
    const lease = new ProcessLease(pool)
    await lease.#renew()
    lease.#timer = setInterval(() => void lease.#beat(), BEAT_EVERY_MS).unref()
    return lease
  }

  /**
   * Runs a release of something that this process had begun. If the database is unreachable,
   * runs it again each second until it succeeds, because no other process releases it while this
   * one lives. The caller waits for a second at most.
   */
  async release(work: () => Promise<unknown>): Promise<void> {
    const released = work().catch(() => {
      if (this.#waiting.size < WAITING_MAX) this.#waiting.add(work)
    })
    await withDeadline(RELEASE_WAIT_MS, released).catch(() => {})
  }

  /** Ends the lease, so that other processes may take over unfinished work at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await ProcessLease.end(this.#pool, this.id)
  }

  /** Ends the lease of a process that has ended. Without it, the lease expires. */
  static async end(pool: Pool, id: string): Promise<void> {
    await pool.query('DELETE FROM hub.process WHERE id = $1', [id]).catch(() => {})
  }

  /** Renews the lease. Does not log a failure: other code reports an unreachable database. */
  async #beat(): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    try {
      await this.#renew()
      for (const work of this.#waiting) {
        this.#waiting.delete(work)
        void this.release(work) // not awaited: it may take longer than a beat
      }
    } catch {
    } finally {
      this.#isBeating = false
    }
  }

  async #renew(): Promise<void> {
    await this.#pool.query(`SELECT hub.beat($1) FROM ${ASYNC_COMMIT}`, [this.id])
  }
}
