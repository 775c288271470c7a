import type { ClientBase, Pool } from 'pg'
import type { Account, Asset } from '../events.ts'
import type { TrialBalanceRow } from '../trial-balance.ts'

/** Selects accounts whose code is LIKE one of the patterns, as in `liabilities:agents:%`. */
export interface AccountFilter {
  readonly like?: readonly string[]
}

/**
 * Balance of an account at an instant, over all shards: the sum of all entries with an earlier
 * value date, whenever they were posted. Credit-positive; zero if the account is not open. Later
 * entries can still change the result, except in a closed month.
 */
export async function balanceAt(pool: Pool, account: Account, instant: Date): Promise<bigint> {
  const { rows } = await pool.query<{ balance: string }>({
    name: 'ledger.balance-at',
    text: `SELECT (t.credits - t.debits)::text AS balance FROM ledger.account a
      CROSS JOIN LATERAL ledger.totals_at(ARRAY[a.id], $2) t WHERE a.code = $1`,
    values: [account, instant],
  })
  return BigInt(rows[0]?.balance ?? 0)
}

/** Trial balance at an instant: all accounts by code. About 10 s for a million accounts. */
export async function balancesAt(
  pool: Pool | ClientBase,
  instant: Date,
  { like }: AccountFilter = {},
): Promise<TrialBalanceRow[]> {
  const { rows } = await pool.query<{ account: Account; asset: Asset; balance: string }>({
    name: 'ledger.balances-at',
    text: `SELECT a.code AS account, s.code AS asset, (t.credits - t.debits)::text AS balance
     FROM (SELECT array_agg(w.id) AS ids FROM ledger.account w
       WHERE $2::text[] IS NULL OR w.code LIKE ANY ($2)) w
     CROSS JOIN LATERAL ledger.totals_at(w.ids, $1) t
     JOIN ledger.account a ON a.id = t.account
     JOIN ledger.asset s ON s.id = a.asset
     ORDER BY a.code COLLATE "C"`,
    values: [instant, like ?? null],
  })
  return rows.map((row) => ({ ...row, balance: BigInt(row.balance) }))
}
