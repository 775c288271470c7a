/** What a webhook can hear of: name and meaning. */
export const EVENTS = {
  'balance.low': 'The credits of a key fell below its threshold.',
  'call.refunded': 'What a call held or had charged went back to the credits of its key.',
  'payment.resolved': 'It is known what became of a payment whose outcome was open.',
  'listing.changed': 'A listing of yours changed its state, or was found changed.',
  'payout.sent': 'A payout to you was sent, and is final on the chain.',
  'payout.failed': 'A payout did not leave: it is owed to you again.',
  'payout.address': 'The address that your payouts go to is changed, or a change was taken back.',
} as const

export type EventType = keyof typeof EVENTS

/** What the test button sends, to webhooks of every kind. */
export const TEST_EVENT = 'webhook.test'

/** JSON of the event: names in snake_case, amounts as integers, microdollars. */
export type EventData = Readonly<Record<string, unknown>>
