import { createHash } from 'node:crypto'
import { Fault } from '../../../core/errors.ts'
import { json, type Micros } from '../../../core/money.ts'
import {
  type Accepted,
  type AcceptPorts,
  acceptPayment,
  PaymentRefused,
  settlePayment,
} from '../../../core/payments/accept.ts'
import type { CallRequest, Funds, Offer, Outcome, Receipt } from '../call.ts'
import { deadlineOf } from '../provided.ts'

/** How long a payment must stay valid beyond the deadline of the call it pays, in seconds. */
const SETTLE_MARGIN_SECONDS = 60

/** What an offer asks for: the price, to whom, for which resource. */
export const termsOf = ({ offering, price }: Offer, url: string) => ({
  amount: price,
  maxTimeoutSeconds: deadlineOf(offering.endpoint) + SETTLE_MARGIN_SECONDS,
  resource: { url, description: offering.endpoint.summary, mimeType: 'application/json' },
})

/** The price by an x402 payment that came with the request: verified now, settled on delivery. */
export const createX402 =
  (ports: AcceptPorts) =>
  async (offer: Offer, request: CallRequest): Promise<Funds | undefined> => {
    if (request.payment === undefined) return undefined
    const { endpoint, payee, commissionBps } = offer.offering
    const terms = termsOf(offer, request.url)
    const purchase = {
      purpose: 'call',
      requestHash: hashOf(offer),
      payee: payee.code,
      commissionBps,
    } as const
    const refuse = (code: 'payment_invalid' | 'payment_replayed', reason: string): Fault => {
      const { header } = ports.offers.offer({ ...terms, error: reason })
      const extras = { reason, price_microdollars: json(offer.price) }
      return new Fault(code, undefined, { extras, headers: { 'PAYMENT-REQUIRED': header } })
    }
    try {
      const needSeconds = deadlineOf(endpoint)
      const accepted = await acceptPayment(ports, request.payment, terms, purchase, needSeconds)
      if (accepted.mine) return new X402Funds(ports, accepted, offer)
      if (isSame(accepted, purchase)) throw repeated(accepted)
    } catch (error) {
      throw error instanceof PaymentRefused ? refuse('payment_invalid', error.reason) : error
    }
    throw refuse('payment_replayed', 'payment_already_claimed')
  }

const isSame = ({ claim }: Accepted, { requestHash }: { readonly requestHash: Buffer }): boolean =>
  claim.requestHash.equals(requestHash) && claim.state !== 'failed'

/** The same payment for the same request again: told what became of it, never asked for another. */
function repeated({ claim: { state, transaction } }: Accepted): Fault {
  const isOpen = state === 'claimed' || state === 'pending'
  const extras = { reason: 'payment_already_claimed', transaction }
  return new Fault(isOpen ? 'payment_pending' : 'payment_replayed', undefined, { extras })
}

const hashOf = ({ offering, input }: Offer): Buffer =>
  createHash('sha256')
    .update(`${offering.endpointId}\n${JSON.stringify(input) ?? ''}`)
    .digest()

/** A verified payment. Nothing has moved until it is settled, so giving it up costs nothing. */
class X402Funds implements Funds {
  readonly source = 'x402'
  readonly payer: string
  readonly #ports: AcceptPorts
  readonly #accepted: Accepted
  readonly #offer: Offer
  #open = true

  constructor(ports: AcceptPorts, accepted: Accepted, offer: Offer) {
    this.payer = `x402:${accepted.claim.key.payer}`
    this.#ports = ports
    this.#accepted = accepted
    this.#offer = offer
  }

  async settle(outcome: Outcome): Promise<Receipt> {
    if (outcome.kind !== 'delivered' || outcome.charged === 0n) {
      return { source: this.source, charged: 0n as Micros, balance: undefined }
    }
    this.#open = false
    const settled = await settlePayment(this.#ports, this.#accepted)
    const headers = { 'PAYMENT-RESPONSE': settled.responseHeader }
    const { price } = this.#offer
    if (settled.outcome === 'settled') {
      return { source: this.source, charged: price, balance: undefined, headers }
    }
    const extras = {
      reason: settled.reason,
      price_microdollars: json(price),
      transaction: settled.tx,
    }
    if (settled.outcome === 'pending') {
      throw new Fault('payment_pending', undefined, { extras, headers })
    }
    throw new Fault('payment_invalid', 'The payment was not settled.', { extras, headers })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#ports.claims.release(this.#accepted.claim.key)
  }
}
