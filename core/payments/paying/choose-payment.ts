import type { EgressResponse } from '../../egress/http.ts'
import { parseMppOffer } from './mpp-offer.ts'
import { chooseTerms, type Offer, parseOffer, type Terms, type TermsPolicy } from './terms.ts'
import { PaymentTermsError, type TermsReason } from './terms-error.ts'

type PaymentRequiredResponse = Pick<EgressResponse, 'headers' | 'body'>

/** Parses the offer of x402 in a 402, or that of MPP if there is none. @throws PaymentTermsError */
export function parseAnyOffer(response: PaymentRequiredResponse, now: Date): Offer {
  try {
    return parseOffer(response)
  } catch (error) {
    const isAbsent = error instanceof PaymentTermsError && error.reason === 'no_offer'
    const offer = isAbsent ? parseMppOffer(response, now) : undefined
    if (!offer) throw error
    return offer
  }
}

/** Why an offer of x402 cannot be paid, though its seller may take MPP. */
const OTHER_RAIL: ReadonlySet<TermsReason> = new Set([
  'no_offer',
  'extension',
  'scheme',
  'network',
  'asset',
])

/**
 * Chooses the terms of a 402: those of x402, or of MPP if no offer of x402 can be paid.
 * @throws PaymentTermsError the reason of x402 if neither can be paid
 */
export function choosePayment(
  response: PaymentRequiredResponse,
  policy: TermsPolicy,
  now: Date,
): Terms {
  try {
    return chooseTerms(parseOffer(response), policy)
  } catch (error) {
    const mayDiffer = error instanceof PaymentTermsError && OTHER_RAIL.has(error.reason)
    const offer = mayDiffer ? parseMppOffer(response, now) : undefined
    if (!offer) throw error
    return chooseTerms(offer, policy)
  }
}
