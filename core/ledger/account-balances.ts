import type { Pool } from 'pg'
import type { AccountRef } from './ledger.ts'

/** Account with entries on one shard. */
export type ShardAccount = Pick<AccountRef, 'id' | 'shard'>

/** Account with a balance, and the shard that has it. */
export interface CreditsPlace {
  readonly credits: bigint
  readonly shard: number
}

/** Reads the balances of accounts, one shard after the other. */
export async function readBalances(
  pool: Pick<Pool, 'query'>,
  places: readonly CreditsPlace[],
): Promise<ReadonlyMap<bigint, bigint>> {
  const balances = new Map<bigint, bigint>()
  for (const [shard, accounts] of Map.groupBy(places, (place) => place.shard)) {
    const { rows } = await pool.query<{ account: bigint; balance: bigint }>(
      'SELECT account, balance FROM ledger.balance WHERE shard = $1 AND account = ANY ($2)',
      [shard, accounts.map(({ credits }) => credits)],
    )
    for (const { account, balance } of rows) balances.set(account, balance)
  }
  return balances
}

/** Finds the shard that has the balance of an account. */
export async function findShard(pool: Pick<Pool, 'query'>, account: bigint): Promise<number> {
  const { rows } = await pool.query<{ shard: number }>(
    'SELECT coalesce(a.home, 0) AS shard FROM ledger.account a WHERE a.id = $1',
    [account],
  )
  return rows[0]?.shard ?? 0
}
