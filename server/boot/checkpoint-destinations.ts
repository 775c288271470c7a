import type { Config } from '../../core/config.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { bucketDestination, webhookDestination } from '../../core/ledger/checkpoint-destinations.ts'
import type { CheckpointDestination } from '../../core/ledger/ship-checkpoints.ts'
import type { MailTransport } from '../../core/mail/queue.ts'

/** Opens the configured destinations of checkpoints. */
export async function openCheckpointDestinations(
  { checkpoints, version }: Pick<Config, 'checkpoints' | 'version'>,
  transport: MailTransport,
): Promise<readonly CheckpointDestination[]> {
  const { webhook, mailbox, bucket } = checkpoints
  const destinations: CheckpointDestination[] = []
  if (bucket) destinations.push(await bucketDestination(bucket))
  if (webhook !== undefined) {
    const origins = [new URL(webhook).origin]
    const route = createBackends({ origins, userAgent: `AgentHub/${version}` })
    destinations.push(webhookDestination(webhook, route))
  }
  if (mailbox !== undefined) destinations.push(mailboxDestination(mailbox, transport))
  return destinations
}

/** Mails the checkpoints once a day: keep these mails. */
const mailboxDestination = (to: string, transport: MailTransport): CheckpointDestination => ({
  name: 'mailbox',
  daily: true,
  send: (notes) =>
    transport.send({
      to,
      subject: `Ledger checkpoints of ${notes[0]!.at.slice(0, 10)}`,
      text: `Keep this mail. It proves that the ledger was not rewritten:
npm run ledger -- verify --checkpoints FILE

${notes.map(({ note }) => note).join('\n')}`,
    }),
})
