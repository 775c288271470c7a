import type { LocalAccount } from 'viem'
import { systemClock } from '../clock.ts'
import { chooseTerms, parseOffer, type Terms } from '../payments/paying/terms.ts'
import { signPayment } from '../payments/paying/x402-client.ts'
import type { Answer } from './transport.ts'

/** A seller verifies that a payment outlives the deadline of the call that it pays. */
const LIFETIME_SECONDS = 600n

/** Who is to be paid, and at most how much. */
export interface PaymentLimit {
  readonly host: string
  /** Microdollars. */
  readonly maxAmount: bigint
}

type SigningAccount = Pick<LocalAccount, 'address' | 'signTypedData'>

/**
 * The terms of a 402 that this client would sign: USDC on Base by EIP-3009, for the host that was
 * asked, no dearer than allowed.
 * @throws PaymentTermsError
 */
function acceptTerms(
  { headers, bytes }: Answer,
  { host, maxAmount }: PaymentLimit,
  own: string,
): Terms {
  const policy = { host, maxAmount, ownWallets: [own] }
  return chooseTerms(parseOffer({ headers, body: bytes }), policy)
}

/** The header that pays an offer. Each one is another payment. @throws PaymentTermsError */
export async function createPaymentHeader(
  account: SigningAccount,
  offered: Answer,
  limit: PaymentLimit,
): Promise<Readonly<Record<string, string>>> {
  const terms = acceptTerms(offered, limit, account.address)
  const { header } = await signPayment(account, terms, systemClock.now(), LIFETIME_SECONDS)
  return { [header.name.toLowerCase()]: header.value }
}
