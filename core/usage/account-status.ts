import type { Pool } from 'pg'

import type { Account } from '../ledger/events.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import type { Micros } from '../money.ts'
import { ttlCache } from '../runtime/cache.ts'
import type { Tier } from './rate-limit.ts'

const TIER_MS = 1_000
const CACHE_MAX = 10_000

/** What a key has at the moment: its credits, and the rate tier that follows from them. */
export class AccountStatus {
  readonly #pool: Pool
  readonly #tiers

  /** @param now see `TtlOptions` */
  constructor(pool: Pool, now?: () => number) {
    this.#pool = pool
    this.#tiers = ttlCache<bigint, Tier>({ ttlMs: TIER_MS, max: CACHE_MAX, now })
  }

  /** The credits that are free to spend, in microdollars. */
  async balance({ id, shard }: AccountRef): Promise<Micros> {
    const { rows } = await this.#pool.query<{ balance: bigint }>({
      name: 'standing.balance',
      text: 'SELECT balance FROM ledger.balance WHERE account = $1 AND shard = $2',
      values: [id, shard],
    })
    const balance = rows[0]?.balance ?? 0n
    this.noteBalance(id, balance)
    return balance as Micros
  }

  /** What is left of something that is counted like money; undefined: it was not granted yet. */
  async remainingUnits(code: Account): Promise<bigint | undefined> {
    const { rows } = await this.#pool.query<{ balance: bigint }>(
      `SELECT b.balance FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
       WHERE a.code = $1`,
      [code],
    )
    return rows[0]?.balance
  }

  /** `paid` while there are credits (specification §8); at most a second old. */
  async tier(credits: AccountRef): Promise<Tier> {
    return this.#tiers.get(credits.id) ?? tierOf(await this.balance(credits))
  }

  /** Takes note of a balance that became known on the way. */
  noteBalance(account: bigint, balance: bigint): void {
    this.#tiers.set(account, tierOf(balance))
  }
}

const tierOf = (balance: bigint): Tier => (balance > 0n ? 'paid' : 'free')
