import type { PgBoss } from 'pg-boss'
import type { Subscriber } from '../core/ledger/outbox/subscriber.ts'
import type { Log } from '../core/log.ts'
import { earnings } from '../core/usage/earnings.ts'
import { type LowBalance, lowBalance } from '../core/usage/low-balance.ts'
import { spending } from '../core/usage/spending.ts'
import { refunds, tellLowBalance } from '../core/webhooks/sources.ts'

/** Told of credits that ran low, at least once for each fall. */
export type OnLowBalance = (fall: LowBalance) => Promise<void>

/** The least that can be done about it. */
export const logLowBalance =
  (log: Log): OnLowBalance =>
  async (fall) =>
    log.info(textOf(fall), 'the credits of a key run low')

const LOW_BALANCE_QUEUE = 'low-balance'
const SECONDS = { expireInSeconds: 60, retryDelay: 10, retryLimit: 8, retryBackoff: true }

/** The readers of the journal; what takes time they hand to the queue, in their own transaction. */
export const subscribersOf = (boss: PgBoss): readonly Subscriber[] => [
  spending,
  earnings,
  refunds,
  lowBalance(async (client, fall) => {
    await tellLowBalance(client, fall)
    const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
    await boss.send(LOW_BALANCE_QUEUE, textOf(fall), { db })
  }),
]

/** Makes the queues that subscribers hand work to, and works them. Call it before they run. */
export async function workHandedOn(boss: PgBoss, onLowBalance: OnLowBalance): Promise<void> {
  await boss.createQueue(LOW_BALANCE_QUEUE, SECONDS)
  await boss.getDb().executeSql(ALLOW_SENDING)
  const polling = { pollingIntervalSeconds: 2 }
  await boss.work<ReturnType<typeof textOf>>(LOW_BALANCE_QUEUE, polling, async ([job]) => {
    if (!job) return
    const { balance, threshold, seq, ...rest } = job.data
    const amounts = { balance: BigInt(balance), threshold: BigInt(threshold), seq: BigInt(seq) }
    await onLowBalance({ ...rest, ...amounts })
  })
}

/** As JSON has it, which knows no bigint. */
const textOf = ({ account, balance, threshold, shard, seq }: LowBalance) => ({
  account,
  balance: String(balance),
  threshold: String(threshold),
  shard,
  seq: String(seq),
})

/**
 * Subscribers run in the hub's own role, which may put jobs into the queue, and no more. Two
 * processes that granted at the same time would get in each other's way.
 */
const ALLOW_SENDING = `
  SELECT pg_advisory_xact_lock(hashtext('agenthub.allow_sending'));
  GRANT USAGE ON SCHEMA pgboss TO hub_app;
  GRANT SELECT ON pgboss.queue TO hub_app;
  GRANT INSERT, SELECT (id) ON pgboss.job_common TO hub_app`
