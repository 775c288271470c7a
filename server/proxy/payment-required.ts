import { deadlineOf } from '../../core/catalog/services/deadline.ts'
import { Fault } from '../../core/errors.ts'
import { json, MIN_TOP_UP } from '../../core/money.ts'
import type { Offer, OfferedSale } from '../../core/payments/receiving/offers.ts'
import { SIGN_IN } from '../../core/payments/receiving/sign-in-challenges.ts'
import { assertKeyAllows } from '../../core/usage/allowances.ts'
import type { PaymentRequiredDeps } from './call-deps.ts'
import type { PricedCall } from './call-types.ts'
import { type BoundRequest, challengeFor } from './sign-in.ts'

/**
 * Throws if the call is not allowed, before any funding source is tried.
 * @throws Fault an input error (or the 402, if the caller could not pay), an expired quote, or
 *   `service_not_allowed`, `key_limit_reached`
 */
export async function assertCallable(deps: PaymentRequiredDeps, priced: PricedCall): Promise<void> {
  const { caller, request } = priced
  if (priced.inputError) {
    const couldPay = deps.creditsOnly.has(request.slug) || (await mayPay(deps, priced))
    throw couldPay ? priced.inputError : await paymentRequired(deps, priced)
  }
  if (priced.quoteError) throw priced.quoteError
  if (caller.keyId !== null) assertKeyAllows(caller.limits, request.slug, priced.price)
}

/** Returns true if the caller shows any means to pay, whether or not it suffices. */
async function mayPay(
  { accountStatus }: PaymentRequiredDeps,
  { caller, price, offering, request }: PricedCall,
): Promise<boolean> {
  if (price === 0n || request.payment !== undefined) return true
  if (caller.keyId === null) return false
  const hasFreeCalls = (offering.service.freeCallsPerMonth ?? 0) > 0
  return hasFreeCalls || (await accountStatus.balance(caller.credits)) > 0n
}

/** Builds the 402 for x402 clients, programs (`next_steps`) and people (`detail`). */
export async function paymentRequired(
  deps: PaymentRequiredDeps,
  priced: PricedCall,
): Promise<Fault> {
  const { caller } = priced
  const { accountStatus, minX402, creditsOnly, clock } = deps
  const hasKey = caller.keyId !== null
  const refused = caller.keyId === null ? caller.signInRefusal : undefined
  const available = hasKey ? await accountStatus.spendable(caller, clock.now()) : 0n
  const isX402 = acceptsX402(deps, priced)
  const offered = isX402 ? await offerOf(deps, priced, 'payment_required') : undefined
  const headers: Record<string, string> = offered ? { 'PAYMENT-REQUIRED': offered.header } : {}
  const minimum = minX402()
  const isBelowMinimum = !creditsOnly.has(priced.request.slug) && priced.price < minimum
  const extras = {
    ...offered?.body,
    price_microdollars: json(priced.price),
    ...(isBelowMinimum && { x402_min_microdollars: json(minimum) }),
    ...(hasKey ? { available_microdollars: json(available) } : {}),
    ...(refused !== undefined && { sign_in_refused: refused }),
    next_steps: [
      ...(isX402 ? [{ action: 'pay_x402', header: 'PAYMENT-SIGNATURE' }] : []),
      ...(isX402 && !hasKey ? [{ action: 'sign_in', header: 'SIGN-IN-WITH-X' }] : []),
      {
        action: 'topup',
        method: 'POST',
        href: '/v1/credits/purchase',
        min_microdollars: json(MIN_TOP_UP),
      },
      ...(hasKey ? [] : [{ action: 'register', method: 'GET', href: '/v1/register/challenge' }]),
    ],
  }
  const code = hasKey ? 'insufficient_credits' : 'payment_required'
  const has = hasKey ? ` ${available} are available.` : ''
  const gas = isBelowMinimum ? belowMinimum(minimum) : ''
  const detail = `This call costs ${priced.price} microdollars.${has}${gas}`
  return new Fault(code, detail, { extras, headers, advice: waysToPay(hasKey, isX402) })
}

/** Advises only what this caller and endpoint allow. */
function waysToPay(hasKey: boolean, isX402: boolean): string {
  const buy = hasKey
    ? 'buy credits: POST /v1/credits/purchase'
    : 'register for a key, GET /v1/register/challenge, and buy credits, POST /v1/credits/purchase'
  return isX402
    ? `Pay this request via x402, or ${buy}.`
    : `${buy[0]!.toUpperCase()}${buy.slice(1)}.`
}

const belowMinimum = (minimum: bigint): string =>
  ` Below ${minimum} microdollars x402 is not accepted, because gas would exceed the price: buy` +
  ' credits.'

/** Returns true if the call may be paid per request by x402. */
export const acceptsX402 = (
  { creditsOnly, minX402 }: Pick<PaymentRequiredDeps, 'creditsOnly' | 'minX402'>,
  { price, request }: PricedCall,
): boolean => !creditsOnly.has(request.slug) && price >= minX402()

/** Seconds that a payment must stay valid beyond the deadline of the call it pays for. */
export const SETTLE_MARGIN_SECONDS = 60

/**
 * x402 terms of a call: its price, and the requested resource. A stream cannot be taken back, nor
 * the effects of a `prepaid` endpoint: they are paid upfront. So is the first payment of a wallet
 * above a small amount, because wallets are free and may be emptied during the work.
 */
export function saleTermsOf(
  { prepaidAbove }: Pick<PaymentRequiredDeps, 'prepaidAbove'>,
  { offering, price, request }: Sale,
) {
  const { endpoint } = offering
  const isFinal = endpoint.streams === true || endpoint.prepaid === true
  return {
    amount: price,
    maxTimeoutSeconds: deadlineOf(endpoint) + SETTLE_MARGIN_SECONDS,
    upfront: isFinal || price > prepaidAbove,
    trustsKnownPayers: !isFinal,
    resource: resourceOf(offering, request),
  }
}

/** Builds the 402 of a call, which describes its endpoint to indexers. */
export async function offerOf(
  deps: Pick<PaymentRequiredDeps, 'offers' | 'prepaidAbove' | 'signIns'>,
  { offering, price, request }: OfferedCall,
  error: string,
  upfront?: boolean,
): Promise<Offer> {
  const { extensions, ...discovery } = await discoveryTerms(offering, request.url())
  const challenge = await challengeFor(deps.signIns, request)
  return deps.offers.signedOffer({
    ...saleTermsOf(deps, { offering, price, request }),
    ...(upfront && { upfront }),
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

interface Sale extends Pick<PricedCall, 'offering' | 'price'> {
  readonly request: Pick<PricedCall['request'], 'url'>
}

interface OfferedCall extends Pick<PricedCall, 'offering' | 'price'> {
  readonly request: BoundRequest
}

const resourceOf = ({ endpoint }: Sale['offering'], request: Sale['request']) => ({
  url: request.url(),
  description: endpoint.summary,
  mimeType: 'application/json',
})
