import type { PgBoss } from 'pg-boss'
import type { Subscriber } from '../core/ledger/outbox/subscriber.ts'
import type { Log } from '../core/log.ts'
import { earningsSubscriber } from '../core/usage/earnings.ts'
import { type LowBalance, lowBalanceSubscriber } from '../core/usage/low-balance.ts'
import { enqueueLowBalanceMails } from '../core/usage/low-balance-mail.ts'
import { spendingSubscriber } from '../core/usage/spending.ts'
import { emitLowBalance, refundSubscriber } from '../core/webhooks/sources.ts'

/** Handles credits that fell below their threshold; called at least once per fall. */
export type OnLowBalance = (fall: LowBalance) => Promise<void>

export const logLowBalance =
  (log: Log): OnLowBalance =>
  async (fall) =>
    log.info(toJson(fall), 'a key is low on credits')

const LOW_BALANCE_QUEUE = 'low-balance'
const RETRY_POLICY = { expireInSeconds: 60, retryDelay: 10, retryLimit: 8, retryBackoff: true }

/** Journal subscribers. They queue slow work in their own transaction. */
export const createSubscribers = (boss: PgBoss): readonly Subscriber[] => [
  spendingSubscriber,
  earningsSubscriber,
  refundSubscriber,
  lowBalanceSubscriber(async (client, fall) => {
    await emitLowBalance(client, fall)
    await enqueueLowBalanceMails(client, fall)
    const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
    await boss.send(LOW_BALANCE_QUEUE, toJson(fall), { db })
  }),
]

/** Creates the queue that `createSubscribers` fills, and works it. Call it before they run. */
export async function workLowBalanceQueue(boss: PgBoss, onLowBalance: OnLowBalance): Promise<void> {
  await boss.createQueue(LOW_BALANCE_QUEUE, RETRY_POLICY)
  await boss.getDb().executeSql(ALLOW_SENDING)
  const polling = { pollingIntervalSeconds: 2 }
  await boss.work<ReturnType<typeof toJson>>(LOW_BALANCE_QUEUE, polling, async ([job]) => {
    if (!job) return
    const { balance, threshold, seq, ...rest } = job.data
    const amounts = { balance: BigInt(balance), threshold: BigInt(threshold), seq: BigInt(seq) }
    await onLowBalance({ ...rest, ...amounts })
  })
}

/** JSON form, with bigints as text. */
const toJson = ({ account, balance, threshold, shard, seq }: LowBalance) => ({
  account,
  balance: String(balance),
  threshold: String(threshold),
  shard,
  seq: String(seq),
})

/**
 * Grants the hub's role, in which subscribers run, only the right to send jobs. Locked because
 * concurrent grants fail.
 */
const ALLOW_SENDING = `
  SELECT pg_advisory_xact_lock(hashtext('agenthub.allow_sending'));
  GRANT USAGE ON SCHEMA pgboss TO hub_app;
  GRANT SELECT ON pgboss.queue TO hub_app;
  GRANT INSERT, SELECT (id) ON pgboss.job_common TO hub_app`
