import { createHash } from 'node:crypto'
import { Fault } from '../../../core/errors.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { json, type Micros } from '../../../core/money.ts'
import { bookPayment } from '../../../core/payments/booking.ts'
import type { Claim, Claims } from '../../../core/payments/claims.ts'
import {
  BadPayment,
  type Offers,
  type Payment,
  type PaymentKey,
  paymentKey,
  validBeforeOf,
} from '../../../core/payments/offers.ts'
import type { CallRequest, Funds, Offer, Outcome, Receipt } from '../call.ts'
import { deadlineOf } from '../provided.ts'

/** How long a payment must stay valid beyond the deadline of the call it pays, in seconds. */
const SETTLE_MARGIN_SECONDS = 60

type Requirement = ReturnType<Offers['requirements']>

/** What an offer asks for: the price, to whom, for which resource. */
export const termsOf = ({ offering, price }: Offer, url: string) => ({
  amount: price,
  maxTimeoutSeconds: deadlineOf(offering.endpoint) + SETTLE_MARGIN_SECONDS,
  resource: { url, description: offering.endpoint.summary, mimeType: 'application/json' },
})

/** The price by an x402 payment that came with the request: verified now, settled on delivery. */
export const createX402 =
  (ledger: Ledger, claims: Claims, offers: Offers) =>
  async (offer: Offer, request: CallRequest): Promise<Funds | undefined> => {
    if (request.payment === undefined) return undefined
    const terms = termsOf(offer, request.url)
    const refuse = (code: 'payment_invalid' | 'payment_replayed', reason: string): Fault => {
      const { header } = offers.offer({ ...terms, error: reason })
      const extras = { reason, price_microdollars: json(offer.price) }
      return new Fault(code, undefined, { extras, headers: { 'PAYMENT-REQUIRED': header } })
    }
    const payment = read(offers, request.payment)
    if (payment instanceof BadPayment) throw refuse('payment_invalid', payment.reason)
    const requirement = offers.match(offers.requirements(terms), payment)
    if (!requirement) throw refuse('payment_invalid', 'no_matching_payment_requirements')
    const key = paymentKey(payment)
    const { mine, claim } = await claims.claim(key, {
      purpose: 'call',
      requestHash: hashOf(offer),
      amount: offer.price,
      payee: offer.offering.payee.code,
      commissionBps: offer.offering.commissionBps,
      validBefore: validBeforeOf(payment),
    })
    if (!mine) throw refuse('payment_replayed', 'payment_already_claimed')
    const verified = await offers
      .verify(payment, requirement, deadlineOf(offer.offering.endpoint))
      .catch(async (error: unknown) => {
        await claims.release(key)
        throw new Fault('facilitator_unavailable', undefined, { cause: error })
      })
    if (!verified.valid) {
      await claims.release(key)
      throw refuse('payment_invalid', verified.reason ?? 'not_valid')
    }
    return new X402Funds({ ledger, claims, offers }, { offer, claim, key, payment, requirement })
  }

function read(offers: Offers, header: string): Payment | BadPayment {
  try {
    return offers.read(header)
  } catch (error) {
    if (error instanceof BadPayment) return error
    throw error
  }
}

const hashOf = ({ offering, input }: Offer): Buffer =>
  createHash('sha256')
    .update(`${offering.endpointId}\n${JSON.stringify(input) ?? ''}`)
    .digest()

interface Ports {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly offers: Offers
}

interface Sale {
  readonly offer: Offer
  readonly claim: Claim
  readonly key: PaymentKey
  readonly payment: Payment
  readonly requirement: Requirement
}

/** A verified payment. Nothing has moved until it is settled, so giving it up costs nothing. */
class X402Funds implements Funds {
  readonly source = 'x402'
  readonly #ports: Ports
  readonly #sale: Sale
  #open = true

  constructor(ports: Ports, sale: Sale) {
    this.#ports = ports
    this.#sale = sale
  }

  async settle(outcome: Outcome): Promise<Receipt> {
    if (outcome.kind !== 'delivered') {
      return { source: this.source, charged: 0n as Micros, balance: undefined }
    }
    const { offers, claims } = this.#ports
    const { payment, requirement, key, claim, offer } = this.#sale
    this.#open = false
    const settled = await offers.settle(payment, requirement)
    const headers = { 'PAYMENT-RESPONSE': settled.responseHeader }
    if (settled.outcome === 'failed') {
      await claims.conclude(key, 'failed', settled.tx)
      const extras = { reason: settled.reason, price_microdollars: json(offer.price) }
      throw new Fault('payment_invalid', 'The payment was not settled.', { extras, headers })
    }
    if (settled.outcome === 'pending') {
      await claims.conclude(key, 'pending', settled.tx)
      throw new Fault('payment_pending', undefined, {
        extras: { transaction: settled.tx },
        headers,
      })
    }
    await bookPayment(this.#ports.ledger, claim, settled.tx)
    await claims.conclude(key, 'settled', settled.tx)
    return { source: this.source, charged: offer.price, balance: undefined, headers }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#ports.claims.release(this.#sale.key)
  }
}
