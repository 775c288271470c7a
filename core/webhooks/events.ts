import type { PoolClient } from 'pg'

/** Events that webhooks can subscribe to, with descriptions. */
export const EVENTS = {
  'balance.low': 'The credits of a key fell below its threshold.',
  'credits.expiring': 'Credits that you do not spend will expire.',
  'credits.lapsed': 'Credits expired.',
  'call.refunded': 'The hold or charge of a call was returned to the credits of its key.',
  'earnings.owed': 'You owe your share of a refund, because you had been paid for the call.',
  'payment.resolved': 'The outcome of an open payment is known.',
  'listing.changed': 'The state or content of one of your listings changed.',
  'domain.low_confidence': 'A page of one of your domains was read with low confidence.',
  'domain.proof_missing': 'The proof of one of your domains is missing: sales end at `expires_at`.',
  'domain.expired': 'The pages of one of your domains are no longer sold: its proof was missing.',
  'rate.decided': 'Your request for a higher rate limit was granted or refused.',
  'payout.sent': 'A payout to you was sent and is final on chain.',
  'payout.failed': 'A payout was not sent; its amount is back in your payable balance.',
  'payout.address': 'Your payout address changed, or a pending change was canceled.',
} as const

export type EventType = keyof typeof EVENTS

/** Event that the test button sends, whatever a webhook subscribes to. */
export const TEST_EVENT = 'webhook.test'

/** JSON payload: names in snake_case, amounts as integers in microdollars. */
export type EventData = Readonly<Record<string, unknown>>

/** Queues an event for the subscribed webhooks of a principal and its linked account. */
export async function emit(
  client: Pick<PoolClient, 'query'>,
  principal: string,
  type: EventType,
  data: EventData,
): Promise<void> {
  await client.query('SELECT hub.emit($1, $2, $3)', [principal, type, JSON.stringify(data)])
}
