import type { Pool } from 'pg'

import type { Account } from '../ledger/events.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import type { Micros } from '../money.ts'
import { ttlCache } from '../runtime/cache.ts'
import type { Tier } from './rate-limit.ts'

const TIER_MS = 1_000
const CACHE_MAX = 10_000

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

  /** Returns the rest of a quota or allowance; undefined if it has not been granted yet. */
  async remainingUnits(code: Account): Promise<bigint | undefined> {
    const { rows } = await this.#pool.query<{ balance: bigint }>(
      `SELECT b.balance FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
       WHERE a.code = $1`,
      [code],
    )
    return rows[0]?.balance
  }

  /** Returns `paid` while there are credits; at most a second old. */
  async tier(credits: AccountRef): Promise<Tier> {
    return this.#tiers.get(credits.id) ?? tierOf(await this.balance(credits))
  }

  /** Caches the tier of a balance that another query returned. */
  noteBalance(account: bigint, balance: bigint): void {
    this.#tiers.set(account, tierOf(balance))
  }
}

const tierOf = (balance: bigint): Tier => (balance > 0n ? 'paid' : 'free')
