import type { Pool, PoolClient } from 'pg'
import type { Account } from '../ledger/events.ts'
import type { Subscriber } from '../ledger/outbox/subscriber.ts'
import type { Micros } from '../money.ts'

/** Fall of a key's credits below their threshold. */
export interface LowBalance {
  readonly account: Account
  /** Remaining microdollars, including holds of pending calls. */
  readonly balance: bigint
  /** Microdollars. */
  readonly threshold: bigint
  /** Journal position, which identifies the fall. */
  readonly shard: number
  readonly seq: bigint
}

/** Default threshold, in microdollars. */
export const LOW_BALANCE_THRESHOLD = 1_000_000n

/** Queues the notification in the transaction of `client`, so that both commit or neither does. */
export type NotifyLowBalance = (client: PoolClient, fall: LowBalance) => Promise<void>

/**
 * Stores the balances at the end of a journal page, and records and returns where they fell below
 * the threshold. Holds still count as balance until settled, so neither a pending nor a failed call
 * changes it. Steps entry by entry only through accounts that could have crossed: at or above the
 * threshold with all increases, below it with all decreases.
 */
const RECORD_FALLS = `
  WITH entry AS MATERIALIZED (
    SELECT j.seq, j.at, j.owner, j.payee, j.amount, j.amount - j.fee AS share, j.accounts, j.amounts
    FROM ledger.journal j
    WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND (j.kind = 2 OR j.accounts IS NOT NULL)
  ), change(account, seq, at, amount) AS NOT MATERIALIZED (
    SELECT e.owner, e.seq, e.at, -e.amount FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT e.payee, e.seq, e.at, e.share FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT u.account, e.seq, e.at, u.amount
      FROM entry e CROSS JOIN LATERAL unnest(e.accounts, e.amounts) u(account, amount)
      WHERE e.accounts IS NOT NULL
  ), moved AS MATERIALIZED (
    SELECT c.account, a.code, coalesce(t.threshold, $4) AS threshold,
      coalesce(w.balance, 0) AS balance, c.up, c.down
    FROM (SELECT account, sum(greatest(amount, 0)) AS up, sum(least(amount, 0)) AS down
      FROM change GROUP BY account) c
    JOIN ledger.account a ON a.id = c.account AND a.code LIKE 'liabilities:agents:%:credits'
    LEFT JOIN hub.credit_watch w ON w.account = c.account
    LEFT JOIN hub.low_balance_threshold t ON t.account = c.account
  ), kept AS (
    INSERT INTO hub.credit_watch (account, balance)
    SELECT account, balance + up + down FROM moved ORDER BY account
    ON CONFLICT (account) DO UPDATE SET balance = excluded.balance
  ), step AS (
    SELECT m.account, m.code, m.threshold, c.seq, c.at, c.amount,
      (m.balance + sum(c.amount) OVER (PARTITION BY c.account ORDER BY c.seq))::bigint AS balance
    FROM (SELECT account, seq, at, sum(amount) AS amount FROM change
      WHERE account = ANY (ARRAY(SELECT account FROM moved
        WHERE balance + up >= threshold AND balance + down < threshold))
      GROUP BY account, seq, at) c
    JOIN moved m ON m.account = c.account
  ), fall AS (
    SELECT * FROM step WHERE balance < threshold AND balance - amount >= threshold
  ), recorded AS (
    INSERT INTO hub.low_balance (account, shard, seq, at, balance, threshold)
    SELECT account, $1, seq, at, balance, threshold FROM fall
  )
  SELECT code AS account, balance, threshold, $1 AS shard, seq FROM fall ORDER BY seq, code`

/** Detects credits that fall below their threshold, once until they rise to it again. */
export const lowBalanceSubscriber = (notify: NotifyLowBalance): Subscriber => ({
  name: 'low-balance',
  tables: ['hub.credit_watch', 'hub.low_balance'],
  async handle(client, { shard, from, to, replay }) {
    const { rows } = await client.query<LowBalance>({
      name: 'low-balance.handle',
      text: RECORD_FALLS,
      values: [shard, from, to, LOW_BALANCE_THRESHOLD],
    })
    if (replay) return
    for (const fall of rows) await notify(client, fall)
  },
})

/** Sets the threshold of a key (null: the default) for later entries; a rebuild uses it for all. */
export async function setLowBalanceThreshold(
  pool: Pool,
  account: bigint,
  threshold: Micros | null,
): Promise<void> {
  if (threshold === null) {
    await pool.query('DELETE FROM hub.low_balance_threshold WHERE account = $1', [account])
    return
  }
  await pool.query(
    `INSERT INTO hub.low_balance_threshold VALUES ($1, $2)
     ON CONFLICT (account) DO UPDATE SET threshold = excluded.threshold`,
    [account, threshold],
  )
}
