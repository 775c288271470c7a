import type { Pool } from 'pg'
import { inTransaction, readSnapshot } from '../../db/transaction.ts'
import type { LedgerEvent } from '../../ledger/events.ts'

/**
 * Amounts of entries before netting, in microdollars. The change of the provider's balance is
 * gross - commission - refunded - recovered + other.
 */
export interface StatementAmounts {
  /** Prices that callers paid. */
  readonly gross: bigint
  /** Commission on calls, and what rounding had left of that on the sum of the sales. */
  readonly commission: bigint
  /** Prices refunded to callers. */
  readonly refunds: bigint
  /** Commission returned with them. */
  readonly commission_refunded: bigint
  /** Provider's share of refunds that had been paid out: it becomes a debt. */
  readonly owed: bigint
  /** Provider's share of refunds taken from its balance: refunds - commission_refunded - owed. */
  readonly refunded: bigint
  /** Debts deducted from earnings. */
  readonly recovered: bigint
}

/** Journal entry as a line of a statement. */
export interface StatementLine extends StatementAmounts {
  readonly service: string
  readonly event: LedgerEvent['type']
  /** Id of the entry: the call, or the payment that bought it. */
  readonly id: string
  readonly at: Date
  readonly shard: number
  readonly seq: bigint
  /** Change of the provider's balance. The amounts of all lines add up to the transfer. */
  readonly amount: bigint
}

/** Sums of the entries of one service. */
export interface ServiceSums extends StatementAmounts {
  readonly service: string
  readonly calls: bigint
  /** Earlier failed payouts, corrections, and what limits carried over. */
  readonly other: bigint
  readonly earned: bigint
}

/** Entry after which a page of lines begins. */
export type LineCursor = readonly [account: string, shard: number, seq: string]

/** Sum of the legs of an entry on one account. */
const legSql = (account: number) => `(SELECT coalesce(sum(u.amount), 0)
  FROM unnest(j.accounts, j.amounts) u(account, amount) WHERE u.account = ${account})`
const IS_REFUND = 'j.kind IN (29, 43)'

/**
 * Amounts of an entry by column of `hub.payout_part`. Kinds: 2 settled, 18 sold, 29 and 43
 * reversed, 38 recovered, 44 rounding. Accounts: 1 commission, 9 receivables. `n.amount` is
 * the change of the provider's account.
 */
const AMOUNTS_SQL = {
  gross: `CASE j.kind WHEN 2 THEN j.amount WHEN 18 THEN n.amount + ${legSql(1)}
    ELSE 0 END`,
  commission: `CASE j.kind WHEN 2 THEN j.fee WHEN 18 THEN ${legSql(1)} WHEN 44 THEN -n.amount
    ELSE 0 END`,
  refunds: `CASE WHEN ${IS_REFUND} THEN (SELECT sum(u) FROM unnest(j.amounts) u WHERE u > 0)
    ELSE 0 END`,
  commission_refunded: `CASE WHEN ${IS_REFUND} THEN -${legSql(1)} ELSE 0 END`,
  owed: `CASE WHEN ${IS_REFUND} THEN -${legSql(9)} ELSE 0 END`,
  refunded: `CASE WHEN ${IS_REFUND} THEN -n.amount ELSE 0 END`,
  recovered: 'CASE j.kind WHEN 38 THEN -n.amount ELSE 0 END',
} as const
const AMOUNT_NAMES = Object.keys(AMOUNTS_SQL) as (keyof typeof AMOUNTS_SQL)[]
const LINE_AMOUNTS = AMOUNT_NAMES.map((name) => `(${AMOUNTS_SQL[name]})::bigint AS ${name}`)

const sumSql = (name: keyof typeof AMOUNTS_SQL) =>
  `coalesce(sum(${AMOUNTS_SQL[name]}), 0)::bigint AS ${name}`

/** Refunds of calls of an account that took nothing from it, because all had been paid out. */
const debtsSql = (after: string) =>
  `SELECT * FROM ledger.owed_refunds(p.account, p.shard, ${after}, p.upto_seq)`
const JOIN_ENTRY = 'CROSS JOIN LATERAL ledger.entry_at(p.shard, n.seq) j'

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
      `UPDATE hub.payout_part w SET calls = s.calls, other = s.other,
         ${AMOUNT_NAMES.map((name) => `${name} = s.${name}`).join(', ')}
       FROM (
         SELECT p.payout, p.account, p.shard, t.*,
           t.change - t.gross + t.commission + t.refunded + t.recovered
             + ${CARRIED_IN_SQL} - p.carried AS other
         FROM (SELECT * FROM hub.payout_part WHERE calls IS NULL
           AND ($1::uuid IS NULL OR payout = $1)
           ORDER BY payout, account, shard FOR UPDATE) p
         CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE j.kind IN (2, 18)) AS calls,
             coalesce(sum(n.amount), 0)::bigint AS change,
             ${AMOUNT_NAMES.map(sumSql).join(', ')}
           FROM (
             SELECT * FROM ledger.next_entries(p.account, p.shard, p.after_seq, p.upto_seq - 1,
               ${NO_LIMIT})
             UNION ALL ${debtsSql('p.after_seq')}) n ${JOIN_ENTRY}) t) s
       WHERE w.payout = s.payout AND w.account = s.account AND w.shard = s.shard`,
      [payout ?? null],
    )
  })
}

const SERVICE_SUMS_SQL = `
  SELECT split_part(a.code, ':', 4) AS service, sum(p.calls)::bigint AS calls,
    sum(p.amount)::bigint AS earned, sum(p.other)::bigint AS other,
    ${AMOUNT_NAMES.map((name) => `sum(p.${name})::bigint AS ${name}`).join(', ')},
    bool_and(p.calls IS NOT NULL) AS "isStored"
  FROM hub.payout_part p JOIN ledger.account a ON a.id = p.account WHERE p.payout = $1
  GROUP BY 1 ORDER BY 1`

/** Reads what a payout paid, by service. The first reader computes and stores the sums. */
export async function readServiceSums(pool: Pool, payout: string): Promise<readonly ServiceSums[]> {
  const read = () =>
    pool.query<ServiceSums & { readonly isStored: boolean }>(SERVICE_SUMS_SQL, [payout])
  const { rows: stored } = await read()
  if (stored.every(({ isStored }) => isStored)) return stored
  await sumPayoutParts(pool, payout)
  return (await read()).rows
}

/** Entries of one service and shard in a period, by time of posting. */
export interface PeriodSums extends StatementAmounts {
  readonly service: string
  readonly shard: number
  /** Sequence numbers of the period, inclusive; `to` is `from - 1` if the shard has no entries. */
  readonly from: bigint
  readonly to: bigint
  readonly opening: bigint
  readonly closing: bigint
  readonly calls: bigint
  /** Payouts, without those that failed. */
  readonly paid: bigint
}

/**
 * Reads what changed the balances of a provider in a period, by service and shard. Shards without
 * entries in the period are included if they have a balance.
 */
export function readPeriodSums(
  pool: Pool,
  provider: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<readonly PeriodSums[]> {
  return readSnapshot(
    pool,
    async (client) => (await client.query<PeriodSums>(PERIOD_SQL, [provider, from, to])).rows,
    PLANNER_SETTINGS,
  )
}

/** Kinds 21 and 23: payouts, and failed ones. */
const PERIOD_SQL = `
  SELECT p.service, p.shard, p.after_seq + 1 AS from, p.upto_seq - 1 AS to, t.*,
    o.balance AS opening, o.balance + t.change AS closing
  FROM (SELECT a.id AS account, split_part(a.code, ':', 4) AS service, f.shard,
      f.seq AS after_seq, u.seq + 1 AS upto_seq
    FROM ledger.account a JOIN ledger.cut($2) f ON a.home IS NULL OR f.shard = a.home
    JOIN ledger.cut($3) u ON u.shard = f.shard
    WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = $1 OFFSET 0) p
  CROSS JOIN LATERAL (SELECT ledger.balance_after(p.account, p.shard, p.after_seq) AS balance) o
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE j.kind IN (2, 18)) AS calls,
      coalesce(sum(n.amount), 0)::bigint AS change,
      coalesce(-sum(n.amount) FILTER (WHERE j.kind IN (21, 23)), 0)::bigint AS paid,
      ${AMOUNT_NAMES.map(sumSql).join(', ')}
    FROM (SELECT * FROM ledger.next_entries(p.account, p.shard, p.after_seq, p.upto_seq - 1,
        ${NO_LIMIT})
      UNION ALL ${debtsSql('p.after_seq')}) n ${JOIN_ENTRY}) t
  WHERE p.upto_seq - 1 > p.after_seq OR o.balance > 0 ORDER BY p.service, p.shard`

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
      const rest = limit - lines.length
      const values = [payout, account, shard, isFirst ? after[2] : null, rest]
      const read = { name: 'payout-statement.lines', text: LINES_SQL, values }
      lines.push(...(await client.query<StatementLine & AccountShard>(read)).rows)
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
    ${LINE_AMOUNTS.join(',\n    ')}, n.amount
  FROM p CROSS JOIN LATERAL (
    SELECT p.after_seq AS seq, ${CARRIED_IN_SQL} AS amount WHERE $4::bigint IS NULL
    UNION ALL
    SELECT * FROM ledger.next_entries(p.account, p.shard, coalesce($4::bigint, p.after_seq),
      p.upto_seq - 1, $5)
    UNION ALL ${debtsSql('coalesce($4::bigint, p.after_seq)')}
    UNION ALL
    SELECT p.upto_seq, -p.carried WHERE coalesce($4::bigint, 0) < p.upto_seq
  ) n ${JOIN_ENTRY} JOIN ledger.kind k ON k.id = j.kind
  WHERE n.amount <> 0 OR ${IS_REFUND} ORDER BY n.seq LIMIT $5`
