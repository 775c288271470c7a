import type { Pool } from 'pg'
import { FOREIGN_KINDS } from './history.ts'

/** Balance of credits after a call, in microdollars. */
export interface KnownBalance {
  readonly call: string
  readonly balance: bigint
}

/** Entries of the account with ids above $5 and up to $6, as columns of `ledger.journal`. */
const entries = (condition: string) => `SELECT x FROM ledger.journal x
  WHERE ${condition} AND x.id > $5 AND ($6::uuid IS NULL OR x.id <= $6)`

/** Balances in the order of ids, where a call counts from its start. */
const BALANCES = `WITH moves AS (
    SELECT (e.j).id, sum(g.amount) AS amount FROM (
      ${entries('x.owner = $1')}
      UNION ALL
      ${entries(`x.accounts @> ARRAY[$1::bigint] AND x.kind IN (${FOREIGN_KINDS})
        AND x.owner <> $1`)}
    ) e(j) CROSS JOIN LATERAL ledger.legs(e.j) g WHERE g.account = $1 GROUP BY 1
  )
  SELECT q.id AS call, (coalesce($4::bigint,
      (SELECT sum(b.balance) FROM ledger.balance b WHERE b.account = $1))
    - coalesce(sum(m.amount) FILTER (WHERE m.id > q.id AND ($3::uuid IS NULL OR m.id <= $3)), 0)
    + coalesce(sum(m.amount) FILTER (WHERE m.id > $3 AND m.id <= q.id), 0))::bigint AS balance
  FROM unnest($2::uuid[]) q(id) LEFT JOIN moves m ON true GROUP BY q.id`

/**
 * Reads the balance of credits after each of a page of calls.
 * @param known balance after the last call of the previous page, from which this page continues
 */
export async function readCallBalances(
  pool: Pool,
  credits: bigint,
  calls: readonly string[],
  known?: KnownBalance,
): Promise<ReadonlyMap<string, bigint>> {
  const ids = [...calls, ...(known ? [known.call] : [])].toSorted()
  const bounds = [ids[0], known ? ids.at(-1) : null]
  const values = [credits, calls, known?.call ?? null, known?.balance ?? null, ...bounds]
  const { rows } = await pool.query<KnownBalance>(BALANCES, values)
  return new Map(rows.map(({ call, balance }) => [call, balance]))
}
