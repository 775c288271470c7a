import type { Mail } from './queue.ts'

/** Composes the sign-in mail. @param link contains the token; works once */
export const signInMail = (to: string, host: string, link: string, minutes: number): Mail => ({
  to,
  subject: `Sign in to ${host}`,
  text: [
    `Someone, probably you, requested to sign in to ${host} with this email address.`,
    '',
    `Open this link within ${minutes} minutes and confirm:`,
    '',
    link,
    '',
    'The link works once. If you did not request it, ignore this email.',
    '',
  ].join('\n'),
})

/** Payout as shown in its mail. */
export interface PayoutDetails {
  /** `12.50` */
  readonly dollars: string
  readonly address: string
  readonly transaction: string
  readonly statement: string
}

export const payoutSentMail = (to: string, host: string, payout: PayoutDetails): Mail => ({
  to,
  subject: `${host} sent you ${payout.dollars} USDC`,
  text: [
    `We sent ${payout.dollars} USDC to ${payout.address}. The transaction is final on Base.`,
    '',
    `Transaction: ${payout.transaction}`,
    `Itemized statement: ${payout.statement}`,
    '',
  ].join('\n'),
})

/** Current, pending and requested payout address; null: none. */
export interface PayoutAddressDetails {
  readonly address: string | null
  readonly next: string | null
  readonly nextAt: Date | null
  readonly requested: string | null
}

export const payoutAddressMail = (
  to: string,
  host: string,
  { address, next, nextAt, requested }: PayoutAddressDetails,
): Mail => ({
  to,
  subject: `Your payout address at ${host}`,
  text: [
    `Payout address: ${address ?? 'none'}.`,
    ...(next === null
      ? ['No change is pending.']
      : [`It changes to ${next} at ${nextAt?.toISOString()}. Until then we send no payouts.`]),
    ...(requested === null
      ? []
      : [
          `A change to ${requested} was requested. It needs a signature of the current wallet, or`,
          'an administrator who recovers it for you.',
        ]),
    ...(next === null && requested === null
      ? []
      : [
          '',
          'If you did not request this, cancel the change (DELETE /v1/provider/payout-address)',
          'and revoke the key that requested it.',
        ]),
    '',
  ].join('\n'),
})

/** Decision about a request for a custom rate. @property granted null: refused */
export interface RateDecisionDetails {
  readonly key: string
  readonly granted: number | null
  readonly reason: string | null
}

export const rateDecidedMail = (
  to: string,
  host: string,
  { key, granted, reason }: RateDecisionDetails,
): Mail => ({
  to,
  subject: `Your request for a higher rate limit at ${host}`,
  text: [
    granted === null
      ? `Your request for the key ${key} was refused. Its rate limit stays.`
      : `The key ${key} may now send ${granted} requests per minute.`,
    '',
    `Reason: ${reason ?? ''}`,
    '',
  ].join('\n'),
})

/** Composes the notice of credits that will expire. @param credits `12.50` */
export const creditsExpiringMail = (
  to: string,
  host: string,
  credits: string,
  due: Date,
): Mail => ({
  to,
  subject: `$${credits} of your credits at ${host} will expire`,
  text: [
    `$${credits} of your credits at ${host} expires at ${due.toISOString()}.`,
    '',
    'Credits that you spend before do not expire; the oldest are spent first.',
    '',
  ].join('\n'),
})

/** Update of an incident, as published. */
export interface IncidentDetails {
  readonly title: string
  readonly state: string
  readonly message: string
  readonly page: string
  /** URL that ends these mails. */
  readonly unsubscribe: string
}

export const incidentMail = (
  to: string,
  host: string,
  { title, state, message, page, unsubscribe }: IncidentDetails,
): Mail => ({
  to,
  subject: `${host}: ${title} (${state})`,
  text: [message, '', `All updates: ${page}`, `Stop these emails: ${unsubscribe}`, ''].join('\n'),
  unsubscribe,
})

/** Fall of a key's credits below their threshold; amounts such as `$0.42`. */
export interface LowBalanceDetails {
  readonly key: string
  readonly balance: string
  readonly threshold: string
  readonly topUp: string
  /** URL that ends these mails. */
  readonly unsubscribe: string
}

export const lowBalanceMail = (
  to: string,
  host: string,
  { key, balance, threshold, topUp, unsubscribe }: LowBalanceDetails,
): Mail => ({
  to,
  subject: `Low balance at ${host}: ${balance} left`,
  text: [
    `The credits of your key ${key} fell below ${threshold}: ${balance} is left.`,
    '',
    'Calls that cost more than is left fail and are not charged.',
    '',
    `Top up: ${topUp}`,
    `Stop these emails: ${unsubscribe}`,
    '',
  ].join('\n'),
  unsubscribe,
})

/** Domain whose proof is missing. */
export interface DomainProofDetails {
  readonly domain: string
  /** End of sales; undefined if they have ended. */
  readonly expiresAt: Date | undefined
  readonly page: string
}

export const domainProofMail = (
  to: string,
  host: string,
  { domain, expiresAt, page }: DomainProofDetails,
): Mail => ({
  to,
  subject: expiresAt
    ? `Proof of ${domain} is missing at ${host}`
    : `${domain} is no longer sold at ${host}`,
  text: [
    `We no longer find the token that proves that you own ${domain}.`,
    expiresAt
      ? `Publish it again before ${expiresAt.toISOString()}: then its pages stop being sold.`
      : 'Its pages are no longer sold. Publish it again, and verify the domain.',
    '',
    `Token, and where to publish it: ${page}`,
    '',
  ].join('\n'),
})
