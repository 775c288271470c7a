import type { Pool } from 'pg'

import { dayName } from '../clock.ts'
import type { Caller } from '../identity/keys.ts'
import type { Account } from '../ledger/events.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { allowanceOf } from '../ledger/postings.ts'
import { limitWait } from '../ledger/retry.ts'
import type { Micros } from '../money.ts'
import { ttlCache } from '../runtime/cache.ts'
import type { ReachedLimit } from './allowances.ts'
import type { Tier } from './rate-limit.ts'

const TIER_MS = 1_000
const CACHE_MAX = 10_000

/** Key whose credits are looked up, with what limits it. */
export type Spender = Pick<Caller, 'credits' | 'limits' | 'seesMainKey'>

/** Limit with its allowance account. */
export interface AllowanceCap extends ReachedLimit {
  readonly account: Account
}

/** Lists the allowances that calls of a sub-key use today. */
export const allowancesOf = (limits: Caller['limits'], now: Date): readonly AllowanceCap[] =>
  limits.flatMap(({ keyId, maxDay, maxTotal }) => [
    ...capOf(keyId, 'total', 'total', maxTotal),
    ...capOf(keyId, 'day', dayName(now), maxDay),
  ])

const capOf = (
  keyId: string,
  scope: 'day' | 'total',
  span: string,
  cap: bigint | null,
): readonly AllowanceCap[] =>
  cap === null ? [] : [{ keyId, scope, cap, account: allowanceOf(keyId, span) }]

/** Current credits of a key, and the rate tier that they imply. */
export class AccountStatus {
  readonly #pool: Pool
  readonly #tiers

  /** @param now see `TtlOptions` */
  constructor(pool: Pool, now?: () => number) {
    this.#pool = pool
    this.#tiers = ttlCache<bigint, Tier>({ ttlMs: TIER_MS, max: CACHE_MAX, now })
  }

  /** Returns the available credits, in microdollars. */
  async balance({ id, shard }: AccountRef): Promise<Micros> {
    const { rows } = await this.#pool.query<{ balance: bigint }>({
      name: 'account-status.balance',
      text: 'SELECT balance FROM ledger.balance WHERE account = $1 AND shard = $2',
      values: [id, shard],
    })
    const balance = rows[0]?.balance ?? 0n
    this.noteBalance(id, balance)
    return balance as Micros
  }

  /** Returns the credits that a caller may spend and see. See `cap`. */
  async spendable(caller: Spender, now: Date): Promise<Micros> {
    return await this.cap(caller, await this.balance(caller.credits), now)
  }

  /**
   * Caps the credits of a main key at what the limits of a sub-key leave, unless the sub-key may
   * see its main key.
   */
  cap(
    { credits, limits, seesMainKey }: Spender,
    balance: Micros,
    now: Date,
  ): Micros | Promise<Micros> {
    const caps = seesMainKey ? [] : allowancesOf(limits, now)
    return caps.length === 0 ? balance : this.#least(balance, caps, credits.shard)
  }

  async #least(balance: Micros, caps: readonly AllowanceCap[], shard: number): Promise<Micros> {
    const left = await this.remainingAllowances(caps, shard)
    return left.reduce((least, each) => (each < least ? each : least), balance) as Micros
  }

  /**
   * Returns the rest of each allowance: all of it if it has not been granted yet.
   * @param shard shard of the key's credits
   */
  async remainingAllowances(
    caps: readonly AllowanceCap[],
    shard: number,
  ): Promise<readonly bigint[]> {
    const { rows } = await this.#pool.query<{ code: string; balance: bigint }>(
      `SELECT a.code, b.balance FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
       WHERE a.code = ANY ($1) AND b.shard = $2`,
      [caps.map(({ account }) => account), shard],
    )
    const known = new Map(rows.map(({ code, balance }) => [code, balance]))
    return caps.map(({ account, cap }) => known.get(account) ?? cap)
  }

  /**
   * Returns the rest of a quota or allowance; undefined if it has not been granted yet.
   * @param shard shard of the principal
   */
  async remainingUnits(code: Account, shard: number): Promise<bigint | undefined> {
    const { rows } = await this.#pool.query<{ balance: bigint }>(
      `SELECT b.balance FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
       WHERE a.code = $1 AND b.shard = $2`,
      [code, shard],
    )
    return rows[0]?.balance
  }

  /** Returns `paid` while there are credits; at most a second old. */
  tier(credits: AccountRef): Tier | Promise<Tier> {
    return this.#tiers.get(credits.id) ?? limitWait(this.balance(credits)).then(tierOf)
  }

  /** Caches the tier of a balance that another query returned. */
  noteBalance(account: bigint, balance: bigint): void {
    this.#tiers.set(account, tierOf(balance))
  }
}

const tierOf = (balance: bigint): Tier => (balance > 0n ? 'paid' : 'free')
