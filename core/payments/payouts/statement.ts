import type { Pool } from 'pg'
import { inTransaction, readSnapshot } from '../../db/transaction.ts'
import type { LedgerEvent } from '../../ledger/events.ts'

/** Journal entry as a line of a statement. Amounts in microdollars. */
export interface StatementLine {
  readonly service: string
  readonly event: LedgerEvent['type']
  /** Id of the entry: the call, or the payment that bought it. */
  readonly id: string
  readonly at: Date
  readonly shard: number
  readonly seq: bigint
  /** Price that the caller paid. */
  readonly gross: bigint
  readonly commission: bigint
  /** Provider's share of a refund to the caller. */
  readonly refunded: bigint
  /** Change of the provider's balance. The amounts of all lines add up to the transfer. */
  readonly amount: bigint
}

/** Sums of the entries of one service. */
export interface ServiceSums {
  readonly service: string
  readonly calls: bigint
  readonly gross: bigint
  readonly commission: bigint
  /** Provider's share of refunds to callers. */
  readonly refunded: bigint
  /** Recovered debts, earlier failed payouts, corrections, and what limits carried over. */
  readonly other: bigint
  /** gross - commission - refunded + other */
  readonly earned: bigint
}

/** Entry after which a page of lines begins. */
export type LineCursor = readonly [account: string, shard: number, seq: string]

/**
 * Kinds: 2 settled, 18 sold, 30 sponsored, 29 and 43 reversed. `n.amount` is the change of the
 * account; for calls paid by x402 the commission is a separate leg (account 1).
 */
const SOLD_FEE_SQL = `(SELECT coalesce(sum(u.amount), 0) FROM unnest(j.accounts, j.amounts)
  u(account, amount) WHERE u.account = 1)`
const COMMISSION_SQL = `CASE j.kind WHEN 2 THEN j.fee WHEN 18 THEN ${SOLD_FEE_SQL} ELSE 0 END`
const GROSS_SQL = `CASE j.kind WHEN 2 THEN j.amount WHEN 18 THEN n.amount + ${SOLD_FEE_SQL}
  WHEN 30 THEN n.amount ELSE 0 END`
const JOIN_ENTRY = `CROSS JOIN LATERAL (SELECT * FROM ledger.journal j
  WHERE j.shard = p.shard AND j.seq = n.seq LIMIT 1) j`

/** Rest that the previous payout of the account left on it, and this one begins with. */
const CARRIED_IN_SQL = `coalesce((SELECT q.carried FROM hub.payout_part q
  WHERE q.account = p.account AND q.shard = p.shard AND q.upto_seq = p.after_seq), 0)`

/** Forces index scans: on a small journal, statistics make a full scan look cheap. */
const PLANNER_SETTINGS = 'SET LOCAL enable_seqscan = off; SET LOCAL jit = off'
const NO_LIMIT = 1_000_000_000

/** Stores the sums of one payout (default: of all), which must add up to the amount paid. */
export async function sumPayoutParts(pool: Pool, payout?: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(PLANNER_SETTINGS)
    await client.query(
      `UPDATE hub.payout_part w SET calls = s.calls, gross = s.gross, commission = s.commission,
         refunded = s.refunded, other = s.other
       FROM (
         SELECT p.payout, p.account, p.shard, t.calls, t.gross, t.commission, t.refunded,
           t.other + ${CARRIED_IN_SQL} - p.carried AS other
         FROM (SELECT * FROM hub.payout_part WHERE calls IS NULL
           AND ($1::uuid IS NULL OR payout = $1)
           ORDER BY payout, account, shard FOR UPDATE) p
         CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE j.kind IN (2, 18, 30)) AS calls,
             coalesce(sum(${GROSS_SQL}), 0)::bigint AS gross,
             coalesce(sum(${COMMISSION_SQL}), 0)::bigint AS commission,
             coalesce(-sum(n.amount) FILTER (WHERE j.kind IN (29, 43)), 0)::bigint AS refunded,
             coalesce(sum(n.amount) FILTER (WHERE j.kind NOT IN (2, 18, 29, 30, 43)), 0)::bigint
               AS other
           FROM ledger.next_entries(p.account, p.shard, p.after_seq, p.upto_seq - 1, ${NO_LIMIT}) n
           ${JOIN_ENTRY}) t) s
       WHERE w.payout = s.payout AND w.account = s.account AND w.shard = s.shard`,
      [payout ?? null],
    )
  })
}

/** Reads what a payout paid, by service. */
export async function readServiceSums(pool: Pool, payout: string): Promise<readonly ServiceSums[]> {
  await sumPayoutParts(pool, payout)
  const { rows } = await pool.query<ServiceSums>(
    `SELECT split_part(a.code, ':', 4) AS service, sum(p.calls)::bigint AS calls,
       sum(p.gross)::bigint AS gross, sum(p.commission)::bigint AS commission,
       sum(p.refunded)::bigint AS refunded, sum(p.other)::bigint AS other,
       sum(p.amount)::bigint AS earned
     FROM hub.payout_part p JOIN ledger.account a ON a.id = p.account WHERE p.payout = $1
     GROUP BY 1 ORDER BY 1`,
    [payout],
  )
  return rows
}

interface AccountShard {
  readonly account: bigint
  readonly shard: number
}

/** Reads at most `limit` entries of a payout, ordered by account, shard and sequence. */
export function readStatementLines(
  pool: Pool,
  payout: string,
  limit: number,
  after?: LineCursor,
): Promise<readonly (StatementLine & AccountShard)[]> {
  const work: Parameters<typeof readSnapshot<(StatementLine & AccountShard)[]>>[1] = async (
    client,
  ) => {
    const { rows: places } = await client.query<AccountShard>(
      `SELECT account, shard FROM hub.payout_part WHERE payout = $1
         AND ($2::bigint IS NULL OR (account, shard) >= ($2, $3::smallint))
       ORDER BY account, shard`,
      [payout, after?.[0] ?? null, after?.[1] ?? null],
    )
    const lines: (StatementLine & AccountShard)[] = []
    for (const { account, shard } of places) {
      if (lines.length >= limit) break
      const isFirst = after !== undefined && String(account) === after[0] && shard === after[1]
      const { rows } = await client.query<StatementLine & AccountShard>(LINES_SQL, [
        payout,
        account,
        shard,
        isFirst ? after[2] : null,
        limit - lines.length,
      ])
      lines.push(...rows)
    }
    return lines
  }
  return readSnapshot(pool, work, PLANNER_SETTINGS)
}

/** Entries, between what was carried over from the previous payout and over to the next one. */
const LINES_SQL = `
  WITH p AS (SELECT p.*, split_part(a.code, ':', 4) AS service
    FROM hub.payout_part p JOIN ledger.account a ON a.id = p.account
    WHERE p.payout = $1 AND p.account = $2 AND p.shard = $3)
  SELECT p.service, k.event, j.id, j.at, p.shard, n.seq, p.account,
    (${GROSS_SQL})::bigint AS gross, (${COMMISSION_SQL})::bigint AS commission,
    CASE WHEN j.kind IN (29, 43) AND n.seq > p.after_seq AND n.seq < p.upto_seq THEN -n.amount
      ELSE 0 END AS refunded, n.amount
  FROM p CROSS JOIN LATERAL (
    SELECT p.after_seq AS seq, ${CARRIED_IN_SQL} AS amount WHERE $4::bigint IS NULL
    UNION ALL
    SELECT * FROM ledger.next_entries(p.account, p.shard, coalesce($4::bigint, p.after_seq),
      p.upto_seq - 1, $5)
    UNION ALL
    SELECT p.upto_seq, -p.carried WHERE coalesce($4::bigint, 0) < p.upto_seq
  ) n ${JOIN_ENTRY} JOIN ledger.kind k ON k.id = j.kind
  WHERE n.amount <> 0 ORDER BY n.seq LIMIT $5`
