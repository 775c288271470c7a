import type { Pool } from 'pg'

/** What an operator sees of payments. It reads the database and nothing else. */

const SHOWN = 10

/** What was signed for sellers, with the most first. Amounts in microdollars. */
export interface OutflowToday {
  /** UTC: `2026-11-21`. */
  readonly day: string
  readonly platform: bigint
  readonly hosts: readonly { readonly host: string; readonly amount: bigint }[]
  readonly keys: readonly { readonly key: string; readonly amount: bigint }[]
}

/** What counts against the caps of this UTC day. */
export async function outflowToday(pool: Pool): Promise<OutflowToday> {
  const { rows } = await pool.query<{ kind: string; name: string; amount: bigint; day: string }>(
    `WITH today AS (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day),
       counted AS (
         SELECT split_part(o.scope, ':', 1) AS kind, o.scope, o.amount,
           row_number() OVER (PARTITION BY split_part(o.scope, ':', 1)
             ORDER BY o.amount DESC, o.scope) AS place
         FROM hub.outflow o JOIN today USING (day) WHERE o.amount > 0)
     SELECT today.day, c.kind, c.amount,
       coalesce(split_part(a.code, ':', 3), substr(c.scope, strpos(c.scope, ':') + 1)) AS name
     FROM today LEFT JOIN counted c ON c.place <= $1
     LEFT JOIN ledger.account a ON c.kind = 'key' AND c.scope = 'key:' || a.id
     ORDER BY c.kind, c.place`,
    [SHOWN],
  )
  const of = (kind: string) => rows.filter((row) => row.kind === kind)
  return {
    day: rows[0]!.day,
    platform: of('platform')[0]?.amount ?? 0n,
    hosts: of('host').map(({ name: host, amount }) => ({ host, amount })),
    keys: of('key').map(({ name: key, amount }) => ({ key, amount })),
  }
}

/** What became of what a seller was paid. */
export interface SellerRecord {
  /** Origin and path: what is sold there. */
  readonly seller: string
  readonly signed: bigint
  readonly taken: bigint
  readonly delivered: bigint
  readonly open: bigint
  readonly lastAt: Date
}

/** Sellers who took money and delivered nothing, the worst first. */
export async function worstSellers(pool: Pool): Promise<readonly SellerRecord[]> {
  const { rows } = await pool.query<SellerRecord>(
    `SELECT seller, signed, taken, delivered, open, last_at AS "lastAt" FROM hub.seller_record
     WHERE taken > delivered ORDER BY taken - delivered DESC, last_at DESC LIMIT $1`,
    [SHOWN],
  )
  return rows
}
