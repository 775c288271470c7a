import { FAULTS, Fault } from '../../../core/errors.ts'
import { json, type Micros } from '../../../core/money.ts'
import { type Claim, REFUND_HOURS } from '../../../core/payments/receiving/claim.ts'
import type { Settlement } from '../../../core/payments/receiving/offers.ts'
import { paymentResponseOf } from '../../../core/payments/receiving/payment-response.ts'
import { describeRefusal } from '../../../core/payments/receiving/refusal-reasons.ts'
import {
  type AcceptedPayment,
  settlePayment,
} from '../../../core/payments/receiving/settle-payment.ts'
import type { CallDeps } from '../call-deps.ts'
import type { CallOutcome, Charge, Funds, PricedCall } from '../call-types.ts'
import { paymentSecondsOf, x402Minimum } from '../payment-required.ts'

const ZERO = 0n as Micros
const source = 'x402'
const payerOf = ({ key }: Claim): string => `x402:${key.payer}`

/** A verified payment that is settled on delivery. Until then, releasing it costs nothing. */
export class PostpaidFunds implements Funds {
  readonly source = source
  /** A stream with a metered price is paid at its end. */
  readonly storesResponse = true
  readonly payer: string
  readonly #deps: CallDeps
  readonly #accepted: AcceptedPayment
  readonly #priced: PricedCall
  readonly #offerUpfront: () => Promise<Fault>
  /** Set if the response is not stored. */
  #work: PaidWork | undefined
  #isOpen = true

  /** @param offerUpfront builds the 402 for a payment that fails after the work */
  constructor(
    deps: CallDeps,
    accepted: AcceptedPayment,
    priced: PricedCall,
    offerUpfront: () => Promise<Fault>,
  ) {
    this.payer = payerOf(accepted.claim)
    this.#deps = deps
    this.#accepted = accepted
    this.#offerUpfront = offerUpfront
    this.#priced = priced
  }

  /** Stores the response before the money moves, so that the payer can obtain it. */
  async settle(outcome: CallOutcome): Promise<Charge> {
    if (outcome.kind !== 'delivered' || outcome.charged === 0n) {
      return { source, amount: ZERO, balance: undefined }
    }
    const amount = this.#amountOf(outcome.charged)
    const claim = { ...this.#accepted.claim, amount }
    const isDelivered = this.#priced.offering.endpoint.streams === true
    const work = { call: this.#priced.call, ...outcome }
    const response = this.#deps.responses.seal(claim.id, work)
    const isServed = response !== undefined || isDelivered
    if (!isServed) await this.#keepPayment()
    this.#isOpen = false
    const accepted = { ...this.#accepted, claim, response, isDelivered, isServed }
    const settled = await settlePayment(this.#deps, accepted)
    if (settled.outcome === 'failed') {
      const fault = notSettled(settled, this.#priced)
      const { headers } = await this.#offerUpfront()
      throw fault.with({ headers: { ...headers, ...fault.headers } })
    }
    if (settled.outcome !== 'settled') throw notSettled(settled, this.#priced)
    const paid = { ...claim, transaction: settled.tx ?? null }
    const confirmation = await confirmationOf(this.#deps, paid, this.#priced, settled.extensions)
    const headers = { 'PAYMENT-RESPONSE': confirmation }
    return { source, amount, balance: undefined, entry: claim.id, headers }
  }

  /** Keeps the payment from repetitions until the response, which is not stored, is delivered. */
  async #keepPayment(): Promise<void> {
    const { call, offering } = this.#priced
    const { claims } = this.#deps
    const { claim } = this.#accepted
    const isOurs = await claims.work.keep(claim, call, paymentSecondsOf(offering))
    if (!isOurs) throw new Fault('payment_in_progress')
    this.#work = new PaidWork(claims, claim.key, call)
  }

  async markDelivered(): Promise<boolean> {
    return this.#work === undefined || (await this.#work.finish())
  }

  /**
   * Amount to take: an exact payment was authorized for its price; of a metered one, the usage is
   * taken, and at least the gas of its settlement, within the authorized maximum.
   */
  #amountOf(usage: Micros): Micros {
    const { price } = this.#priced
    if (this.#accepted.claim.authorized === null) return price
    const minimum = x402Minimum(this.#deps, this.#priced)
    const least = minimum < price ? minimum : price
    return usage < least ? least : usage
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOpen) {
      this.#isOpen = false
      await this.#deps.claims.release(this.#accepted.claim)
    }
    await this.#work?.[Symbol.asyncDispose]()
  }
}

/** Work that a payment pays for, until its response is stored or delivered. */
class PaidWork implements AsyncDisposable {
  readonly #claims: CallDeps['claims']
  readonly #key: Claim['key']
  readonly #call: string
  #isOpen = true
  #isWithheld = false

  constructor(claims: CallDeps['claims'], key: Claim['key'], call: string) {
    this.#claims = claims
    this.#key = key
    this.#call = call
  }

  /** @returns false if the payment pays for the work of another process now */
  async finish(): Promise<boolean> {
    if (!this.#isOpen) return true
    const isOurs = await this.#claims.work.finish(this.#key, this.#call)
    this.#isOpen = false
    return isOurs
  }

  /** Lets the payment pay for no other attempt. */
  withhold(): void {
    this.#isWithheld = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { work } = this.#claims
    if (this.#isWithheld) await work.withhold(this.#key, this.#call)
    else await work.abandon(this.#key, this.#call)
  }
}

/** A payment received before the work. If the work fails, it pays for another attempt. */
export class PrepaidFunds implements Funds {
  readonly source = source
  readonly storesResponse = true
  readonly payer: string
  readonly #deps: Pick<CallDeps, 'claims' | 'responses'>
  readonly #claim: Claim
  readonly #call: string
  readonly #paymentResponse: string
  readonly #work: PaidWork

  constructor(
    deps: Pick<CallDeps, 'claims' | 'responses'>,
    claim: Claim,
    call: string,
    paymentResponse: string,
  ) {
    this.payer = payerOf(claim)
    this.#deps = deps
    this.#claim = claim
    this.#call = call
    this.#paymentResponse = paymentResponse
    this.#work = new PaidWork(deps.claims, claim.key, call)
  }

  get paymentHeaders() {
    return { 'PAYMENT-RESPONSE': this.#paymentResponse }
  }

  async settle(outcome: CallOutcome): Promise<Charge> {
    const headers = this.paymentHeaders
    if (outcome.kind !== 'delivered' || outcome.charged === 0n) {
      return { source, amount: ZERO, balance: undefined, headers } // it pays for the next attempt
    }
    const { id: entry, amount } = this.#claim
    const response = { call: this.#call, ...outcome }
    const isStored = await this.#deps.responses.storePaid(entry, response)
    const isOurs = isStored === undefined || (isStored && (await this.#work.finish()))
    if (!isOurs) throw new Fault('payment_in_progress')
    return { source, amount: amount as Micros, balance: undefined, entry, headers }
  }

  markDelivered(): Promise<boolean> {
    return this.#work.finish()
  }

  withhold(): void {
    this.#work.withhold()
  }

  explainFailure(fault: Fault): Fault {
    const { transaction, amount, claimedAt } = this.#claim
    const refundAt = new Date(claimedAt.getTime() + REFUND_HOURS * 3_600_000).toISOString()
    const isRepeatable = fault.code !== 'response_needs_http'
    const next = isRepeatable
      ? 'Send the same request with the same payment again: it is paid. If no attempt succeeds ' +
        `before ${refundAt}, the amount becomes credits of the key of your wallet.`
      : `The payment pays for nothing else: after ${refundAt}, it becomes credits of the key of ` +
        'your wallet.'
    const payment = {
      state: isRepeatable ? 'kept' : 'withheld',
      transaction,
      amount_microdollars: json(amount),
      refund_at: refundAt,
      next,
    }
    const isUsual = isRepeatable && fault.message === FAULTS[fault.code][2]
    const reason = fault.message.replace('You were not charged. ', '')
    const detail = isUsual ? next : `${reason} ${next}`
    return new Fault(fault.code, detail, {
      extras: { ...fault.extras, payment },
      headers: { ...fault.headers, ...this.paymentHeaders },
      cause: fault,
      money: isRepeatable ? 'kept' : 'withheld',
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work[Symbol.asyncDispose]()
  }
}

/**
 * PAYMENT-RESPONSE of a claim.
 * @param extensions those of the facilitator, if it was settled now
 * @throws Fault `payment_pending` without transaction
 */
export async function confirmationOf(
  deps: Pick<CallDeps, 'offers'>,
  claim: Claim,
  { request }: PricedCall,
  extensions?: Settlement['extensions'],
): Promise<string> {
  if (claim.transaction === null) throw new Fault('payment_pending')
  return await paymentResponseOf(deps, claim, claim.transaction, request.url(), extensions)
}

/** 402 for a payment that failed, or 202 for one whose outcome is not known. */
export function notSettled(
  { outcome, reason, tx, responseHeader }: Settlement,
  { price }: PricedCall,
): Fault {
  const headers = { 'PAYMENT-RESPONSE': responseHeader }
  const extras = { reason, price_microdollars: json(price), transaction: tx }
  if (outcome === 'pending') return new Fault('payment_pending', undefined, { extras, headers })
  const message = describeRefusal(reason ?? '') ?? 'The payment was not settled.'
  return new Fault('payment_invalid', message, { extras, headers })
}
