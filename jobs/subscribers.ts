import type { PgBoss } from 'pg-boss'
import { createPool } from '../core/db/pool.ts'
import type { Subscriber } from '../core/ledger/outbox/subscriber.ts'
import { type LowBalance, lowBalance } from '../core/usage/low-balance.ts'
import { spending } from '../core/usage/spending.ts'

/** Told of credits that ran low, at least once for each fall. */
export type OnLowBalance = (fall: LowBalance) => Promise<void>

const LOW_BALANCE_QUEUE = 'low-balance'
const SECONDS = { expireInSeconds: 60, retryDelay: 10, retryLimit: 8, retryBackoff: true }

/** The readers of the journal; what takes time they hand to the queue, in their own transaction. */
export const subscribersOf = (boss: PgBoss): readonly Subscriber[] => [
  spending,
  lowBalance(async (client, { account, balance, shard, seq }) => {
    const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
    const fall = { account, balance: String(balance), shard, seq: String(seq) }
    await boss.send(LOW_BALANCE_QUEUE, fall, { ...SECONDS, db })
  }),
]

/** Makes the queues that subscribers hand work to, and works them. */
export async function workHandedOn(
  boss: PgBoss,
  url: string,
  onLowBalance: OnLowBalance,
): Promise<void> {
  await boss.createQueue(LOW_BALANCE_QUEUE, SECONDS)
  await allowSending(url)
  await boss.work<Record<'account' | 'balance' | 'seq', string> & { shard: number }>(
    LOW_BALANCE_QUEUE,
    { pollingIntervalSeconds: 2 },
    async ([job]) => {
      if (!job) return
      const { account, balance, shard, seq } = job.data
      await onLowBalance({ account, balance: BigInt(balance), shard, seq: BigInt(seq) })
    },
  )
}

/** Subscribers run as the hub's own role, which may put work into queues, and no more. */
async function allowSending(url: string): Promise<void> {
  const owner = createPool(url, { max: 1, applicationName: 'agenthub jobs' })
  try {
    await owner.query(
      `GRANT USAGE ON SCHEMA pgboss TO hub_app;
       GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA pgboss TO hub_app`,
    )
  } finally {
    await owner.end()
  }
}
