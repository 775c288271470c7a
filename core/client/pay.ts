import type { LocalAccount } from 'viem'
import { systemClock } from '../clock.ts'
import { chooseTerms, parseOffer, type Terms } from '../payments/paying/terms.ts'
import { signPayment } from '../payments/paying/x402-client.ts'
import type { HubResponse } from './transport.ts'

/** Validity of a payment. A seller verifies that it outlives the deadline of the call. */
const LIFETIME_SECONDS = 600n

/** Host to pay and maximum amount. */
export interface PaymentLimit {
  readonly host: string
  /** Microdollars. */
  readonly maxAmount: bigint
}

type SigningAccount = Pick<LocalAccount, 'address' | 'signTypedData'>

/**
 * Chooses the terms of a 402 to sign: USDC on Base by EIP-3009, for the requested host, within the
 * limit.
 * @throws PaymentTermsError
 */
function acceptTerms(
  { headers, bytes }: HubResponse,
  { host, maxAmount }: PaymentLimit,
  own: string,
): Terms {
  const policy = { host, maxAmount, ownWallets: [own] }
  return chooseTerms(parseOffer({ headers, body: bytes }), policy)
}

/** Signs the header that pays an offer; each call is a new payment. @throws PaymentTermsError */
export async function createPaymentHeader(
  account: SigningAccount,
  offered: HubResponse,
  limit: PaymentLimit,
): Promise<Readonly<Record<string, string>>> {
  const terms = acceptTerms(offered, limit, account.address)
  const { header } = await signPayment(account, terms, systemClock.now(), LIFETIME_SECONDS)
  return { [header.name.toLowerCase()]: header.value }
}
