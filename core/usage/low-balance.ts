import type { PoolClient } from 'pg'
import type { Account } from '../ledger/events.ts'
import type { Page, Subscriber } from '../ledger/outbox/subscriber.ts'

/** Credits of a key that ran low. */
export interface LowBalance {
  readonly account: Account
  /** Microdollars that were left. */
  readonly balance: bigint
  /** Where in the journal they did: the same fall always has the same place. */
  readonly shard: number
  readonly seq: bigint
}

/** Below so many microdollars credits are low, if they ever were above it. */
export const LOW_BALANCE = 1_000_000n

/** Hands work on in the transaction of `client`: it is done if, and only if, that is committed. */
export type HandOn = (client: PoolClient, fall: LowBalance) => Promise<void>

/**
 * Notices credits that fall below the threshold, once for each fall. They are watched again when money
 * came in and lifted them above it: a hold that goes back is not a rise.
 */
export const lowBalance = (handOn: HandOn): Subscriber => ({
  name: 'low-balance',
  tables: ['hub.credit_watch', 'hub.low_balance'],
  async handle(client, page) {
    const watched = await readWatched(client, page)
    for (const change of await readChanges(client, page)) {
      const known = watched.get(change.account) ?? { balance: 0n, armed: false }
      const balance = known.balance + change.amount
      const low = balance < LOW_BALANCE
      const armed = low ? known.armed : known.armed || change.paidIn
      watched.set(change.account, { balance, armed: armed && !low })
      if (!low || !armed) continue
      await client.query(
        `INSERT INTO hub.low_balance (account, shard, seq, at, balance) VALUES ($1, $2, $3, $4, $5)`,
        [change.account, page.shard, change.seq, change.at, balance],
      )
      const { code: account, seq } = change
      if (!page.replay) await handOn(client, { account, balance, shard: page.shard, seq })
    }
    await keepWatched(client, watched)
  },
})

interface Change {
  readonly seq: bigint
  readonly at: Date
  readonly account: bigint
  readonly code: Account
  readonly amount: bigint
  /** It is no step of a call. */
  readonly paidIn: boolean
}

interface Watched {
  readonly balance: bigint
  readonly armed: boolean
}

async function readChanges(client: PoolClient, { shard, from, to }: Page): Promise<Change[]> {
  const { rows } = await client.query<Change>({
    name: 'hub.low-balance',
    text: `SELECT j.seq, j.at, l.account, a.code, sum(l.amount)::bigint AS amount,
        j.phase IN (0, 3) AND sum(l.amount) > 0 AS "paidIn"
      FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(j) l
      JOIN ledger.account a ON a.id = l.account AND a.code LIKE 'liabilities:agents:%'
      WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3
      GROUP BY j.seq, j.at, j.phase, l.account, a.code ORDER BY j.seq, l.account`,
    values: [shard, from, to],
  })
  return rows
}

async function readWatched(
  client: PoolClient,
  { shard, from, to }: Page,
): Promise<Map<bigint, Watched>> {
  const { rows } = await client.query<Watched & { account: bigint }>(
    `SELECT w.account, w.balance, w.armed FROM hub.credit_watch w WHERE w.account IN (
       SELECT l.account FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(j) l
       WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3)`,
    [shard, from, to],
  )
  return new Map(rows.map(({ account, balance, armed }) => [account, { balance, armed }]))
}

async function keepWatched(
  client: PoolClient,
  watched: ReadonlyMap<bigint, Watched>,
): Promise<void> {
  await client.query(
    `INSERT INTO hub.credit_watch (account, balance, armed)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[])
     ON CONFLICT (account) DO UPDATE SET balance = excluded.balance, armed = excluded.armed`,
    [
      [...watched.keys()],
      [...watched.values()].map(({ balance }) => balance),
      [...watched.values()].map(({ armed }) => armed),
    ],
  )
}
