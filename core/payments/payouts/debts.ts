import type { ClientBase, Pool } from 'pg'

/** Refund or correction by which a provider owes money. Amounts in microdollars. */
export interface DebtOrigin {
  readonly provider: string
  /** Id of the entry: the refunded call, or its payment. */
  readonly id: string
  readonly event: string
  readonly at: Date
  readonly amount: bigint
  /** Part that is still owed. The oldest debts are made good first. */
  readonly open: bigint
}

/** Returns what a provider owes. */
export async function readDebt(client: ClientBase, provider: string): Promise<bigint> {
  const { rows } = await client.query<{ debt: bigint }>(
    `SELECT greatest(coalesce(sum(amount), 0), 0)::bigint AS debt
     FROM ledger.debt_change WHERE provider = $1`,
    [provider],
  )
  return rows[0]!.debt
}

/** Returns what each provider owes, without those that owe nothing. */
export async function readDebts(pool: Pool): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ provider: string; debt: bigint }>(
    `SELECT provider, sum(amount)::bigint AS debt FROM ledger.debt_change
     GROUP BY 1 HAVING sum(amount) > 0`,
  )
  return new Map(rows.map(({ provider, debt }) => [provider, debt]))
}

/** Lists open debts by origin, the oldest first. @param providers default: all */
export async function listDebts(
  pool: Pool,
  providers?: readonly string[],
): Promise<readonly DebtOrigin[]> {
  // Named, because planning it takes ten times as long as running it.
  const text = `SELECT o.provider, o.id, k.event, o.at, o.amount::bigint AS amount,
       least(o.amount, o.risen + o.fallen)::bigint AS open
     FROM (SELECT d.*,
         sum(d.amount) FILTER (WHERE d.amount > 0)
           OVER (PARTITION BY d.provider ORDER BY d.at, d.shard, d.seq) AS risen,
         coalesce(sum(d.amount) FILTER (WHERE d.amount < 0) OVER (PARTITION BY d.provider), 0)
           AS fallen
       FROM ledger.debt_change d WHERE $1::text[] IS NULL OR d.provider = ANY ($1)) o
     JOIN ledger.kind k ON k.id = o.kind
     WHERE o.amount > 0 AND o.risen + o.fallen > 0 ORDER BY o.at, o.shard, o.seq`
  const values = [providers ?? null]
  const { rows } = await pool.query<DebtOrigin>({ name: 'debts.list', text, values })
  return rows
}
