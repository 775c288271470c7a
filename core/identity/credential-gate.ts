import type { Pool } from 'pg'
import { ttlCache } from '../runtime/cache.ts'
import type { FailedAttempts } from './failed-attempts.ts'

/** Time for which an unknown credential is refused without a query, unless one is created. */
const UNKNOWN_MS = 10_000
const UNKNOWN_MAX = 20_000
/** Time for which a valid credential passes although its network is limited. */
const VALID_MS = 3_600_000
const VALID_MAX = 50_000

/** Query by kind of credential that returns those digests that exist. */
const EXISTING = {
  key: 'SELECT hash FROM hub.key_secret WHERE hash = ANY ($1)',
  link: 'SELECT hash FROM hub.magic_link WHERE hash = ANY ($1)',
  session: 'SELECT hash FROM hub.session WHERE hash = ANY ($1) AND expires_at > now()',
} as const

export interface CredentialGateDeps {
  readonly pool: Pool
  readonly kind: keyof typeof EXISTING
  readonly attempts: FailedAttempts
  /** False to count repeated attempts once: browsers resend the cookie of an ended session. */
  readonly countsRepeats?: boolean
  /** See `TtlOptions`. */
  readonly now?: (() => number) | undefined
  /** Milliseconds between checks for limited networks. @defaultValue 250 */
  readonly batchMs?: number
}

/**
 * Limits what unknown credentials cost. A repeated one costs no query. Beyond the limit of failed
 * attempts, of a network or of all, unknown credentials are checked together, a few times per
 * second, so that a valid one still passes: at once if it was valid within the hour.
 */
export class CredentialGate {
  readonly #attempts: FailedAttempts
  readonly #check: ExistenceCheck
  readonly #countsRepeats: boolean
  /** Digests of valid credentials. */
  readonly #valid
  /** Digests of unknown credentials; used only while new credentials are announced. */
  readonly #unknown
  #isAnnounced = false
  /** Number of announcements; the result of a query that began before one is outdated. */
  #generation = 0

  constructor(deps: CredentialGateDeps) {
    const { attempts, now, countsRepeats = true } = deps
    this.#attempts = attempts
    this.#countsRepeats = countsRepeats
    this.#check = new ExistenceCheck(deps)
    this.#valid = ttlCache<string, true>({ ttlMs: VALID_MS, max: VALID_MAX, now })
    this.#unknown = ttlCache<string, true>({ ttlMs: UNKNOWN_MS, max: UNKNOWN_MAX, now })
  }

  /** Starts to remember unknown credentials: from now on, `invalidate` follows each new one. */
  startCaching(): void {
    this.invalidate()
    this.#isAnnounced = true
  }

  /** Stops remembering unknown credentials, because announcements may be lost. */
  stopCaching(): void {
    this.#isAnnounced = false
    this.invalidate()
  }

  /** Forgets unknown credentials, because a credential was created. */
  invalidate(): void {
    this.#generation++
    this.#unknown.clear()
  }

  /**
   * Finds what a credential stands for; undefined if it is unknown.
   * @param network undefined: the number of attempts is not limited
   * @throws Fault `authentication_limited`
   */
  async find<T extends {}>(
    digest: Buffer,
    network: string | undefined,
    load: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const key = digest.toString('base64')
    if (this.#unknown.has(key)) return this.fail(this.#countsRepeats ? network : undefined)
    const generation = this.#generation
    const isChecked = network !== undefined && this.#mustCheck(network) && !this.#valid.has(key)
    const check = isChecked ? await this.#check.ask(digest, network) : 'exists'
    if (isChecked && check === 'unchecked') throw this.#attempts.refusal(network)
    const found = check === 'exists' ? await load() : undefined
    if (found !== undefined) {
      this.#valid.set(key, true)
      return found
    }
    if (this.#isAnnounced && generation === this.#generation) this.#unknown.set(key, true)
    return this.fail(network)
  }

  #mustCheck(network: string): boolean {
    return this.#attempts.areMany || this.#attempts.isLimited(network)
  }

  /** Counts a failed attempt. @throws Fault `authentication_limited` beyond the limit */
  fail(network: string | undefined): undefined {
    if (network === undefined) return undefined
    if (this.#attempts.isLimited(network)) throw this.#attempts.refusal(network)
    this.#attempts.record(network)
    return undefined
  }
}

/** Gates of all kinds of credentials, which share the failed attempts of each network. */
export interface CredentialGates {
  readonly keyGate: CredentialGate
  readonly sessionGate: CredentialGate
  readonly linkGate: CredentialGate
}

/** Gate without limits, for lookups that strangers cannot start. */
export const OPEN_GATE: Pick<CredentialGate, 'find' | 'fail'> = {
  find: (_digest, _network, load) => load(),
  fail: () => undefined,
}

/** Digests per batch, in total and of one network; more are refused without a check. */
const BATCH_MAX = 1_000
const BATCH_NETWORK_MAX = 100

interface Batch {
  readonly digests: Map<string, Buffer>
  readonly perNetwork: Map<string, number>
  readonly existing: Promise<ReadonlySet<string>>
}

/** Checks many credentials with one query, at most one query per interval. */
class ExistenceCheck {
  readonly #pool: Pool
  readonly #query: string
  readonly #batchMs: number
  #batch: Batch | undefined

  constructor({ pool, kind, batchMs = 250 }: CredentialGateDeps) {
    this.#pool = pool
    this.#query = EXISTING[kind]
    this.#batchMs = batchMs
  }

  async ask(digest: Buffer, network: string): Promise<'exists' | 'unknown' | 'unchecked'> {
    const batch = (this.#batch ??= this.#open())
    const key = digest.toString('base64')
    const count = batch.perNetwork.get(network) ?? 0
    if (!batch.digests.has(key)) {
      if (batch.digests.size >= BATCH_MAX || count >= BATCH_NETWORK_MAX) return 'unchecked'
      batch.digests.set(key, digest)
      batch.perNetwork.set(network, count + 1)
    }
    return (await batch.existing).has(key) ? 'exists' : 'unknown'
  }

  #open(): Batch {
    const digests = new Map<string, Buffer>()
    const { promise: existing, resolve, reject } = Promise.withResolvers<ReadonlySet<string>>()
    setTimeout(() => {
      this.#batch = undefined
      this.#pool
        .query<{ hash: Buffer }>(this.#query, [[...digests.values()]])
        .then(
          ({ rows }) => resolve(new Set(rows.map(({ hash }) => hash.toString('base64')))),
          reject,
        )
    }, this.#batchMs)
    return { digests, perNetwork: new Map(), existing }
  }
}
