import type { Pool } from 'pg'
import { readTogether } from '../db/transaction.ts'
import type { Account, Asset } from './events.ts'

/** What an account holds over all shards, in units of its asset, credit-positive. */
export interface TrialBalanceRow {
  readonly account: Account
  readonly asset: Asset
  readonly balance: bigint
}

/** The balance of every account that is open, by code. */
export async function trialBalance(pool: Pool): Promise<TrialBalanceRow[]> {
  const { rows } = await pool.query<{ account: Account; asset: Asset; balance: string }>(
    `SELECT a.code AS account, s.code AS asset, coalesce(sum(b.balance), 0)::text AS balance
     FROM ledger.account a
     JOIN ledger.asset s ON s.id = a.asset
     LEFT JOIN ledger.balance b ON b.account = a.id
     GROUP BY a.id, s.code ORDER BY a.code COLLATE "C"`,
  )
  return rows.map((row) => ({ ...row, balance: BigInt(row.balance) }))
}

export interface BalanceFilter {
  /** Accounts that begin so. */
  readonly prefix: string
  /** Whether those that hold nothing are wanted too. */
  readonly zero: boolean
  readonly limit: number
}

/** The first of these accounts by code, and the totals of all accounts, of one instant. */
export function balancesNow(
  pool: Pool,
  { prefix, zero, limit }: BalanceFilter,
): Promise<{
  readonly accounts: readonly TrialBalanceRow[]
  readonly totals: ReadonlyMap<Asset, bigint>
}> {
  return readTogether(pool, async (client) => {
    const { rows } = await client.query<{ account: Account; asset: Asset; balance: string }>(
      `SELECT a.code AS account, s.code AS asset, coalesce(sum(b.balance), 0)::text AS balance
       FROM ledger.account a
       JOIN ledger.asset s ON s.id = a.asset
       LEFT JOIN ledger.balance b ON b.account = a.id
       WHERE starts_with(a.code, $1) GROUP BY a.id, s.code
       HAVING $2 OR coalesce(sum(b.balance), 0) <> 0 ORDER BY a.code COLLATE "C" LIMIT $3`,
      [prefix, zero, limit],
    )
    const sums = await client.query<{ asset: Asset; total: string }>(
      `SELECT s.code AS asset, sum(b.balance)::text AS total
       FROM ledger.balance b JOIN ledger.asset s ON s.id = b.asset GROUP BY s.code ORDER BY s.code`,
    )
    return {
      accounts: rows.map((row) => ({ ...row, balance: BigInt(row.balance) })),
      totals: new Map(sums.rows.map(({ asset, total }) => [asset, BigInt(total)])),
    }
  })
}

/** The total of a trial balance for each asset: zero in sound books. */
export function totals(balances: readonly TrialBalanceRow[]): ReadonlyMap<Asset, bigint> {
  const sums = new Map<Asset, bigint>()
  for (const { asset, balance } of balances) sums.set(asset, (sums.get(asset) ?? 0n) + balance)
  return sums
}
