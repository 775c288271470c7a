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
const RANGES = `accounts AS (
    SELECT k.id AS key, a.id AS account, h.shard, f.seq AS before, t.seq AS last
    FROM hub.api_key k JOIN ledger.account a ON a.id = k.credits
    JOIN ledger.head h ON a.home IS NULL OR h.shard = a.home
    CROSS JOIN LATERAL (SELECT coalesce((SELECT s.seq_to FROM ledger.seal s
      WHERE s.shard = h.shard AND s.at < $2 ORDER BY s.at DESC, s.seq_to DESC LIMIT 1), 0) AS seq) f
    CROSS JOIN LATERAL (SELECT coalesce((SELECT s.seq_to FROM ledger.seal s
      WHERE s.shard = h.shard AND s.at < $3 ORDER BY s.at DESC, s.seq_to DESC LIMIT 1), 0) AS seq) t
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
  SELECT c.shard, k.event, ${PAYEE('p.code')}, count(*) AS entries, min(j.seq) AS "firstSeq",
    max(j.seq) AS "lastSeq", sum(j.amount)::bigint AS amount
  FROM accounts c CROSS JOIN LATERAL ledger.ids_between(c.shard, c.before + 1, c.last) i
  JOIN ledger.journal j ON j.owner = c.account AND j.id BETWEEN i.id_first AND i.id_last
    AND j.phase = 2 AND j.kind = 2 AND j.shard = c.shard AND j.seq > c.before AND j.seq <= c.last
  JOIN ledger.kind k ON k.id = j.kind JOIN ledger.account p ON p.id = j.payee
  GROUP BY c.shard, k.event, 3, 4 ORDER BY service, provider, c.shard`

/** Kinds 20 and 29: refunds, with the service of the charge. */
const CHANGES = `WITH ${RANGES}
  SELECT c.key, c.shard, k.event, ${PAYEE('p.code')},
    count(*) AS entries, min(n.seq) AS "firstSeq", max(n.seq) AS "lastSeq",
    sum(n.amount)::bigint AS amount
  FROM accounts c
  CROSS JOIN LATERAL ledger.next_entries(c.account, c.shard, c.before, c.last, ${NO_LIMIT}) n
  CROSS JOIN LATERAL (SELECT * FROM ledger.journal j
    WHERE j.shard = c.shard AND j.seq = n.seq LIMIT 1) j
  JOIN ledger.kind k ON k.id = j.kind
  LEFT JOIN ledger.account p ON j.kind IN (20, 29) AND p.id = (SELECT s.payee
    FROM ledger.journal s WHERE s.owner = c.account AND s.id = j.id AND s.phase = 2)
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
  FROM hub.principal w
  JOIN hub.payment_claim c ON c.payer = w.wallet_address AND c.state IN ('settled', 'confirmed')
    AND c.purpose = 'call'
  JOIN ledger.account a ON a.code = c.payee
  JOIN ledger.journal j ON j.owner = a.id AND j.id = c.id AND j.phase IN (0, 3)
    AND j.kind IN (18, 43) AND j.at >= $2 AND j.at < $3
  JOIN ledger.kind k ON k.id = j.kind
  WHERE w.id = $1 GROUP BY j.shard, 2, 3, k.event ORDER BY k.event, service, j.shard`

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
