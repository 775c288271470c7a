import type { LocalAccount } from 'viem'
import { systemClock } from '../clock.ts'
import { chooseTerms, parseOffer } from '../payments/paying/terms.ts'
import { PaymentTermsError } from '../payments/paying/terms-error.ts'
import { signPayment } from '../payments/paying/x402-client.ts'
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

/** True if a 402 can be paid by a transfer; else it asks for credits, a permit or a challenge. */
export function offersPayment({ headers, bytes }: Pick<HubResponse, 'headers' | 'bytes'>): boolean {
  try {
    return parseOffer({ headers, body: bytes }).entries.some(({ scheme }) => scheme === 'exact')
  } catch (error) {
    if (error instanceof PaymentTermsError && error.reason === 'no_offer') return false
    throw error
  }
}

/**
 * Signs the header that pays an offer: USDC on Base by EIP-3009, for the requested host, within the
 * limit. Every call signs a new payment.
 * @throws PaymentTermsError
 */
export async function createPaymentHeader(
  account: Pick<LocalAccount, 'address' | 'signTypedData'>,
  { headers, bytes }: Pick<HubResponse, 'headers' | 'bytes'>,
  { host, maxAmount, lifetimeSeconds }: PaymentLimit,
): Promise<Readonly<Record<string, string>>> {
  const policy = { host, maxAmount, ownWallets: [account.address] }
  const terms = chooseTerms(parseOffer({ headers, body: bytes }), policy)
  const { header } = await signPayment(account, terms, systemClock.now(), lifetimeSeconds)
  return { [header.name.toLowerCase()]: header.value }
}
