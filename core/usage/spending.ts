import type { Pool } from 'pg'
import type { Account } from '../ledger/events.ts'
import type { Subscriber } from '../ledger/outbox/subscriber.ts'

/** What was paid for calls, in units of the account's asset, or came back. */
export interface Spent {
  /** A UTC day `2026-11-21`, or the slug of a service. */
  readonly of: string
  readonly calls: bigint
  readonly charged: bigint
  /** Calls whose hold went back. */
  readonly givenBack: bigint
  /** Refunds of what was charged. */
  readonly reversed: bigint
}

const ADD = `
  INSERT INTO hub.spending AS s (account, day, endpoint, calls, charged, given_back, reversed)
  SELECT j.owner, (j.at AT TIME ZONE 'UTC')::date, coalesce(c.endpoint, j.endpoint),
    count(*) FILTER (WHERE j.kind = 2), coalesce(sum(j.amount) FILTER (WHERE j.kind = 2), 0),
    count(*) FILTER (WHERE j.kind IN (3, 4)),
    coalesce(sum((SELECT sum(u.amount) FROM unnest(j.amounts) u(amount) WHERE u.amount > 0)
      ) FILTER (WHERE j.phase = 3), 0)
  FROM ledger.journal j
  LEFT JOIN ledger.journal c ON j.phase = 3 AND c.owner = j.owner AND c.id = j.id AND c.phase = 2
  WHERE j.shard = $1 AND j.seq BETWEEN $2 AND $3 AND j.phase IN (2, 3)
  GROUP BY 1, 2, 3
  ON CONFLICT (account, day, endpoint) DO UPDATE SET calls = s.calls + excluded.calls,
    charged = s.charged + excluded.charged, given_back = s.given_back + excluded.given_back,
    reversed = s.reversed + excluded.reversed`

/** Adds up what each account pays for calls, by day and endpoint. */
export const spending: Subscriber = {
  name: 'spending',
  tables: ['hub.spending'],
  async handle(client, { shard, from, to }) {
    await client.query({ name: 'hub.spending', text: ADD, values: [shard, from, to] })
  },
}

export interface SpendingRange {
  /** First and last UTC day, `2026-11-01`. */
  readonly from: string
  readonly to: string
  readonly by: 'day' | 'service'
}

/** What an account spent in a range of days, by day or by service; what was not used is left out. */
export async function spendingOf(
  pool: Pool,
  account: Account,
  { from, to, by }: SpendingRange,
): Promise<readonly Spent[]> {
  const { rows } = await pool.query<Record<keyof Spent, string>>(
    `SELECT CASE $4 WHEN 'day' THEN s.day::text ELSE coalesce(e.service, '') END AS of,
       sum(s.calls)::text AS calls, sum(s.charged)::text AS charged,
       sum(s.given_back)::text AS "givenBack", sum(s.reversed)::text AS reversed
     FROM hub.spending s
     JOIN ledger.account a ON a.id = s.account
     LEFT JOIN hub.endpoint e ON e.id = s.endpoint
     WHERE a.code = $1 AND s.day BETWEEN $2 AND $3 GROUP BY 1 ORDER BY 1`,
    [account, from, to, by],
  )
  return rows.map((row) => ({
    of: row.of,
    calls: BigInt(row.calls),
    charged: BigInt(row.charged),
    givenBack: BigInt(row.givenBack),
    reversed: BigInt(row.reversed),
  }))
}
