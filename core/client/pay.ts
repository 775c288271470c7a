import type { LocalAccount } from 'viem'
import { systemClock } from '../clock.ts'
import { choosePayment } from '../payments/paying/choose-payment.ts'
import { parseMppOffer } from '../payments/paying/mpp-offer.ts'
import { parseOffer } from '../payments/paying/offer.ts'
import { chooseTerms } from '../payments/paying/terms.ts'
import { PaymentTermsError } from '../payments/paying/terms-error.ts'
import { expiryOf, signPayment } from '../payments/paying/x402-client.ts'
import type { HubResponse } from './transport.ts'

/** Validity of a payment to a hub: longer than the longest deadline of a call, as hubs verify. */
export const HUB_LIFETIME_SECONDS = 360n

/** Host to pay and maximum amount. */
export interface PaymentLimit {
  readonly host: string
  /** Microdollars. */
  readonly maxAmount: bigint
  /** Maximum validity of the payment. @defaultValue 60 */
  readonly lifetimeSeconds?: bigint | undefined
}

/** Protocol by which a call is paid. */
export type PaymentProtocol = 'x402' | 'mpp'

/**
 * Signs the header that pays an offer: USDC on Base by EIP-3009, for the requested host, within the
 * limit. Every call signs a new payment, by x402 unless another protocol is named. Undefined if no
 * transfer can pay the 402: it asks for credits, a permit, a challenge, or another protocol.
 * @param openAccount called only if there is an offer
 * @throws PaymentTermsError
 */
export async function createPaymentHeader(
  openAccount: () => Promise<Pick<LocalAccount, 'address' | 'signTypedData'>>,
  offered: Pick<HubResponse, 'headers' | 'bytes'>,
  { host, maxAmount, lifetimeSeconds }: PaymentLimit,
  protocol: PaymentProtocol = 'x402',
): Promise<Readonly<Record<string, string>> | undefined> {
  const now = systemClock.now()
  const offer = protocol === 'mpp' ? parseMppOffer(offered, now) : transferOffer(offered)
  if (!offer) return undefined
  const account = await openAccount()
  const terms = chooseTerms(offer, { host, maxAmount, ownWallets: [account.address] })
  const { header } = await signPayment(account, terms, now, lifetimeSeconds)
  return { [header.name.toLowerCase()]: header.value }
}

/** A payment that was signed for a seller. */
export interface SellerPayment {
  readonly header: Readonly<Record<string, string>>
  /** Microdollars. */
  readonly amount: bigint
  readonly protocol: PaymentProtocol
  /** Until when it can be taken. */
  readonly expiresAt: Date
}

/**
 * Signs a payment for a seller, by x402, or by MPP if it offers no x402 that can be paid.
 * @param hasAuthorization true if the request sends a header Authorization, which is not replaced
 * @throws PaymentTermsError if there is no offer, or none that can be paid within the limit
 */
export async function createSellerPayment(
  account: Pick<LocalAccount, 'address' | 'signTypedData'>,
  { headers, bytes }: Pick<HubResponse, 'headers' | 'bytes'>,
  { host, maxAmount }: PaymentLimit,
  hasAuthorization = false,
): Promise<SellerPayment> {
  const now = systemClock.now()
  const policy = { host, maxAmount, ownWallets: [account.address], hasAuthorization }
  const terms = choosePayment({ headers, body: bytes }, policy, now)
  const { header, ...signed } = await signPayment(account, terms, now)
  return {
    header: { [header.name.toLowerCase()]: header.value },
    amount: signed.value,
    protocol: terms.challenge ? 'mpp' : 'x402',
    expiresAt: expiryOf(signed),
  }
}

/** Offer of x402 with an entry that a transfer pays. */
function transferOffer({ headers, bytes }: Pick<HubResponse, 'headers' | 'bytes'>) {
  try {
    const offer = parseOffer({ headers, body: bytes })
    return offer.entries.some(({ scheme }) => scheme === 'exact') ? offer : undefined
  } catch (error) {
    if (error instanceof PaymentTermsError && error.reason === 'no_offer') return undefined
    throw error
  }
}
