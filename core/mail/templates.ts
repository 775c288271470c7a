import type { Mail } from './queue.ts'

/** The mail by which somebody signs in. @param link with the token; it works once */
export const signInMail = (to: string, host: string, link: string, minutes: number): Mail => ({
  to,
  subject: `Sign in to ${host}`,
  text: [
    `Somebody, probably you, wants to sign in to ${host} with this address.`,
    '',
    `Open this link within ${minutes} minutes, and confirm there:`,
    '',
    link,
    '',
    'It works once. If it was not you, do nothing: without the link nobody can sign in.',
    '',
  ].join('\n'),
})

/** A payout as a mail tells of it. */
export interface PayoutDetails {
  /** `12.50` */
  readonly dollars: string
  readonly address: string
  readonly transaction: string
  readonly statement: string
}

export const payoutSentMail = (to: string, host: string, payout: PayoutDetails): Mail => ({
  to,
  subject: `${host} has paid you ${payout.dollars} USDC`,
  text: [
    `${payout.dollars} USDC were sent to ${payout.address}, and are final on Base.`,
    '',
    `Transaction: ${payout.transaction}`,
    `Statement, line by line: ${payout.statement}`,
    '',
  ].join('\n'),
})

/** Where payouts go. Null: nowhere, and no change waits. */
export interface PayoutAddressDetails {
  readonly address: string | null
  readonly next: string | null
  readonly nextAt: Date | null
}

export const payoutAddressMail = (
  to: string,
  host: string,
  { address, next, nextAt }: PayoutAddressDetails,
): Mail => ({
  to,
  subject: `Where ${host} pays you`,
  text: [
    `Payouts go to ${address ?? 'no address yet'}.`,
    ...(next === null
      ? ['No change waits.']
      : [
          `From ${nextAt?.toISOString()} on they go to ${next}. Until then nothing is paid.`,
          '',
          'If that was not you: take the change back (DELETE /v1/provider/payout-address),',
          'and revoke the key that asked for it.',
        ]),
    '',
  ].join('\n'),
})
