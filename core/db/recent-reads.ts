import type { Pool } from 'pg'
import { type Clock, pause, withDeadline, withTimeout } from '../clock.ts'
import { Fault } from '../errors.ts'
import type { Log } from '../log.ts'
import { logFailure, outagesOf } from '../outages.ts'
import { createPool } from './pool.ts'

/** Result of a read that contains everything committed before `asOf`; undefined: it is current. */
export interface Dated<T> {
  readonly result: T
  readonly asOf: Date | undefined
}

/**
 * Reads that may be some seconds old: statistics, exports and public pages. Whatever decides about
 * money, or shows people what they have just changed, reads the primary.
 */
export interface RecentReads {
  /** Runs `work`, which only reads and may run twice. */
  read<T>(work: (pool: Pool) => Promise<T>): Promise<Dated<T>>
  /** Returns the replica, if its data contains everything committed before `since`. */
  replicaSince(since: Date): Pool | undefined
}

/** Reads of a database without a replica. */
export const readPrimary = (primary: Pool): RecentReads => ({
  read: async (work) => ({ result: await work(primary), asOf: undefined }),
  replicaSince: () => undefined,
})

/** Replica of the database server. */
export interface ReplicaOptions {
  /** Direct connection of a login that has the role `hub_app`. */
  readonly url: string
  /** Age up to which its data may be read. */
  readonly maxAgeMs: number
}

export interface ReplicaDeps {
  readonly primary: Pool
  /** Id of the lease that this process renews each second: see `ProcessLease`. */
  readonly leaseId: string
  /** Clock of the primary. */
  readonly clock: Clock
  readonly log: Log
}

const COMPONENT = 'database replica'
const PROBE_EVERY_MS = 1_000
/** Time after which a replica that does not respond is not read. */
const PROBE_MS = 2_000
const RESPONSE_MS = 20_000
const CONNECTIONS_MAX = 10
const CLOSE_MS = 2_000

/** State of the replica at one probe. */
interface Probe {
  readonly isReplica: boolean
  /** Newest renewal of this process's lease that it has replayed, by the primary's clock. */
  readonly asOf: Date | null
}

const PROBE = `SELECT pg_is_in_recovery() AS "isReplica",
  (SELECT beat_at FROM hub.process WHERE id = $1) AS "asOf"`

/**
 * Reads a replica while it is fresh, otherwise the primary. The renewals of this process's lease
 * measure the age: WAL is replayed in order, so a replica that has one has everything that was
 * committed before it. They continue on an idle primary, and stop on a replica that was cut off, of
 * another timeline, or of another database.
 */
export class ReplicaReads implements RecentReads {
  readonly #deps: ReplicaDeps
  readonly #maxAgeMs: number
  readonly #pool: Pool
  /** Connection of the probes, for which no read waits. */
  readonly #prober: Pool
  readonly #closing = new AbortController()
  /** Ends reads in flight when the replica cannot be read any more. */
  readonly #reading = new Set<(reason: Error) => void>()
  readonly #watching: Promise<void>
  #asOf: Date | undefined

  /** Opens the pools without connecting: a replica that is down does not delay the start. */
  constructor({ url, maxAgeMs }: ReplicaOptions, deps: ReplicaDeps) {
    this.#deps = deps
    this.#maxAgeMs = maxAgeMs
    const shared = { role: 'hub_app', isShort: true } as const
    this.#pool = createPool(url, { max: CONNECTIONS_MAX, responseMs: RESPONSE_MS, ...shared })
    this.#prober = createPool(url, { max: 1, responseMs: PROBE_MS, ...shared })
    this.#watching = this.#watch()
  }

  /** Runs `work` on the replica. What fails there, or is not found, is read from the primary. */
  async read<T>(work: (pool: Pool) => Promise<T>): Promise<Dated<T>> {
    const asOf = this.#freshAsOf()
    if (asOf !== undefined) {
      try {
        return { result: await this.#whileFresh(work(this.#pool)), asOf }
      } catch (err) {
        if (!(err instanceof Fault)) this.#report(err, 'a read was repeated on the primary')
      }
    }
    return { result: await work(this.#deps.primary), asOf: undefined }
  }

  replicaSince(since: Date): Pool | undefined {
    const asOf = this.#freshAsOf()
    return asOf !== undefined && asOf >= since ? this.#pool : undefined
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#watching
    await withTimeout(CLOSE_MS, Promise.all([this.#pool.end(), this.#prober.end()]))
  }

  #freshAsOf(): Date | undefined {
    const asOf = this.#asOf
    return asOf !== undefined && this.#ageOf(asOf) <= this.#maxAgeMs ? asOf : undefined
  }

  #ageOf(asOf: Date): number {
    return this.#deps.clock.now().getTime() - asOf.getTime()
  }

  async #whileFresh<T>(work: Promise<T>): Promise<T> {
    const { promise: lost, reject } = Promise.withResolvers<never>()
    this.#reading.add(reject)
    try {
      return await Promise.race([work, lost])
    } finally {
      this.#reading.delete(reject)
    }
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        this.#asOf = await withDeadline(PROBE_MS, this.#probe())
        outagesOf(this.#deps.log).succeed(COMPONENT)
      } catch (error) {
        this.#asOf = undefined
        for (const end of this.#reading) end(error as Error)
        if (!signal.aborted) this.#report(error, 'reading the primary instead of the replica')
      }
      await pause(PROBE_EVERY_MS, signal)
    }
  }

  /** @throws Error if the data must not be read */
  async #probe(): Promise<Date> {
    const { rows } = await this.#prober.query<Probe>(PROBE, [this.#deps.leaseId])
    const { isReplica, asOf } = rows[0]!
    if (!isReplica) throw new Error('the server is no replica, or was promoted')
    if (asOf === null) throw new Error('the replica has not replayed the start of this process')
    const age = this.#ageOf(asOf)
    if (age > this.#maxAgeMs) throw new Error(`the replica is ${Math.round(age / 1_000)} s behind`)
    return asOf
  }

  #report(err: unknown, message: string): void {
    logFailure(this.#deps.log, 'warn', { err, component: COMPONENT }, message)
  }
}

/** Returns the connection string of a login on a replica, whose URL names no login. */
export function replicaUrl(replica: string, login: string): string {
  const url = new URL(replica)
  const { username, password, pathname } = new URL(login)
  url.username = username
  url.password = password
  if (url.pathname.length <= 1) url.pathname = pathname
  return url.href
}
