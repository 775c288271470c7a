import type { EgressResponse } from '../../egress/http.ts'
import { parseMppOffer } from './mpp-offer.ts'
import { type Offer, parseOffer } from './offer.ts'
import { chooseTerms, type Terms, type TermsPolicy } from './terms.ts'
import { PaymentTermsError, type TermsReason } from './terms-error.ts'

type PaymentRequiredResponse = Pick<EgressResponse, 'headers' | 'body'>

/** Why an offer of x402 cannot be paid, though its seller may take MPP. */
const OTHER_RAIL: ReadonlySet<TermsReason> = new Set([
  'no_offer',
  'extension',
  'scheme',
  'network',
  'asset',
])

/** Offer of a 402, and its terms or the reason why the hub would not pay it. */
export type JudgedOffer =
  | { readonly offer: Offer; readonly terms: Terms; readonly error?: undefined }
  | {
      /** Undefined if there is none, or a malformed one. */
      readonly offer: Offer | undefined
      readonly terms?: undefined
      readonly error: PaymentTermsError
    }

/**
 * Judges the offers of a 402: that of x402, or that of MPP if there is no offer of x402, or only
 * one that cannot be paid while that of MPP can.
 */
export function judgeOffers(
  response: PaymentRequiredResponse,
  policy: TermsPolicy,
  now: Date,
): JudgedOffer {
  const x402 = judge(() => parseOffer(response), policy)
  if (!mayDiffer(x402)) return x402
  const offer = parseMppOffer(response, now)
  if (!offer) return x402
  const mpp = judge(() => offer, policy)
  return x402.offer && mayDiffer(mpp) ? x402 : mpp
}

const mayDiffer = ({ error }: JudgedOffer): boolean =>
  error !== undefined && OTHER_RAIL.has(error.reason)

function judge(parse: () => Offer, policy: TermsPolicy): JudgedOffer {
  let offer: Offer | undefined
  try {
    offer = parse()
    return { offer, terms: chooseTerms(offer, policy) }
  } catch (error) {
    if (!(error instanceof PaymentTermsError)) throw error
    return { offer, error }
  }
}

/**
 * Chooses the terms of a 402, as `judgeOffers` judges its offers.
 * @throws PaymentTermsError
 */
export function choosePayment(
  response: PaymentRequiredResponse,
  policy: TermsPolicy,
  now: Date,
): Terms {
  const { terms, error } = judgeOffers(response, policy, now)
  if (!terms) throw error
  return terms
}
