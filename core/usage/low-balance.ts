import type { Pool, PoolClient } from 'pg'
import type { Account } from '../ledger/events.ts'
import type { Subscriber } from '../ledger/outbox/subscriber.ts'
import type { Micros } from '../money.ts'

/** Credits of a key that ran low. */
export interface LowBalance {
  readonly account: Account
  /** Microdollars that were left, those that calls in flight held included. */
  readonly balance: bigint
  /** What it fell below. */
  readonly threshold: bigint
  /** Where in the journal it did: the same fall always has the same place. */
  readonly shard: number
  readonly seq: bigint
}

/** Below so many microdollars credits are low, unless the key has a threshold of its own. */
export const LOW_BALANCE = 1_000_000n

/** Hands work on in the transaction of `client`: it is done if, and only if, that is committed. */
export type HandOn = (client: PoolClient, fall: LowBalance) => Promise<void>

/**
 * What each entry of a page did to what a key owns: a charge, a purchase, a refund. A hold is
 * still the key's until it is settled, so that a call in flight is no fall and a failed one no
 * rise.
 */
const CHANGES = `
  SELECT m.account, m.seq, m.at, sum(m.amount) AS amount FROM (
    SELECT j.owner AS account, j.seq, j.at, -j.amount AS amount FROM ledger.journal j
      WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.kind = 2
    UNION ALL
    SELECT j.payee, j.seq, j.at, j.amount - j.fee FROM ledger.journal j
      WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.kind = 2
    UNION ALL
    SELECT u.account, j.seq, j.at, u.amount
      FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
      WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.accounts IS NOT NULL) m
  GROUP BY m.account, m.seq, m.at`

/**
 * Keeps the balances at the end of a page, and answers where in it they crossed the threshold
 * downwards.
 */
const HANDLE = `
  WITH step AS (
    SELECT c.account, a.code, c.seq, c.at, c.amount, coalesce(t.threshold, $4) AS threshold,
      (coalesce(w.balance, 0) + sum(c.amount) OVER (PARTITION BY c.account ORDER BY c.seq))::bigint
        AS balance
    FROM (${CHANGES}) c
    JOIN ledger.account a ON a.id = c.account AND a.code LIKE 'liabilities:agents:%:credits'
    LEFT JOIN hub.credit_watch w ON w.account = c.account
    LEFT JOIN hub.low_balance_threshold t ON t.account = c.account
  ), kept AS (
    INSERT INTO hub.credit_watch (account, balance)
    SELECT DISTINCT ON (account) account, balance FROM step ORDER BY account, seq DESC
    ON CONFLICT (account) DO UPDATE SET balance = excluded.balance
  ), fall AS (
    SELECT * FROM step WHERE balance < threshold AND balance - amount >= threshold
  ), recorded AS (
    INSERT INTO hub.low_balance (account, shard, seq, at, balance, threshold)
    SELECT account, $1, seq, at, balance, threshold FROM fall
  )
  SELECT code AS account, balance, threshold, $1 AS shard, seq FROM fall ORDER BY seq, code`

/**
 * Notices credits that fall below their threshold, once for each fall: the next one takes money
 * that lifted them above it before.
 */
export const lowBalance = (handOn: HandOn): Subscriber => ({
  name: 'low-balance',
  tables: ['hub.credit_watch', 'hub.low_balance'],
  async handle(client, { shard, from, to, replay }) {
    const { rows } = await client.query<LowBalance>({
      name: 'low-balance.handle',
      text: HANDLE,
      values: [shard, from, to, LOW_BALANCE],
    })
    if (replay) return
    for (const fall of rows) await handOn(client, fall)
  },
})

/**
 * Gives a key a threshold of its own, or the default again. It holds for entries that are handled
 * from now on; a rebuild takes it for all.
 */
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
