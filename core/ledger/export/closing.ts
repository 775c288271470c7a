import type { Pool } from 'pg'
import type { Account, Asset } from '../events.ts'
import { copyLines } from './copy.ts'
import type { IdSet } from './id-set.ts'
import type { AccountBalance, ExportPlan } from './plan.ts'

/**
 * The balances after the last entry of a plan, by id of the account: as the ledger keeps them, less
 * what was booked since. Those of accounts that the export has; of others only what should not be.
 */
export async function* closingBalances(
  pool: Pool,
  { spans }: ExportPlan,
  declared: IdSet,
): AsyncGenerator<AccountBalance[]> {
  if (spans.length === 0) return
  const values = spans.map(({ shard, to }) => `(${shard}::smallint, ${to}::bigint)`)
  for await (const lines of copyLines(pool, select(values.join(', ')))) {
    const rows = lines.map((line) => line.split('\t'))
    const page = rows.filter(([id = '', , , amount]) => amount !== '0' || declared.has(id))
    if (page.length === 0) continue
    yield page.map(([, code, asset, amount]) => ({
      code: code as Account,
      asset: asset as Asset,
      amount: BigInt(amount!),
    }))
  }
}

const select = (spans: string): string => `
  WITH span(shard, last) AS (VALUES ${spans}), later AS (
    SELECT j.shard, l.account, sum(l.amount) AS amount
    FROM span p
    JOIN ledger.journal j ON j.shard = p.shard AND j.seq > p.last
    CROSS JOIN LATERAL ledger.legs(j) l
    GROUP BY j.shard, l.account)
  SELECT a.id, a.code, s.code, sum(b.balance - coalesce(l.amount, 0))
  FROM span p
  JOIN ledger.balance b ON b.shard = p.shard
  JOIN ledger.account a ON a.id = b.account
  JOIN ledger.asset s ON s.id = a.asset
  LEFT JOIN later l ON l.shard = b.shard AND l.account = b.account
  GROUP BY a.id, s.code ORDER BY a.id`
