import { maxPrice, type Offering } from '../../core/catalog/services/catalog.ts'
import { Fault } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type Micros, micros } from '../../core/money.ts'
import { signInOffer } from '../../core/payments/receiving/sign-in-offer.ts'
import type { CallDeps } from './call-deps.ts'
import type { AnonymousCaller, CallRequest } from './call-types.ts'
import { lowerOf } from './crawler.ts'
import { type BoundRequest, challengeFor } from './sign-in.ts'
import { nextSteps, paymentAdvice } from './ways-to-pay.ts'

type SignInOfferDeps = Pick<CallDeps, 'signIns'>

/**
 * Builds the PAYMENT-REQUIRED of a request that x402 cannot pay: a challenge without an offer.
 * @param maximum highest price that may be charged, in microdollars
 */
export async function signInHeader(
  { signIns }: SignInOfferDeps,
  { endpoint }: Pick<Offering, 'endpoint'>,
  request: BoundRequest,
  maximum: bigint,
): Promise<string> {
  const resource = { url: request.url(), description: endpoint.summary }
  const challenge = await challengeFor(signIns, request, maximum)
  return signInOffer(resource, challenge, 'payment_required')
}

/**
 * Builds the 402 of a service that only credits can pay, for a caller without a key. The price is
 * not computed, because strangers must not make the hub send requests to sellers: the challenge
 * allows the caller's maximum, or else the endpoint's.
 */
export async function signInRequired(
  deps: SignInOfferDeps,
  offering: Offering,
  { signInRefusal: refused }: AnonymousCaller,
  request: CallRequest,
): Promise<Fault> {
  const callerMaximum = lowerOf(request.maxPrice, maximumIn(request.body))
  const maximum = lowerOf(maxPrice(offering.endpoint), callerMaximum)!
  const ways = { hasKey: false, isX402: false, maySignIn: true }
  const detail = `"${request.slug}" requires an API key, or the sign-in of a wallet with credits.`
  return new Fault('payment_required', detail, {
    headers: { 'PAYMENT-REQUIRED': await signInHeader(deps, offering, request, maximum) },
    extras: {
      ...(refused !== undefined && { sign_in_refused: refused }),
      next_steps: nextSteps(ways),
    },
    advice: paymentAdvice(ways),
  })
}

/** Maximum price in the input of a purchase from an external seller. */
function maximumIn(body: unknown): Micros | undefined {
  const maximum = isJsonObject(body) ? body['max_price_microdollars'] : undefined
  return Number.isSafeInteger(maximum) && Number(maximum) > 0 ? micros(Number(maximum)) : undefined
}
