import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { limitWait } from '../ledger/retry.ts'
import { LoadingCache } from '../runtime/cache.ts'
import { type CredentialGate, OPEN_GATE } from './credential-gate.ts'
import { hashKey, isWellFormed } from './secret.ts'

/** Time within which a revocation takes effect on every process. */
const CACHE_MS = 1_000
const CACHE_MAX = 10_000
/** Interval at which `used_at` of used keys is written. */
const USE_FLUSH_MS = 10_000

/** Principal and key of one request. */
export interface Caller {
  readonly principal: string
  readonly keyId: string
  readonly wallet: string | null
  /** Credits account of its main key. */
  readonly credits: AccountRef
  /** Custom requests per minute of its main key; null: the rate of its tier. */
  readonly ratePerMinute: number | null
  /** Limits of the key and of every sub-key above it. */
  readonly limits: readonly KeyLimits[]
  /** True if it may see all movements and the balance of the credits that it spends. */
  readonly seesMainKey: boolean
}

/** Spending limits of a sub-key, in microdollars; null: no limit. */
export interface KeyLimits {
  readonly keyId: string
  readonly maxCall: bigint | null
  readonly maxDay: bigint | null
  readonly maxTotal: bigint | null
  /** Slugs of callable services; null: all. */
  readonly services: readonly string[] | null
  /** True if calls in flight may release units above a lowered limit. */
  readonly hasExcess: boolean
}

/** Caller with a provider key: manages its principal's services and cannot spend. */
export interface ProviderCaller {
  readonly role: 'provider'
  readonly principal: string
  readonly keyId: string
}

interface KeyRow {
  readonly id: string
  readonly principal: string
  readonly wallet_address: string | null
  readonly role: 'agent' | 'provider'
  /** Null for a provider key. */
  readonly credits: bigint | null
  readonly code: Account | null
  readonly shard: number
  readonly rate: number | null
  readonly revoked: boolean
  readonly frozen: boolean
  readonly limits: readonly LimitsRow[]
  readonly sees: boolean
}

type KeyLookup = Caller | ProviderCaller | 'revoked' | 'frozen'

/** JSON row; amounts are text. */
interface LimitsRow {
  readonly id: string
  readonly call: string | null
  readonly day: string | null
  readonly total: string | null
  readonly services: readonly string[] | null
  readonly excess: boolean
}

/** SQL condition: calls in flight when a limit was lowered may still release units above it. */
export const EXCESS_MAY_RETURN = "since > now() - interval '1 day'"

/**
 * Selects a key with its limits. It is revoked or frozen if any key from it up to its main key is.
 * @param start selects the columns of `hub.api_key` as `k`, and `replaced`
 * @param condition on `line`, the key and those above it
 */
const selectKey = (start: string, condition: string) => `WITH RECURSIVE line AS (
      ${start}
      UNION ALL
      SELECT k.*, false FROM line l JOIN hub.api_key k ON k.id = l.parent
    )
    SELECT k.id, k.role, k.principal, p.wallet_address, k.credits, a.code, p.shard,
      (SELECT bool_or(coalesce(l.replaced, false) OR l.revoked_at IS NOT NULL
        OR coalesce(l.expires_at <= now(), false)) FROM line l) AS revoked,
      (SELECT bool_or(l.frozen_at IS NOT NULL) FROM line l) AS frozen,
      (SELECT l.rate_per_minute FROM line l WHERE l.parent IS NULL) AS rate,
      (SELECT coalesce(json_agg(json_build_object('id', l.id, 'call', l.max_call::text,
          'day', l.max_day::text, 'total', l.max_total::text, 'services', l.services,
          'excess', EXISTS (SELECT FROM hub.allowance_excess x
            WHERE x.key_id = l.id AND x.${EXCESS_MAY_RETURN}))), '[]')
        FROM line l WHERE l.parent IS NOT NULL) AS limits,
      (SELECT coalesce(bool_and(l.sees_main_key), true) FROM line l
        WHERE l.parent IS NOT NULL) AS sees
    FROM (SELECT * FROM line ORDER BY depth DESC LIMIT 1) k
    JOIN hub.principal p ON p.id = k.principal
    LEFT JOIN ledger.account a ON a.id = k.credits
    WHERE ${condition}`

const FIND = {
  name: 'keys.find',
  text: selectKey(
    `SELECT k.*, s.expires_at <= now() AS replaced FROM hub.key_secret s
        JOIN hub.api_key k ON k.id = s.key WHERE s.hash = $1`,
    'true',
  ),
}

const FIND_MANAGED = selectKey(
  'SELECT k.*, false AS replaced FROM hub.api_key k WHERE k.id = $1',
  'EXISTS (SELECT FROM line l WHERE l.parent IS NULL AND l.principal = ANY ($2))',
)

/** Authenticates callers by their keys; caches each for a second. */
export class KeyRing {
  readonly #pool: Pool
  readonly #gate: Gate
  /** Keyed by the Authorization header, because hashing the key costs more than this lookup. */
  readonly #cache: LoadingCache<string, KeyLookup | undefined>
  readonly #used = new Set<string>()

  constructor(pool: Pool, { gate = OPEN_GATE, now }: KeyRingOptions = {}) {
    this.#pool = pool
    this.#gate = gate
    this.#cache = new LoadingCache((authorization) => this.#find(authorization), {
      ttlMs: CACHE_MS,
      max: CACHE_MAX,
      now,
    })
  }

  /**
   * Finds the caller of a request by its Authorization header (RFC 6750).
   * @param network of the caller, whose failed attempts are limited; only called for uncached keys
   * @throws Fault `invalid_api_key` (malformed or unknown), `revoked_api_key`, `frozen_key`,
   *   `authentication_limited`, or `provider_key` for a key that cannot call
   * @throws LedgerUnavailable if the database does not respond in time
   */
  async authenticate(authorization: string, network?: () => string): Promise<Caller> {
    const cached = this.#cache.get(authorization)
    const found = this.#assertUsable(cached ?? (await this.#lookUp(authorization, network)))
    if ('role' in found) throw new Fault('provider_key')
    return found
  }

  /** Like `authenticate`, but also accepts provider keys. @throws Fault as `authenticate` */
  async identify(authorization: string, network?: () => string): Promise<Caller | ProviderCaller> {
    const cached = this.#cache.get(authorization)
    return this.#assertUsable(cached ?? (await this.#lookUp(authorization, network)))
  }

  /** Looks up a key that is not cached, unless its network has failed too often. */
  #lookUp(
    authorization: string,
    network: (() => string) | undefined,
  ): Promise<KeyLookup | undefined> {
    const key = parseKey(authorization)
    const isFailure = authorization !== '' // a request without a key has not tried one
    if (key === undefined)
      return Promise.resolve(this.#gate.fail(isFailure ? network?.() : undefined))
    const load = () => this.#cache.load(authorization)
    return limitWait(this.#gate.find(hashKey(key), network?.(), load))
  }

  #assertUsable(caller: KeyLookup | undefined): Caller | ProviderCaller {
    if (!caller) throw invalidKey()
    assertValid(caller)
    if (this.#used.size === 0) setTimeout(() => void this.#flushUsed(), USE_FLUSH_MS).unref()
    this.#used.add(caller.keyId)
    return caller
  }

  /** Writes `used_at` of recently used keys. Best effort: an update that fails is lost. */
  async #flushUsed(): Promise<void> {
    const used = [...this.#used]
    this.#used.clear()
    await this.#pool
      .query('UPDATE hub.api_key SET used_at = now() WHERE id = ANY ($1)', [used])
      .catch(() => undefined)
  }

  async #find(authorization: string): Promise<KeyLookup | undefined> {
    const key = parseKey(authorization)
    if (key === undefined) return undefined
    const { rows } = await this.#pool.query<KeyRow>({ ...FIND, values: [hashKey(key)] })
    return rows[0] && toKeyLookup(rows[0])
  }
}

type Gate = Pick<CredentialGate, 'find' | 'fail'>

export interface KeyRingOptions {
  /** Limits lookups of unknown keys. @defaultValue no limits */
  readonly gate?: Gate
  /** See `TtlOptions`. */
  readonly now?: (() => number) | undefined
}

/** Returns the key of an Authorization header; undefined if it cannot be one. */
function parseKey(authorization: string): string | undefined {
  const key = /^Bearer ([^\s]{1,200})$/i.exec(authorization)?.[1]
  return key !== undefined && isWellFormed(key) ? key : undefined
}

/**
 * Returns a key as the caller of a signed-in person, who need not know its secret.
 * @param principals ids of the person's account and linked wallets
 * @throws Fault `not_found` unless they manage the key; `revoked_api_key`, `frozen_key`, or
 *   `provider_key` for a key that cannot call
 */
export async function findManagedCaller(
  pool: Pool,
  principals: readonly string[],
  keyId: string,
): Promise<Caller> {
  const { rows } = await pool.query<KeyRow>(FIND_MANAGED, [keyId, principals])
  if (!rows[0]) throw new Fault('not_found', 'Your account has no key with this id.')
  const found = toKeyLookup(rows[0])
  assertValid(found)
  if ('role' in found) throw new Fault('provider_key')
  return found
}

function assertValid(found: KeyLookup): asserts found is Caller | ProviderCaller {
  if (found === 'revoked') throw new Fault('revoked_api_key', undefined, CHALLENGE)
  if (found === 'frozen') throw new Fault('frozen_key')
}

function toKeyLookup(row: KeyRow): KeyLookup {
  const { id: keyId, principal, credits, code, shard, revoked, frozen } = row
  if (revoked) return 'revoked'
  if (frozen) return 'frozen'
  if (credits === null || code === null) return { role: 'provider', principal, keyId }
  return toCaller(row, { id: credits, code, asset: 'USDC', shard })
}

const toCaller = (row: KeyRow, credits: AccountRef): Caller => ({
  principal: row.principal,
  keyId: row.id,
  wallet: row.wallet_address,
  credits,
  ratePerMinute: row.rate,
  limits: row.limits.map(({ id, call, day, total, services, excess }) => ({
    keyId: id,
    maxCall: parseBigint(call),
    maxDay: parseBigint(day),
    maxTotal: parseBigint(total),
    services,
    hasExcess: excess,
  })),
  seesMainKey: row.sees,
})

const parseBigint = (text: string | null): bigint | null => (text === null ? null : BigInt(text))

/** Header that a 401 must carry (RFC 9110 §15.5.2). */
const CHALLENGE = {
  headers: { 'WWW-Authenticate': 'Bearer realm="hub", error="invalid_token"' },
} as const

const invalidKey = (): Fault => new Fault('invalid_api_key', undefined, CHALLENGE)
