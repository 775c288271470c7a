import type { Pool, PoolClient } from 'pg'
import { columns } from '../db/columns.ts'
import type { Account } from '../ledger/events.ts'
import type { Page, Subscriber } from '../ledger/outbox/subscriber.ts'
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

/** Changes of accounts by the entries of a page. Holds are left out until they are settled. */
const CHANGES = `
  WITH entry AS MATERIALIZED (
    SELECT j.seq, j.at, j.owner, j.payee, j.amount, j.amount - j.fee AS share, j.accounts, j.amounts
    FROM ledger.journal j
    WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND (j.kind = 2 OR j.accounts IS NOT NULL)
  ), change AS NOT MATERIALIZED (
    SELECT e.owner AS account, e.seq, e.at, -e.amount AS amount FROM entry e
      WHERE e.accounts IS NULL
    UNION ALL
    SELECT e.payee, e.seq, e.at, e.share FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT u.account, e.seq, e.at, u.amount
      FROM entry e CROSS JOIN LATERAL unnest(e.accounts, e.amounts) u(account, amount)
      WHERE e.accounts IS NOT NULL
  )`

/** Rise and fall of each account of credits. */
const SUM_CHANGES = `${CHANGES}
  SELECT c.account, sum(greatest(c.amount, 0))::bigint AS up,
    sum(least(c.amount, 0))::bigint AS down
  FROM change c JOIN ledger.account a ON a.id = c.account
  WHERE a.code LIKE 'liabilities:agents:%:credits' GROUP BY c.account`

/**
 * Stores the balances after the changes. Returns the accounts that could have crossed their
 * threshold: at or above it with all increases, below it with all decreases.
 */
const STORE_BALANCES = `
  WITH moved AS MATERIALIZED (
    SELECT c.account, coalesce(t.threshold, $4) AS threshold, coalesce(w.balance, 0) AS balance,
      c.up, c.down
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) c(account, up, down)
    LEFT JOIN hub.credit_watch w ON w.account = c.account
    LEFT JOIN hub.low_balance_threshold t ON t.account = c.account
  ), kept AS (
    INSERT INTO hub.credit_watch (account, balance)
    SELECT account, balance + up + down FROM moved ORDER BY account
    ON CONFLICT (account) DO UPDATE SET balance = excluded.balance
  )
  SELECT account, balance, threshold FROM moved
  WHERE balance + up >= threshold AND balance + down < threshold`

/** Steps entry by entry through accounts that could have crossed. */
const FIND_FALLS = `${CHANGES}, step AS (
    SELECT m.account, m.threshold, c.seq, c.at, c.amount,
      (m.balance + sum(c.amount) OVER (PARTITION BY c.account ORDER BY c.seq))::bigint AS balance
    FROM (SELECT account, seq, at, sum(amount) AS amount FROM change
      WHERE account = ANY ($4::bigint[]) GROUP BY account, seq, at) c
    JOIN unnest($4::bigint[], $5::bigint[], $6::bigint[]) m(account, balance, threshold)
      ON m.account = c.account
  )
  SELECT s.account AS id, a.code AS account, s.balance, s.threshold, $1::smallint AS shard, s.seq,
    s.at::text
  FROM step s JOIN ledger.account a ON a.id = s.account
  WHERE s.balance < s.threshold AND s.balance - s.amount >= s.threshold ORDER BY s.seq, a.code`

const RECORD_FALLS = `
  INSERT INTO hub.low_balance (account, shard, seq, at, balance, threshold)
  SELECT f.account, $1, f.seq, f.at, f.balance, f.threshold
  FROM unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::bigint[])
    f(account, seq, at, balance, threshold)`

/** Records and returns where balances fell below their threshold by the entries of a page. */
async function recordFalls(
  client: PoolClient,
  { shard, from, to }: Page,
): Promise<readonly LowBalance[]> {
  const page = [shard, from, to]
  const { rows: changes } = await client.query<{ account: bigint; up: bigint; down: bigint }>({
    name: 'low-balance.sum',
    text: SUM_CHANGES,
    values: page,
  })
  if (changes.length === 0) return []
  const { rows: near } = await client.query<Record<'account' | 'balance' | 'threshold', bigint>>({
    name: 'low-balance.keep',
    text: STORE_BALANCES,
    values: [...columns(changes, ['account', 'up', 'down']), LOW_BALANCE_THRESHOLD],
  })
  if (near.length === 0) return []
  const { rows: falls } = await client.query<LowBalance & { id: bigint; at: string }>(FIND_FALLS, [
    ...page,
    ...columns(near, ['account', 'balance', 'threshold']),
  ])
  if (falls.length === 0) return []
  const recorded = columns(falls, ['id', 'seq', 'at', 'balance', 'threshold'])
  await client.query(RECORD_FALLS, [shard, ...recorded])
  return falls.map(({ account, balance, threshold, seq }) => ({
    account,
    balance,
    threshold,
    shard,
    seq,
  }))
}

/** Detects credits that fall below their threshold, once until they rise to it again. */
export const lowBalanceSubscriber = (notify: NotifyLowBalance): Subscriber => ({
  name: 'low-balance',
  tables: ['hub.credit_watch', 'hub.low_balance'],
  async handle(client, page) {
    const falls = await recordFalls(client, page)
    if (page.replay) return
    for (const fall of falls) await notify(client, fall)
  },
})

/** Sets the threshold of a key (null: the default) for later entries; a rebuild uses it for all. */
export async function setLowBalanceThreshold(
  database: Pool | PoolClient,
  account: bigint,
  threshold: Micros | null,
): Promise<void> {
  if (threshold === null) {
    await database.query('DELETE FROM hub.low_balance_threshold WHERE account = $1', [account])
    return
  }
  await database.query(
    `INSERT INTO hub.low_balance_threshold VALUES ($1, $2)
     ON CONFLICT (account) DO UPDATE SET threshold = excluded.threshold`,
    [account, threshold],
  )
}

/** Reads the threshold of a main key; null: the default. */
export async function readLowBalanceThreshold(pool: Pool, keyId: string): Promise<bigint | null> {
  const { rows } = await pool.query<{ threshold: bigint }>(
    `SELECT t.threshold FROM hub.api_key k JOIN hub.low_balance_threshold t ON t.account = k.credits
     WHERE k.id = $1`,
    [keyId],
  )
  return rows[0]?.threshold ?? null
}
