import type { PoolClient } from 'pg'
import { enqueueMail, type MailRequest } from '../mail/queue.ts'
import { json } from '../money.ts'
import type { EventData, EventType } from '../webhooks/events.ts'
import { emit } from '../webhooks/events.ts'

/** Time after which undelivered emails expire, because their content is outdated. */
const MAIL_LIFETIME_DAYS = 3

/** Notifies the owner of a payout's end by webhook and email, in the transaction that ends it. */
export async function notifyPayout(
  client: PoolClient,
  id: string,
  type: 'payout.sent' | 'payout.failed',
): Promise<void> {
  const { rows } = await client.query<{
    owner: string | null
    provider: string
    amount: bigint
    payee: string
    transaction: string | null
  }>(
    `SELECT p.owner, o.provider, o.amount, o.payee, o.transaction
     FROM hub.payout o JOIN hub.provider p ON p.id = o.provider WHERE o.id = $1`,
    [id],
  )
  const { owner, provider, amount, payee, transaction } = rows[0]!
  await emitToOwner(client, owner, type, {
    payout_id: id,
    provider_id: provider,
    amount_microdollars: json(amount),
    address: payee,
    ...(type === 'payout.sent' ? { transaction } : {}),
  })
  if (type === 'payout.sent') await mailOwner(client, owner, 'payout-sent', id)
}

export async function emitToOwner(
  client: PoolClient,
  owner: string | null,
  type: EventType,
  data: EventData,
): Promise<void> {
  if (owner !== null) await emit(client, owner, type, data)
}

/** Queues an email to the person who owns the account or to whom the wallet is linked. */
export async function mailOwner(
  client: PoolClient,
  owner: string | null,
  template: MailRequest['template'],
  subject: string,
): Promise<void> {
  const { rows } = await client.query<{ email: string; expires: Date }>(
    `SELECT email, now() + make_interval(days => $2) AS expires FROM hub.person
     WHERE principal = $1
       OR principal = (SELECT l.person FROM hub.wallet_link l WHERE l.wallet = $1)`,
    [owner, MAIL_LIFETIME_DAYS],
  )
  for (const { email: recipient, expires } of rows) {
    await enqueueMail(client, { template, recipient, subject, expires })
  }
}
