import { encodePaymentResponseHeader } from '@x402/core/http'
import { Fault } from '../../../core/errors.ts'
import { json, type Micros } from '../../../core/money.ts'
import {
  type AcceptDeps,
  type AcceptedPayment,
  settlePayment,
} from '../../../core/payments/receiving/accept.ts'
import type { Claim } from '../../../core/payments/receiving/claim.ts'
import type { Settlement } from '../../../core/payments/receiving/offers.ts'
import { describeRefusal } from '../../../core/payments/receiving/refusal-reasons.ts'
import type { StoredResponse, StoredResponses } from '../../../core/usage/stored-responses.ts'
import type { CallOutcome, Charge, Funds, PricedCall } from '../call.ts'

export interface X402Ports extends AcceptDeps {
  readonly answers: StoredResponses
}

const FREE = 0n as Micros
const source = 'x402'
const payerOf = ({ key }: Claim): string => `x402:${key.payer}`

/** A verified payment. Nothing has moved until it is settled, so giving it up costs nothing. */
export class OnDelivery implements Funds {
  readonly source = source
  readonly payer: string
  readonly #ports: X402Ports
  readonly #accepted: AcceptedPayment
  readonly #offer: PricedCall
  readonly #offerUpfront: () => Fault
  #open = true

  /** @param offerUpfront the 402 that a payer sees whose payment failed after the work */
  constructor(
    ports: X402Ports,
    accepted: AcceptedPayment,
    offer: PricedCall,
    offerUpfront: () => Fault,
  ) {
    this.payer = payerOf(accepted.claim)
    this.#ports = ports
    this.#accepted = accepted
    this.#offerUpfront = offerUpfront
    this.#offer = offer
  }

  /** The answer is kept before the money moves: whoever pays can have it, whatever happens. */
  async settle(outcome: CallOutcome): Promise<Charge> {
    if (outcome.kind !== 'delivered' || outcome.charged === 0n) {
      return { source, charged: FREE, balance: undefined }
    }
    this.#open = false
    const { claim } = this.#accepted
    await this.#ports.answers.store(claim.id, { call: this.#offer.call, ...outcome })
    const settled = await settlePayment(this.#ports, this.#accepted)
    if (settled.outcome === 'failed') throw merged(this.#offerUpfront(), settled, this.#offer)
    if (settled.outcome !== 'settled') throw notSettled(settled, this.#offer)
    const headers = { 'PAYMENT-RESPONSE': settled.responseHeader }
    const charged = this.#offer.price
    return { source, charged, balance: undefined, entry: claim.id, headers }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#ports.claims.release(this.#accepted.claim.key)
  }
}

/** A payment that has come already. Work that fails may be tried again with the same one. */
export class Prepaid implements Funds {
  readonly source = source
  readonly keeps = true
  readonly payer: string
  readonly #ports: X402Ports
  readonly #claim: Claim
  readonly #call: string
  readonly #response: string
  #open = true

  constructor(ports: X402Ports, claim: Claim, call: string, response = responseOf(claim)) {
    this.payer = payerOf(claim)
    this.#ports = ports
    this.#claim = claim
    this.#call = call
    this.#response = response
  }

  get paid() {
    return { 'PAYMENT-RESPONSE': this.#response }
  }

  async settle(outcome: CallOutcome): Promise<Charge> {
    const headers = this.paid
    if (outcome.kind !== 'delivered' || outcome.charged === 0n) {
      return { source, charged: FREE, balance: undefined, headers } // it pays the next one
    }
    await this.#ports.answers.store(this.#claim.id, { call: this.#call, ...outcome })
    await this.#ports.claims.finishWork(this.#claim.key, true)
    this.#open = false
    const { id: entry, amount } = this.#claim
    return { source, charged: amount as Micros, balance: undefined, entry, headers }
  }

  told(fault: Fault): Fault {
    const { transaction, amount } = this.#claim
    const next = 'Send the same request with the same payment again: it is paid.'
    const payment = { state: 'kept', transaction, amount_microdollars: json(amount), next }
    return new Fault(fault.code, `${fault.message} ${next}`, {
      extras: { ...fault.extras, payment },
      headers: { ...fault.headers, ...this.paid },
      cause: fault,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#ports.claims.finishWork(this.#claim.key, false)
  }
}

/** A payment that was answered before: the answer once more, at no cost. */
export class Replayed implements Funds {
  readonly source = source
  readonly payer: string
  readonly kept: StoredResponse
  readonly #claim: Claim

  constructor(claim: Claim, kept: StoredResponse) {
    this.payer = payerOf(claim)
    this.kept = kept
    this.#claim = claim
  }

  async settle(): Promise<Charge> {
    const headers = {
      'PAYMENT-RESPONSE': responseOf(this.#claim),
      'Idempotency-Replayed': 'true',
    }
    return { source, charged: FREE, balance: undefined, headers }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** The receipt of a payment that was settled before. */
function responseOf({ key, transaction, amount }: Claim): string {
  if (transaction === null) throw new Fault('payment_pending')
  const network = key.network as `${string}:${string}`
  const { payer } = key
  return encodePaymentResponseHeader({
    success: true,
    transaction,
    network,
    payer,
    amount: String(amount),
  })
}

/** What to tell of a payment that did not come, or may still. */
export function notSettled(
  { outcome, reason, tx, responseHeader }: Settlement,
  { price }: PricedCall,
): Fault {
  const headers = { 'PAYMENT-RESPONSE': responseHeader }
  const extras = { reason, price_microdollars: json(price), transaction: tx }
  if (outcome === 'pending') return new Fault('payment_pending', undefined, { extras, headers })
  const why = describeRefusal(reason ?? '') ?? 'The payment was not settled.'
  return new Fault('payment_invalid', why, { extras, headers })
}

/** The 402 of a settlement that failed, with the offer by which the next payment may come. */
function merged(offered: Fault, settled: Settlement, offer: PricedCall): Fault {
  const { code, message, extras, headers } = notSettled(settled, offer)
  return new Fault(code, message, { extras, headers: { ...offered.headers, ...headers } })
}
