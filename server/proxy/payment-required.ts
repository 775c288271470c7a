import { type CatalogEntry, maxPrice, meteredPrice } from '../../core/catalog/services/catalog.ts'
import { deadlineOf } from '../../core/catalog/services/deadline.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { json, type Micros } from '../../core/money.ts'
import { minimumUsage } from '../../core/payments/facilitators/minimum-sale.ts'
import type { OfferedSale, SignedOffer } from '../../core/payments/receiving/offers.ts'
import { SIGN_IN } from '../../core/payments/receiving/sign-in-challenges.ts'
import { assertKeyAllows } from '../../core/usage/allowances.ts'
import type { PaymentRequiredDeps } from './call-deps.ts'
import type { CallRequest, PricedCall, SignedInCaller } from './call-types.ts'
import { hasFreeQuota } from './funds/free-calls.ts'
import { acceptsSignIn, type BoundRequest, challengeFor } from './sign-in.ts'
import { signInHeader } from './sign-in-offer.ts'
import { nextSteps, paymentAdvice, type WaysToPay } from './ways-to-pay.ts'

/**
 * Throws if the call is not allowed, before any funding source is tried.
 * @throws Fault an input error (or the 402, if the caller could not pay), an expired quote, or
 *   `service_not_allowed`, `key_limit_reached`; the 402 if the price exceeds a signed maximum
 */
export async function assertCallable(deps: PaymentRequiredDeps, priced: PricedCall): Promise<void> {
  const { caller, request } = priced
  if (priced.inputError) {
    const couldPay = deps.creditsOnly.has(request.slug) || (await mayPay(deps, priced))
    throw couldPay ? priced.inputError : await paymentRequired(deps, priced)
  }
  if (priced.quoteError) throw priced.quoteError
  if (caller.keyId === null) return
  assertKeyAllows(caller.limits, request.slug, priced.price)
  if (isAboveSigned(caller, priced.price)) throw await paymentRequired(deps, priced)
}

/** Returns true if the request has any means of payment, sufficient or not. */
async function mayPay(
  { accountStatus }: PaymentRequiredDeps,
  priced: PricedCall,
): Promise<boolean> {
  const { caller, price, request } = priced
  if (price === 0n || request.payment !== undefined) return true
  if (caller.keyId === null) return false
  return hasFreeQuota(priced) || (await accountStatus.balance(caller.credits)) > 0n
}

/** Builds the 402 for x402 clients, programs (`next_steps`) and people (`detail`). */
export async function paymentRequired(
  deps: PaymentRequiredDeps,
  priced: PricedCall,
): Promise<Fault> {
  const { caller, price, request } = priced
  const { accountStatus, creditsOnly, clock } = deps
  const hasKey = caller.keyId !== null
  const available = hasKey ? await accountStatus.spendable(caller, clock.now()) : 0n
  const ways = waysToPay(deps, priced)
  const { headers, body } = await offerHeaders(deps, priced, ways)
  const minimum = x402Minimum(deps, priced)
  const isBelowMinimum = !creditsOnly.has(request.slug) && price < minimum
  const hasMinimum = isBelowMinimum || (ways.isX402 && ways.isMetered && minimum > 0n)
  const refused = signInRefusalOf(priced)
  const extras = {
    ...body,
    price_microdollars: json(price),
    ...(hasMinimum && { x402_min_microdollars: json(minimum) }),
    ...(hasKey ? { available_microdollars: json(available) } : {}),
    ...(refused !== undefined && { sign_in_refused: refused }),
    next_steps: nextSteps(ways),
  }
  const code = hasKey && refused === undefined ? 'insufficient_credits' : 'payment_required'
  const has = hasKey ? ` ${available} microdollars are available.` : ''
  const gas = hasMinimum ? minimumText(minimum, isBelowMinimum) : ''
  const most = priced.metered ? 'at most ' : ''
  const detail = `This call costs ${most}${price} microdollars.${has}${gas}`
  return new Fault(code, detail, { extras, headers, advice: paymentAdvice(ways) })
}

export const waysToPay = (deps: PaymentRequiredDeps, priced: PricedCall): WaysToPay => ({
  hasKey: priced.caller.keyId !== null,
  isX402: acceptsX402(deps, priced),
  isMetered: priced.metered !== undefined,
  maySignIn: acceptsSignIn(priced.request),
})

/**
 * Headers with the offer, or with a challenge alone, and the offer for the body.
 * @param error that the offer names. @defaultValue `payment_required`
 */
export async function offerHeaders(
  deps: PaymentRequiredDeps,
  priced: PricedCall,
  { isX402, maySignIn }: WaysToPay,
  error = 'payment_required',
  upfront?: boolean,
): Promise<Pick<SignedOffer, 'headers'> & { readonly body?: object }> {
  const { offering, request, price } = priced
  if (isX402) return await offerOf(deps, priced, error, upfront)
  if (!maySignIn) return { headers: {} }
  return { headers: { 'PAYMENT-REQUIRED': await signInHeader(deps, offering, request, price) } }
}

/** Reason why the signed challenge of the request does not pay for it; undefined without one. */
const signInRefusalOf = ({ caller, price }: PricedCall): string | undefined => {
  if (caller.keyId === null) return caller.signInRefusal
  return isAboveSigned(caller, price) ? 'price_raised' : undefined
}

const isAboveSigned = (caller: Caller | SignedInCaller, price: bigint): boolean =>
  'signedMaximum' in caller && price > caller.signedMaximum

const minimumText = (minimum: bigint, isBelow: boolean): string =>
  isBelow
    ? ` Below ${minimum} microdollars x402 is not accepted, because gas would exceed the price:` +
      ' buy credits.'
    : ` By x402, any usage costs at least ${minimum} microdollars, because of its gas.`

/**
 * Minimum price of a call by x402, which covers the gas of its settlement. A metered call with any
 * usage costs at least as much.
 */
export const x402Minimum = (
  { minX402 }: Pick<PaymentRequiredDeps, 'minX402'>,
  { metered }: Pick<PricedCall, 'metered'>,
): Micros => (metered ? minimumUsage(minX402()) : minX402())

/**
 * Returns true if the call may be paid per request by x402. A metered price is paid after the work,
 * so that its maximum must be small, and the facilitator must settle part of what is authorized.
 */
export const acceptsX402 = (
  deps: Pick<PaymentRequiredDeps, 'creditsOnly' | 'minX402' | 'offers' | 'prepaidAbove'>,
  {
    price,
    request,
    metered,
    offering,
  }: Pick<PricedCall, 'price' | 'metered'> & {
    readonly offering: Pick<PricedCall['offering'], 'endpoint'>
    readonly request: Pick<CallRequest, 'slug'>
  },
): boolean =>
  !deps.creditsOnly.has(request.slug) &&
  price >= x402Minimum(deps, { metered }) &&
  (metered === undefined ||
    (deps.offers.sellsMetered && price <= deps.prepaidAbove && !offering.endpoint.prepaid))

/** Returns true for an endpoint whose calls wallets pay per request, for documents. */
export function isPayablePerRequest(
  deps: Parameters<typeof acceptsX402>[0],
  entry: CatalogEntry,
): boolean {
  const { service, endpoint } = entry
  const [price, metered] = [maxPrice(endpoint), meteredPrice(endpoint)]
  if (!metered) return !deps.creditsOnly.has(service.slug)
  return acceptsX402(deps, { price, metered, offering: entry, request: service })
}

const SETTLE_MARGIN_SECONDS = 60

/** Seconds in which a call is done and settled: its deadline and a margin. */
export const paymentSecondsOf = ({ endpoint }: Pick<PricedCall['offering'], 'endpoint'>): number =>
  deadlineOf(endpoint) + SETTLE_MARGIN_SECONDS

/**
 * x402 terms of a call: its price, and the requested resource. A stream cannot be taken back, nor
 * the effects of a `prepaid` endpoint: they are paid upfront. So is the first payment of a wallet
 * above a small amount, because wallets are free and may be emptied during the work. A metered call
 * is paid after its work, also if it streams: its maximum is at most that amount.
 */
export function saleTermsOf(
  { prepaidAbove }: Pick<PaymentRequiredDeps, 'prepaidAbove'>,
  { offering, price, metered, request }: Sale,
) {
  const { endpoint } = offering
  const isMetered = metered !== undefined
  const isFinal = !isMetered && (endpoint.streams === true || endpoint.prepaid === true)
  return {
    amount: price,
    isMetered,
    maxTimeoutSeconds: paymentSecondsOf(offering),
    ...(isMetered && { owedMax: prepaidAbove }),
    upfront: isFinal || (!isMetered && price > prepaidAbove),
    trustsKnownPayers: !isFinal,
    resource: resourceOf(offering, request),
  }
}

/** Builds the 402 of a call, which describes its endpoint to indexers. */
async function offerOf(
  deps: Pick<PaymentRequiredDeps, 'offers' | 'prepaidAbove' | 'signIns'>,
  { offering, price, metered, request }: OfferedCall,
  error: string,
  upfront?: boolean,
): Promise<SignedOffer> {
  const { extensions, ...discovery } = await discoveryTerms(offering, request.url())
  const challenge = acceptsSignIn(request) && (await challengeFor(deps.signIns, request, price))
  return deps.offers.signedOffer({
    ...saleTermsOf(deps, { offering, price, metered, request }),
    ...(upfront && { upfront }),
    isKeyed: request.authorization !== undefined,
    ...discovery,
    extensions: { ...extensions, ...(challenge && { [SIGN_IN]: challenge }) },
    error,
  })
}

/** A tool of MCP has no URL that an indexer could list. */
async function discoveryTerms(
  offering: Sale['offering'],
  url: string,
): Promise<Pick<OfferedSale, 'extensions' | 'bodyExtensions'>> {
  if (!url.startsWith('http')) return {}
  const { discoveryOf } = await import('./discovery.ts') // lazy: the package is slow to load
  const { inHeader, inBody } = discoveryOf(offering)
  return { extensions: inHeader, bodyExtensions: inBody }
}

interface Sale extends Pick<PricedCall, 'offering' | 'price' | 'metered'> {
  readonly request: Pick<PricedCall['request'], 'url'>
}

interface OfferedCall extends Pick<PricedCall, 'offering' | 'price' | 'metered'> {
  readonly request: BoundRequest & Pick<CallRequest, 'authorization'>
}

const resourceOf = ({ endpoint }: Sale['offering'], request: Sale['request']) => ({
  url: request.url(),
  description: endpoint.summary,
  mimeType: 'application/json',
})
