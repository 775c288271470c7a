import type { Pool } from 'pg'
import { elapsedMs } from '../clock.ts'
import { Fault } from '../errors.ts'
import { inFlight } from '../in-flight.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { hashOf, isWellFormed } from './secret.ts'

/** A revocation takes effect within this time on every instance. */
const CACHE_MS = 1_000
const CACHE_MAX = 10_000
/** How often it is written down which keys were used. */
const NOTE_MS = 10_000

/** Who calls, as every door and step needs it. */
export interface Caller {
  readonly principal: string
  readonly keyId: string
  readonly wallet: string | null
  /** Of the root of its key. */
  readonly credits: AccountRef
  /** Requests per minute that its root was given; null: those of its tier. */
  readonly ratePerMinute: number | null
  /** Those of the key and of every key above it, as far as there are any. */
  readonly limits: readonly KeyLimits[]
}

/** What a key that another key made may spend, in microdollars. */
export interface KeyLimits {
  readonly keyId: string
  readonly maxCall: bigint | null
  readonly maxDay: bigint | null
  readonly maxTotal: bigint | null
  /** Slugs that it may call; null: all. */
  readonly services: readonly string[] | null
}

/** Who shows a key for what its principal sells: it manages that, and spends nothing. */
export interface Seller {
  readonly role: 'provider'
  readonly principal: string
  readonly keyId: string
}

interface KeyRow {
  readonly id: string
  readonly principal: string
  readonly wallet_address: string | null
  readonly role: 'agent' | 'provider'
  /** Null: a provider's. */
  readonly credits: bigint | null
  readonly code: Account | null
  readonly shard: number
  readonly rate: number | null
  readonly revoked: boolean
  readonly frozen: boolean
  readonly limits: readonly LimitsRow[]
}

type Found = Caller | Seller | 'revoked' | 'frozen'

/** As JSON: amounts are texts. */
interface LimitsRow {
  readonly id: string
  readonly call: string | null
  readonly day: string | null
  readonly total: string | null
  readonly services: readonly string[] | null
}

/** Each key of the line from the secret's up to its root must be good for the first to be. */
const FIND = {
  name: 'keys.find',
  text: `WITH RECURSIVE line AS (
      SELECT k.*, s.expires_at <= now() AS replaced FROM hub.key_secret s
        JOIN hub.api_key k ON k.id = s.key WHERE s.hash = $1
      UNION ALL
      SELECT k.*, false FROM line l JOIN hub.api_key k ON k.id = l.parent
    )
    SELECT k.id, k.role, k.principal, p.wallet_address, k.credits, a.code, p.shard,
      (SELECT bool_or(coalesce(l.replaced, false) OR l.revoked_at IS NOT NULL
        OR coalesce(l.expires_at <= now(), false)) FROM line l) AS revoked,
      (SELECT bool_or(l.frozen_at IS NOT NULL) FROM line l) AS frozen,
      (SELECT l.rate_per_minute FROM line l WHERE l.parent IS NULL) AS rate,
      (SELECT coalesce(json_agg(json_build_object('id', l.id, 'call', l.max_call::text,
          'day', l.max_day::text, 'total', l.max_total::text, 'services', l.services)), '[]')
        FROM line l WHERE l.parent IS NOT NULL) AS limits
    FROM (SELECT * FROM line ORDER BY depth DESC LIMIT 1) k
    JOIN hub.principal p ON p.id = k.principal
    LEFT JOIN ledger.account a ON a.id = k.credits`,
}

/** Finds callers by their keys, with a cache of one second. */
export class KeyRing {
  readonly #pool: Pool
  /** By what was shown: to hash it anew would be much of the work of a short request. */
  readonly #known = new Map<string, { readonly caller: Found; readonly at: number }>()
  readonly #used = new Set<string>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * The caller of a request, by its Authorization header (RFC 6750).
   * @throws Fault `invalid_api_key` (malformed, unknown), `revoked_api_key`, `frozen_key`, or
   *   `provider_key` for one that calls and pays nothing
   */
  async authenticate(authorization: string): Promise<Caller> {
    const found = this.#admit(this.#recent(authorization) ?? (await this.#find(authorization)))
    if ('role' in found) throw new Fault('provider_key')
    return found
  }

  /**
   * The same, for what providers manage too.
   * @throws Fault `invalid_api_key`, `revoked_api_key`, `frozen_key`
   */
  async identify(authorization: string): Promise<Caller | Seller> {
    return this.#admit(this.#recent(authorization) ?? (await this.#find(authorization)))
  }

  #admit(caller: Found | undefined): Caller | Seller {
    if (!caller) throw invalid()
    if (caller === 'revoked') throw new Fault('revoked_api_key', undefined, CHALLENGE)
    if (caller === 'frozen') throw new Fault('frozen_key')
    if (this.#used.size === 0) setTimeout(() => void this.#noteUse(), NOTE_MS).unref()
    this.#used.add(caller.keyId)
    return caller
  }

  /** No secret stays in memory longer than it is of use. */
  #forget(): void {
    const since = elapsedMs() - CACHE_MS
    for (const [authorization, { at }] of this.#known) {
      if (at <= since) this.#known.delete(authorization)
    }
    if (this.#known.size > 0) setTimeout(() => this.#forget(), CACHE_MS).unref()
  }

  #recent(authorization: string): Found | undefined {
    const known = this.#known.get(authorization)
    return known && elapsedMs() - known.at < CACHE_MS ? known.caller : undefined
  }

  /** Nobody needs to know by the second when a key was used last. What cannot be noted is lost. */
  async #noteUse(): Promise<void> {
    const used = [...this.#used]
    this.#used.clear()
    await this.#pool
      .query('UPDATE hub.api_key SET used_at = now() WHERE id = ANY ($1)', [used])
      .catch(() => undefined)
  }

  /** Asked once for all who come with the key at the same time. */
  readonly #find = inFlight(async (authorization: string): Promise<Found | undefined> => {
    const key = /^Bearer ([^\s]{1,200})$/i.exec(authorization)?.[1]
    if (key === undefined || !isWellFormed(key)) return undefined
    const at = elapsedMs()
    const { rows } = await this.#pool.query<KeyRow>({ ...FIND, values: [hashOf(key)] })
    const [row] = rows
    if (!row) return undefined
    const caller = row.revoked ? 'revoked' : row.frozen ? 'frozen' : holderOf(row)
    if (this.#known.size === 0) setTimeout(() => this.#forget(), CACHE_MS).unref()
    if (this.#known.size < CACHE_MAX) this.#known.set(authorization, { caller, at })
    return caller
  })
}

function holderOf(row: KeyRow): Caller | Seller {
  const { id: keyId, principal, credits, code, shard } = row
  if (credits === null || code === null) return { role: 'provider', principal, keyId }
  return callerOf(row, { id: credits, code, asset: 'USDC', shard })
}

const callerOf = (row: KeyRow, credits: AccountRef): Caller => ({
  principal: row.principal,
  keyId: row.id,
  wallet: row.wallet_address,
  credits,
  ratePerMinute: row.rate,
  limits: row.limits.map(({ id, call, day, total, services }) => ({
    keyId: id,
    maxCall: bigintOf(call),
    maxDay: bigintOf(day),
    maxTotal: bigintOf(total),
    services,
  })),
})

const bigintOf = (text: string | null): bigint | null => (text === null ? null : BigInt(text))

/** RFC 9110 §15.5.2: a 401 says how to authenticate. */
const CHALLENGE = {
  headers: { 'WWW-Authenticate': 'Bearer realm="hub", error="invalid_token"' },
} as const

const invalid = (): Fault => new Fault('invalid_api_key', undefined, CHALLENGE)
