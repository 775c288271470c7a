import { createHash } from 'node:crypto'
import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { Fault } from '../../../core/errors.ts'
import { json } from '../../../core/money.ts'
import { acceptPayment } from '../../../core/payments/receiving/accept.ts'
import type { Claim } from '../../../core/payments/receiving/claim.ts'
import { findSettled } from '../../../core/payments/receiving/find-settled.ts'
import { BadPayment, paymentKey, type Settlement } from '../../../core/payments/receiving/offers.ts'
import { paymentIdentifierOf } from '../../../core/payments/receiving/payment-identifier.ts'
import {
  CREDITS_REQUIRED,
  describeRefusal,
} from '../../../core/payments/receiving/refusal-reasons.ts'
import {
  type AcceptedPayment,
  endUnsettled,
  PaymentRefused,
  settlePayment,
} from '../../../core/payments/receiving/settle-payment.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { toFault } from '../../http/problem.ts'
import type { CallDeps } from '../call-deps.ts'
import type { Attempt, CallRequest, FundingForecast, Funds, PricedCall } from '../call-types.ts'
import { offerHeaders, paymentSecondsOf, saleTermsOf, waysToPay } from '../payment-required.ts'
import { paymentAdvice } from '../ways-to-pay.ts'
import { confirmationOf, notSettled, PostpaidFunds, PrepaidFunds } from './x402-funds.ts'

/**
 * Accepts the request's x402 payment. It is verified now and settled on delivery, or settled now
 * if an earlier payment of its payer failed after the work. Returns undefined without a payment.
 */
export async function reserveX402(deps: CallDeps, priced: PricedCall): Promise<Funds | undefined> {
  const { payment } = priced.request
  if (payment === undefined) return undefined
  const accepted = await accept(deps, priced, payment)
  if ('repeated' in accepted) return await resumeConcurrent(deps, accepted.repeated, priced)
  return await fundsOf(deps, accepted, priced)
}

/** @param found claim of the payment, if it was presented before */
async function accept(deps: CallDeps, priced: PricedCall, payment: string, found?: Claim) {
  const { offering, call, requestHash, request } = priced
  const terms = saleTermsOf(deps, priced)
  const purchase = {
    purpose: 'call',
    call,
    requestHash,
    client: clientOf(request),
    identifier: anonymousName(priced),
    payee: offering.payee.code,
    commissionBps: offering.commissionBps,
  } as const
  const needSeconds = deadlineOf(offering.endpoint)
  const accepting = acceptPayment(deps, payment, terms, purchase, needSeconds, found)
  return await accepting.catch(async (error: unknown) => {
    if (!(error instanceof PaymentRefused)) throw error
    const upfront = terms.upfront || error.upfront
    throw await refusal(deps, priced, 'payment_invalid', error.reason, upfront)
  })
}

async function fundsOf(
  deps: CallDeps,
  accepted: AcceptedPayment,
  priced: PricedCall,
): Promise<Funds> {
  const { claim } = accepted
  if (claim.upfront) return await settleUpfront(deps, accepted, priced)
  // Its settlement began after `findPresentedClaim`: the next repetition continues it.
  if (claim.mayBeSent)
    throw await endUnsettled(deps, { claim, error: new Fault('payment_in_progress') })
  return new PostpaidFunds(deps, accepted, priced, () =>
    refusal(deps, priced, 'payment_invalid', 'upfront_required', true),
  )
}

/** Dry run of `reserveX402`: the payment is neither verified nor claimed. */
export const dryRunX402 = async (
  _: CallDeps,
  { price, request }: PricedCall,
): Promise<FundingForecast | undefined> =>
  request.payment === undefined ? undefined : { source: 'x402', charged: price, freeCallsLeft: 0n }

/**
 * Claim of the request's payment, if the same payment was presented before, for the same request
 * by the same client. Returns undefined for a new, released or unreadable one.
 * @throws Fault `payment_replayed` if it was presented for another request or by another client,
 *   `payment_identifier_reused` if its identifier belongs to another payment
 */
export async function findPresentedClaim(
  deps: CallDeps,
  priced: PricedCall,
  payment: string,
): Promise<Claim | undefined> {
  // Also below the minimum price, which may have risen since the payment.
  if (priced.price === 0n || deps.creditsOnly.has(priced.request.slug)) return undefined
  try {
    const read = deps.offers.read(payment)
    const identifier = paymentIdentifierOf(read) ?? anonymousName(priced)
    const claim = await deps.claims.find(paymentKey(read), identifier)
    if (claim === undefined || claim.state === 'released') return undefined
    await assertSamePurchase(deps, claim, priced)
    return claim
  } catch (error) {
    if (error instanceof BadPayment) return undefined
    throw error
  }
}

async function assertSamePurchase(
  deps: CallDeps,
  { requestHash, client, state, transaction, deposited }: Claim,
  priced: PricedCall,
): Promise<void> {
  if (deposited) throw await refusal(deps, priced, 'payment_replayed', 'payment_deposited')
  if (!requestHash.equals(priced.requestHash) || state === 'failed') {
    throw await refusal(deps, priced, 'payment_replayed', 'payment_already_claimed')
  }
  // Anyone can read a payment on the chain; only the client that sent it receives the response.
  if (!client?.equals(clientOf(priced.request))) {
    throw new Fault(
      'payment_replayed',
      'Its response is stored for the client that sent it first.',
      {
        extras: { reason: 'other_client', transaction },
      },
    )
  }
}

/**
 * Continues with a payment that was presented before: returns its stored response, or the payment
 * as funds of another attempt if its work failed or its process is gone. Its payer is never asked
 * for another payment.
 * @throws Fault `payment_in_progress`, `payment_pending` or `answer_expired`
 */
export async function resumeClaim(
  deps: CallDeps,
  presented: Claim,
  priced: PricedCall,
): Promise<Pick<Attempt, 'replayable' | 'prepaid'>> {
  const { claim, isUnsent } = await findSettled(deps, presented)
  const { state, transaction } = claim
  const extras = { reason: 'payment_already_claimed', transaction }
  if (state === 'claimed' || isUnsent) {
    // Takes the claim over if its process is gone, or ended its settlement before it was sent.
    const accepted = await accept(deps, priced, priced.request.payment!, claim)
    if ('repeated' in accepted) {
      return { prepaid: await resumeConcurrent(deps, accepted.repeated, priced) }
    }
    return accepted.claim.mayBeSent
      ? await continueSettlement(deps, accepted, priced)
      : { prepaid: await fundsOf(deps, accepted, priced) }
  }
  if (state === 'pending') throw new Fault('payment_pending', undefined, { extras })
  const response = await deps.responses.find(claim.id)
  if (response) {
    const headers = {
      'PAYMENT-RESPONSE': await confirmationOf(deps, claim, priced),
      'Idempotency-Replayed': 'true',
    }
    return { replayable: { response, source: 'x402', headers } }
  }
  if (claim.deliveredAt) throw new Fault('answer_expired', undefined, { extras: { transaction } })
  return { prepaid: await startWork(deps, priced, claim) }
}

/**
 * Settles a payment whose settlement had begun: for the same amount, because the first may have
 * been sent, and without doing the work again if its response is stored or delivered.
 */
async function continueSettlement(
  deps: CallDeps,
  accepted: AcceptedPayment,
  priced: PricedCall,
): ReturnType<typeof resumeClaim> {
  const { deliveredAt, id } = accepted.claim
  if (!deliveredAt && !(await deps.responses.find(id))) {
    return { prepaid: await settleUpfront(deps, accepted, priced) }
  }
  const settled = await settlePayment(deps, { ...accepted, isServed: true })
  if (settled.outcome !== 'settled') throw notSettled(settled, priced)
  const transaction = settled.tx ?? null
  return await resumeClaim(deps, { ...accepted.claim, state: 'settled', transaction }, priced)
}

/**
 * Starts the work that a payment has paid for.
 * @throws Fault `payment_in_progress` if another request has started it, `response_needs_http` if
 *   its payer cannot get the response
 */
async function startWork(
  deps: CallDeps,
  priced: PricedCall,
  claim: Claim,
  extensions?: Settlement['extensions'],
): Promise<Funds> {
  const { key, transaction } = claim
  const confirmation = await confirmationOf(deps, claim, priced, extensions)
  const funds = new PrepaidFunds(deps, claim, priced.call, confirmation)
  const seconds = paymentSecondsOf(priced.offering)
  const isOurs = await deps.claims.work.start(key, priced.call, seconds).catch(async (error) => {
    await funds[Symbol.asyncDispose]() // it may have been started
    throw funds.explainFailure(toFault(error))
  })
  if (isOurs) return funds
  if (await deps.claims.work.isWithheld(key))
    throw funds.explainFailure(new Fault('response_needs_http'))
  const extras = { reason: 'payment_already_claimed', transaction }
  throw new Fault('payment_in_progress', undefined, { extras })
}

/** Idempotency-Key of an anonymous caller: it names the payment, because no API key owns it. */
const anonymousName = ({ caller, request }: PricedCall): string | undefined =>
  caller.keyId === null ? request.idempotencyKey : undefined

/** Continues with a payment that another request claimed after `findPresentedClaim`. */
async function resumeConcurrent(deps: CallDeps, claim: Claim, priced: PricedCall): Promise<Funds> {
  await assertSamePurchase(deps, claim, priced)
  const { prepaid } = claim.state === 'claimed' ? {} : await resumeClaim(deps, claim, priced)
  if (prepaid) return prepaid
  throw new Fault('payment_in_progress', undefined, { extras: { transaction: claim.transaction } })
}

/** Settles the payment before the work. It can be presented again until the work succeeds. */
async function settleUpfront(
  deps: CallDeps,
  accepted: AcceptedPayment,
  priced: PricedCall,
): Promise<Funds> {
  const settled = await settlePayment(deps, accepted)
  if (settled.outcome !== 'settled') throw notSettled(settled, priced)
  const claim = { ...accepted.claim, transaction: settled.tx ?? null }
  return startWork(deps, priced, claim, settled.extensions)
}

/** A 402 that refuses the payment and offers the terms of the next one, if x402 can pay it. */
async function refusal(
  deps: CallDeps,
  priced: PricedCall,
  code: 'payment_invalid' | 'payment_replayed',
  reason: string,
  upfront?: boolean,
): Promise<Fault> {
  const ways = waysToPay(deps, priced)
  const isX402 = ways.isX402 && reason !== CREDITS_REQUIRED
  const { headers, body } = await offerHeaders(deps, priced, { ...ways, isX402 }, reason, upfront)
  const extras = { ...body, reason, price_microdollars: json(priced.price) }
  const advice = isX402 ? undefined : paymentAdvice({ ...ways, isX402 })
  return new Fault(code, describeRefusal(reason), { extras, headers, advice })
}

/** sha256 of the caller's key, or else of its network. */
const clientOf = ({ authorization, ip }: CallRequest): Buffer =>
  createHash('sha256')
    .update(authorization ?? networkPrefix(ip()))
    .digest()
