import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { json, type Micros } from '../../core/money.ts'
import type { Offers } from '../../core/payments/receiving/offers.ts'
import type { AccountStatus } from '../../core/usage/account-status.ts'
import { assertKeyAllows } from '../../core/usage/allowances.ts'
import type { AnonymousCaller, CallRequest, FundingSource, Funds, PricedCall } from './call.ts'
import { termsOf } from './funds/x402.ts'

/** One way to pay for a call. */
export interface Source<Payer> {
  /** Takes hold of the price; undefined where it cannot pay it. */
  take(payer: Payer, offer: PricedCall): Promise<Funds | undefined>
  /** What `take` would come to. Nothing moves. */
  foresee(payer: Payer, offer: PricedCall): Promise<Foreseen | undefined>
}

/** Who would pay, and what would be left of the free calls. */
export interface Foreseen {
  readonly source: FundingSource
  /** Microdollars of credits, or of a payment. */
  readonly charged: Micros
  readonly freeCalls: bigint
}

export interface Sources {
  readonly freeCalls: Source<Caller>
  readonly credits: Source<Caller>
  /** The payment that came with the request, if one did. */
  readonly x402: Source<CallRequest> & {
    /** A payment that came before: it has paid, whatever the caller has besides. */
    readonly repeated: Source<CallRequest>['take']
    /** A payment that came for an earlier attempt at the same request, whose work failed. */
    readonly owed: (offer: PricedCall) => Promise<Funds | undefined>
  }
}

/** Where the hub tells an unpaid caller to go. */
export interface Ways {
  readonly offers: Offers
  readonly accountStatus: AccountStatus
  /** Services that only credits can pay. */
  readonly creditsOnly: ReadonlySet<string>
  readonly minTopUp: Micros
  /** Cheaper calls only credits can pay. */
  readonly minX402: Micros
}

/**
 * Finds money for a call: free calls, then credits, then x402, else a 402 that says how to pay
 * (specification §5.3). Those who could not pay see the 402 before any complaint about their
 * input, so that indexers which probe with empty bodies find the offer; those who can, learn what
 * is wrong before anything is held.
 */
export const createFund =
  (sources: Sources, ways: Ways) =>
  async (
    caller: Caller | AnonymousCaller,
    offer: PricedCall,
    request: CallRequest,
  ): Promise<Funds> => {
    await admit(caller, offer, request, ways)
    if (offer.price === 0n) return GIFT
    const byX402 = caller.keyId !== null && takesX402(offer, request, ways)
    const funds =
      (byX402 ? await sources.x402.repeated(request, offer) : undefined) ??
      (await inOrder(sources, ways, [caller, offer, request], (source, payer) =>
        source.take(payer, offer),
      ))
    return funds ?? raise(await paymentRequired(caller, offer, request, ways))
  }

/** What forbids a call before anybody is asked to pay for it, thrown. */
export async function admit(
  caller: Caller | AnonymousCaller,
  offer: PricedCall,
  request: CallRequest,
  ways: Ways,
): Promise<void> {
  if (offer.complaint) throw await refuse(offer.complaint, caller, offer, request, ways)
  if (offer.lapsed) throw offer.lapsed
  if (caller.keyId !== null) assertKeyAllows(caller.limits, request.slug, offer.price)
}

/** Asks those who may pay, in the order of specification §5.3, until one does. */
export async function inOrder<T>(
  { freeCalls, credits, x402 }: Sources,
  ways: Ways,
  [caller, offer, request]: [
    caller: Caller | AnonymousCaller,
    offer: PricedCall,
    request: CallRequest,
  ],
  ask: <Payer>(source: Source<Payer>, payer: Payer) => Promise<T | undefined>,
): Promise<T | undefined> {
  const own = caller.keyId === null ? undefined : caller
  return (
    (own && (await ask(freeCalls, own))) ??
    (own && (await ask(credits, own))) ??
    (takesX402(offer, request, ways) ? ask(x402, request) : undefined)
  )
}

/** What is wrong with the input, told to those who could pay; to others the 402. */
async function refuse(
  complaint: Fault,
  caller: Caller | AnonymousCaller,
  offer: PricedCall,
  request: CallRequest,
  ways: Ways,
): Promise<Fault> {
  if (offer.price === 0n || request.payment !== undefined) return complaint
  if (caller.keyId === null) return paymentRequired(caller, offer, request, ways)
  const free = (offer.offering.service.freeCallsPerMonth ?? 0) > 0
  if (free || (await ways.accountStatus.balance(caller.credits)) > 0n) return complaint
  return paymentRequired(caller, offer, request, ways)
}

/** The 402, for three readers at once: x402 clients (header or members), programs, people. */
export async function paymentRequired(
  caller: Caller | AnonymousCaller,
  offer: PricedCall,
  request: CallRequest,
  ways: Ways,
): Promise<Fault> {
  const { offers, accountStatus, minTopUp } = ways
  const keyed = caller.keyId !== null
  const available = keyed ? await accountStatus.balance(caller.credits) : 0n
  const byX402 = takesX402(offer, request, ways)
  const terms = { ...termsOf(offer, request.url()), error: 'payment_required' }
  const offered = byX402 ? offers.offer(terms) : undefined
  const headers: Record<string, string> = offered ? { 'PAYMENT-REQUIRED': offered.header } : {}
  const extras = {
    ...offered?.required,
    price_microdollars: json(offer.price),
    ...(keyed ? { available_microdollars: json(available) } : {}),
    next_steps: [
      ...(byX402 ? [{ action: 'pay_x402', header: 'PAYMENT-SIGNATURE' }] : []),
      {
        action: 'topup',
        method: 'POST',
        href: '/v1/credits/purchase',
        min_microdollars: json(minTopUp),
      },
      ...(keyed ? [] : [{ action: 'register', method: 'GET', href: '/v1/register/challenge' }]),
    ],
  }
  const code = keyed ? 'insufficient_credits' : 'payment_required'
  const has = keyed ? ` ${available} are available.` : ''
  const detail = `This call costs ${offer.price} microdollars.${has}`
  return new Fault(code, detail, { extras, headers })
}

/** Whether x402 may pay on the spot for it. */
const takesX402 = (
  { price }: PricedCall,
  { slug }: CallRequest,
  { creditsOnly, minX402 }: Ways,
): boolean => !creditsOnly.has(slug) && price >= minX402

const raise = (fault: Fault): never => {
  throw fault
}

/** What pays for an endpoint that costs nothing. */
const GIFT: Funds = {
  source: 'none',
  payer: 'nobody',
  settle: async () => ({ source: 'none', charged: 0n as Micros, balance: undefined }),
  [Symbol.asyncDispose]: async () => {},
}
