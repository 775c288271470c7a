import type { ClientBase, Pool } from 'pg'
import type { Account, Asset } from './events.ts'

/** Balance of an account over all shards, in units of its asset, credit-positive. */
export interface TrialBalanceRow {
  readonly account: Account
  readonly asset: Asset
  readonly balance: bigint
}

/** Reads the balances of all open accounts, ordered by code. */
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

/** SQL that selects the assets whose debits and credits are not equal: none if it is sound. */
export const UNBALANCED_ASSETS_SQL = `
  SELECT a.asset FROM ledger.balance b JOIN ledger.account a ON a.id = b.account
  GROUP BY a.asset HAVING sum(b.balance) <> 0`

/** Counts the assets whose debits and credits are not equal: zero if the ledger is sound. */
export async function countUnbalanced(database: Pool | ClientBase): Promise<number> {
  const { rowCount } = await database.query(UNBALANCED_ASSETS_SQL)
  return rowCount ?? 0
}

/** Sums a trial balance for each asset: zero if the ledger is sound. */
export function totalsByAsset(balances: readonly TrialBalanceRow[]): ReadonlyMap<Asset, bigint> {
  const sums = new Map<Asset, bigint>()
  for (const { asset, balance } of balances) sums.set(asset, (sums.get(asset) ?? 0n) + balance)
  return sums
}
