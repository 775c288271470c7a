import { pause } from '../core/clock.ts'
import { runExclusively } from '../core/db/run-exclusively.ts'
import { writeNextExport } from '../core/finance/write-export.ts'
import { sendMails } from '../core/mail/queue.ts'
import { componentOf, logFailure, outagesOf } from '../core/outages.ts'
import { Deliveries, type DeliveryDeps } from '../core/webhooks/deliveries.ts'
import { WebhookSigner } from '../core/webhooks/signer.ts'
import type { JobDeps } from './job.ts'

type QueueDeps = Pick<JobDeps, 'pool' | 'recentReads' | 'log'> &
  Pick<JobDeps, 'mailing' | 'egress' | 'secretKeys'> &
  Pick<DeliveryDeps, 'clock'>

/** Pause after an empty queue. */
const POLL_MS = 250
/** Pause after a failure. */
const RETRY_MS = 2_000

/**
 * Works the hub's own queues (mail, webhooks, exports) as they fill, because recipients wait for
 * them. Every process takes part; items are leased, or locked by a session, so that a process that
 * hangs or dies does not block the others.
 * @returns when everything has stopped
 */
export async function workQueues(deps: QueueDeps, stopping: AbortSignal): Promise<void> {
  const { pool, log, mailing, egress, secretKeys } = deps
  const signer = new WebhookSigner(secretKeys.of('webhooks'))
  const deliveries = egress && new Deliveries({ ...deps, egress, signer })
  const writeExport = () =>
    runExclusively(pool, 'write-exports', (lost) =>
      writeNextExport(deps, AbortSignal.any([stopping, lost])),
    )

  /** @param work handles due items and returns how many */
  async function workQueue(job: string, work: () => Promise<number | undefined>): Promise<void> {
    while (!stopping.aborted) {
      try {
        const count = await work()
        outagesOf(log).succeed(`job ${job}`)
        if (!count) await pause(POLL_MS, stopping)
      } catch (err) {
        const component = componentOf(err) ?? `job ${job}`
        logFailure(log, 'error', { err, component, job }, 'a job failed')
        await pause(RETRY_MS, stopping)
      }
    }
  }

  await Promise.all([
    mailing && workQueue('send-mail', () => sendMails(deps, mailing)),
    deliveries && workQueue('deliver-webhooks', () => deliveries.start()),
    workQueue('write-exports', writeExport),
  ])
  await deliveries?.idle()
}
