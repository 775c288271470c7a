import type { PoolClient } from 'pg'
import type { LedgerEvent } from '../../ledger/events.ts'

/** Entries of one event and service in a month, by shard. */
export interface EntrySums {
  readonly shard: number
  readonly event: LedgerEvent['type']
  /** Service of a charged or refunded call; null for other events. */
  readonly service: string | null
  readonly provider: string | null
  readonly entries: bigint
  readonly firstSeq: bigint
  readonly lastSeq: bigint
  /** Price of charged calls, or amount of refunds and other changes. */
  readonly amount: bigint
}

/** Entries that changed the credits of a key. */
export interface CreditChange extends EntrySums {
  readonly key: string
}

/** Credits of a key before the first and after the last entry of a month. */
export interface CreditBalance {
  readonly key: string
  readonly opening: bigint
  readonly closing: bigint
}

export interface StatementFigures {
  /** Calls charged to credits. */
  readonly charges: readonly EntrySums[]
  /** Changes of credits: amounts are credit-positive. */
  readonly changes: readonly CreditChange[]
  readonly balances: readonly CreditBalance[]
  /** Calls that the wallet paid per request, and their refunds. */
  readonly sales: readonly EntrySums[]
}

const NO_LIMIT = 1_000_000_000

/** Entries of a principal's main keys that were posted from $2 until $3, by their range. */
const RANGES = `accounts AS MATERIALIZED (
    SELECT k.id AS key, a.id AS account, f.shard, f.seq AS before, t.seq AS last
    FROM hub.api_key k JOIN ledger.account a ON a.id = k.credits
    JOIN ledger.cut($2) f ON a.home IS NULL OR f.shard = a.home
    JOIN ledger.cut($3) t ON t.shard = f.shard
    WHERE k.principal = $1 AND k.parent IS NULL AND k.role = 'agent')`

/** Provider and service of a payee: earnings, or a first-party service. */
const PAYEE = (code: string): string =>
  `CASE WHEN ${code} LIKE 'liabilities:providers:%' THEN split_part(${code}, ':', 3)
     END AS provider,
   CASE WHEN ${code} LIKE 'liabilities:providers:%' THEN split_part(${code}, ':', 4)
     WHEN ${code} LIKE 'income:services:%' THEN split_part(${code}, ':', 3)
     WHEN ${code} = 'liabilities:x402-out:in-transit' THEN 'external' END AS service`

/** A call that is charged as much as was reserved does not change credits when it settles. */
const CHARGES = `WITH ${RANGES}
  SELECT c.shard, 'call.settled' AS event, ${PAYEE('p.code')}, sum(j.entries)::bigint AS entries,
    min(j.first_seq) AS "firstSeq", max(j.last_seq) AS "lastSeq", sum(j.amount)::bigint AS amount
  FROM accounts c
  CROSS JOIN LATERAL ledger.charges_between(c.account, c.shard, c.before, c.last) j
  JOIN ledger.account p ON p.id = j.payee
  GROUP BY c.shard, 3, 4 ORDER BY service, provider, c.shard`

/** Kinds 20 and 29: refunds, with the service of the charge. */
const CHANGES = `WITH ${RANGES}
  SELECT c.key, c.shard, k.event, ${PAYEE('p.code')},
    count(*) AS entries, min(n.seq) AS "firstSeq", max(n.seq) AS "lastSeq",
    sum(n.amount)::bigint AS amount
  FROM accounts c
  CROSS JOIN LATERAL ledger.next_entries(c.account, c.shard, c.before, c.last, ${NO_LIMIT}) n
  CROSS JOIN LATERAL ledger.entry_at(c.shard, n.seq) j
  JOIN ledger.kind k ON k.id = j.kind
  LEFT JOIN LATERAL ledger.entry_of(c.shard, c.account,
    CASE WHEN j.kind IN (20, 29) THEN j.id END, 2::smallint) s ON true
  LEFT JOIN ledger.account p ON p.id = s.payee
  GROUP BY c.key, c.shard, k.event, 4, 5 ORDER BY c.key, k.event, service, c.shard`

const BALANCES = `WITH ${RANGES}
  SELECT c.key, coalesce(sum(n.amount) FILTER (WHERE n.seq <= c.before), 0)::bigint AS opening,
    coalesce(sum(n.amount), 0)::bigint AS closing
  FROM accounts c LEFT JOIN LATERAL
    ledger.next_entries(c.account, c.shard, 0, c.last, ${NO_LIMIT}) n ON true
  GROUP BY c.key ORDER BY c.key`

/** Kinds 18 and 43: sold, and its refund. A claim has the id of both; its payee owns them. */
const SALES = `
  SELECT j.shard, ${PAYEE('a.code')}, k.event, count(*) AS entries, min(j.seq) AS "firstSeq",
    max(j.seq) AS "lastSeq",
    sum((SELECT sum(u) FROM unnest(j.amounts) u WHERE u > 0))::bigint AS amount
  FROM (SELECT array_agg(a.id) AS owners, array_agg(c.id) AS ids
    FROM hub.principal w
    JOIN hub.payment_claim c ON c.payer = w.wallet_address AND c.state IN ('settled', 'confirmed')
      AND c.purpose = 'call'
    JOIN ledger.account a ON a.code = c.payee WHERE w.id = $1) s
  CROSS JOIN LATERAL ledger.entries_of(s.owners, s.ids) j
  JOIN ledger.kind k ON k.id = j.kind JOIN ledger.account a ON a.id = j.owner
  WHERE j.phase IN (0, 3) AND j.kind IN (18, 43) AND j.at >= $2 AND j.at < $3
  GROUP BY j.shard, 2, 3, k.event ORDER BY k.event, service, j.shard`

/** Reads what a principal spent in a month, by time of posting. */
export async function readStatementFigures(
  client: PoolClient,
  principal: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<StatementFigures> {
  const values = [principal, from, to]
  const { rows: charges } = await client.query<EntrySums>(CHARGES, values)
  const { rows: changes } = await client.query<CreditChange>(CHANGES, values)
  const { rows: balances } = await client.query<CreditBalance>(BALANCES, values)
  const { rows: sales } = await client.query<EntrySums>(SALES, values)
  return { charges, changes, balances, sales }
}
