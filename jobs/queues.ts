import { pause } from '../core/clock.ts'
import { alone } from '../core/db/alone.ts'
import { writeNextExport } from '../core/finance/write-export.ts'
import { sendMails } from '../core/mail/queue.ts'
import { Deliveries, type DeliveryPorts } from '../core/webhooks/deliver.ts'
import { WebhookSigner } from '../core/webhooks/sign.ts'
import type { JobPorts } from './index.ts'

type QueuePorts = Pick<JobPorts, 'pool' | 'log' | 'mailing' | 'egress' | 'signingKey'> &
  Pick<DeliveryPorts, 'clock'>

/** Between two looks at a queue that is empty … */
const LOOK_MS = 250
/** … or cannot be worked. */
const AGAIN_MS = 2_000

/**
 * Works the queues of our own as they fill, since somebody waits at the other end: mail, webhooks,
 * exports. Every process does; what one takes is leased to it, or locked while it lives, so that
 * none that hangs or dies keeps the others back.
 * @returns when all has stopped
 */
export async function workQueues(ports: QueuePorts, stopping: AbortSignal): Promise<void> {
  const { pool, log, mailing, egress, signingKey } = ports
  const signer = new WebhookSigner(signingKey.secretFor('webhooks'))
  const deliveries = egress && new Deliveries({ ...ports, egress, signer })
  const writing = () => alone(pool, 'write-exports', () => writeNextExport(ports, stopping))

  /** @param work handles what is due, and says how much that was */
  async function attend(job: string, work: () => Promise<number | undefined>): Promise<void> {
    while (!stopping.aborted) {
      try {
        if (!(await work())) await pause(LOOK_MS, stopping)
      } catch (error) {
        log.error({ err: error, job }, 'a job failed')
        await pause(AGAIN_MS, stopping)
      }
    }
  }

  await Promise.all([
    mailing && attend('send-mail', () => sendMails(ports, mailing)),
    deliveries && attend('deliver-webhooks', () => deliveries.start()),
    attend('write-exports', writing),
  ])
  await deliveries?.settled()
}
