import type { Config } from '../../core/config.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { bucketDestination, webhookDestination } from '../../core/ledger/checkpoint-destinations.ts'
import type { CheckpointDestination } from '../../core/ledger/ship-checkpoints.ts'
import type { Witnesses } from '../../core/ledger/transparency/witnesses.ts'
import type { MailTransport } from '../../core/mail/queue.ts'

/** Receivers of checkpoints outside the hub. */
export interface CheckpointReceivers {
  readonly checkpointDestinations: readonly CheckpointDestination[]
  readonly witnesses: Witnesses | undefined
}

/** Opens the configured destinations and witnesses of checkpoints. */
export async function openCheckpointReceivers(
  config: Pick<Config, 'checkpoints' | 'version'>,
  transport: MailTransport,
  scope: AsyncDisposableStack,
): Promise<CheckpointReceivers> {
  const checkpointDestinations = await openDestinations(config, transport)
  for (const { close } of checkpointDestinations) scope.defer(() => close?.())
  const witnesses = openWitnesses(config)
  scope.defer(() => witnesses?.egress.close())
  return { checkpointDestinations, witnesses }
}

async function openDestinations(
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

/** Opens the connections to the configured witnesses; undefined if there are none. */
function openWitnesses({
  checkpoints: { witnesses },
  version,
}: Pick<Config, 'checkpoints' | 'version'>): Witnesses | undefined {
  if (witnesses.length === 0) return undefined
  const origins = [...new Set(witnesses.map(({ url }) => new URL(url).origin))]
  return { witnesses, egress: createBackends({ origins, userAgent: `AgentHub/${version}` }) }
}

/** Emails the checkpoints once a day, to be stored by the recipient. */
const mailboxDestination = (to: string, transport: MailTransport): CheckpointDestination => ({
  name: 'mailbox',
  daily: true,
  send: (notes) =>
    transport.send({
      to,
      subject: `Ledger checkpoints of ${notes[0]!.at.slice(0, 10)}`,
      text: `Keep this email. It proves that the ledger was not rewritten:
npm run ledger -- verify --checkpoints FILE

${notes.map(({ note }) => note).join('\n')}`,
    }),
})
