import type { Pool, PoolClient } from 'pg'

/**
 * What providers owe, in microdollars: refunds that were made after they had been paid out, less
 * what was taken out of later earnings, and what was written off (`meta.provider`). Those that owe
 * nothing are left out.
 */
const DEBTS = `
  WITH change(provider, amount) AS (
    SELECT split_part(a.code, ':', 3), -u.amount
    FROM ledger.journal r
    CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
    JOIN ledger.journal s ON s.owner = r.owner AND s.id = r.id AND s.phase = 2
    JOIN ledger.account a ON a.id = s.payee
    WHERE r.kind = 29 AND u.account = 9
    UNION ALL
    SELECT split_part(a.code, ':', 3), u.amount
    FROM ledger.journal r
    CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
    JOIN ledger.account a ON a.id = u.account
    WHERE r.kind = 38 AND u.account <> 9
    UNION ALL
    SELECT r.meta ->> 'provider', -u.amount
    FROM ledger.journal r
    CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
    WHERE r.kind = 39 AND u.account = 9
  )
  SELECT provider, sum(amount)::bigint AS debt FROM change
  WHERE $1::text IS NULL OR provider = $1 GROUP BY 1 HAVING sum(amount) > 0`

interface Debt {
  readonly provider: string
  readonly debt: bigint
}

export async function debts(pool: Pool): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<Debt>(DEBTS, [null])
  return new Map(rows.map(({ provider, debt }) => [provider, debt]))
}

export async function debtOf(client: Pool | PoolClient, provider: string): Promise<bigint> {
  const { rows } = await client.query<Debt>(DEBTS, [provider])
  return rows[0]?.debt ?? 0n
}
