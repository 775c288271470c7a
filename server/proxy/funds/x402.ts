import { createHash } from 'node:crypto'
import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { Fault } from '../../../core/errors.ts'
import { json } from '../../../core/money.ts'
import {
  type AcceptedPayment,
  acceptPayment,
  PaymentRefused,
  settlePayment,
} from '../../../core/payments/receiving/accept.ts'
import type { Claim } from '../../../core/payments/receiving/claim.ts'
import { BadPayment, paymentKey } from '../../../core/payments/receiving/offers.ts'
import { describeRefusal } from '../../../core/payments/receiving/refusal-reasons.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import type { CallRequest, Funds, PricedCall } from '../call.ts'
import type { Sources } from '../fund.ts'
import { notSettled, OnDelivery, Prepaid, Replayed, type X402Ports } from './x402-funds.ts'

/** How long a payment must stay valid beyond the deadline of the call it pays, in seconds. */
const SETTLE_MARGIN_SECONDS = 60

/** What an offer asks for: the price, to whom, for which resource. */
export const termsOf = ({ offering, price }: PricedCall, url: string) => ({
  amount: price,
  maxTimeoutSeconds: deadlineOf(offering.endpoint) + SETTLE_MARGIN_SECONDS,
  upfront: offering.endpoint.streams === true, // what was sent cannot be taken back
  resource: { url, description: offering.endpoint.summary, mimeType: 'application/json' },
})

/**
 * The price by an x402 payment that came with the request: verified now and settled on delivery,
 * or, where an earlier one of its payer failed after the work, settled now.
 */
export function createX402(ports: X402Ports): Sources['x402'] {
  const take: Sources['x402']['take'] = async ({ payment, ...request }, offer) =>
    payment === undefined ? undefined : accept(ports, offer, { ...request, payment })
  return {
    take,
    repeated: async (request, offer) =>
      request.payment !== undefined && (await wasClaimed(ports, request.payment))
        ? take(request, offer)
        : undefined,
    owed: async (offer) => {
      const claim = await ports.claims.findPaidCall(offer.call)
      return claim && again(ports, claim, offer)
    },
    foresee: async ({ payment }, { price }) =>
      payment === undefined ? undefined : { source: 'x402', charged: price, freeCalls: 0n },
  }
}

async function accept(
  ports: X402Ports,
  offer: PricedCall,
  request: CallRequest & { readonly payment: string },
): Promise<Funds> {
  const { payee, commissionBps } = offer.offering
  const terms = termsOf(offer, request.url())
  const { requestHash } = offer
  const client = clientOf(request)
  const order = { requestHash, client, payee: payee.code, commissionBps }
  const purchase = { purpose: 'call', call: offer.call, ...order } as const
  const refuse = (code: Refusal, reason: string, upfront = terms.upfront): Fault => {
    const { header, required } = ports.offers.offer({ ...terms, upfront, error: reason })
    const extras = { ...required, reason, price_microdollars: json(offer.price) }
    return new Fault(code, describeRefusal(reason), {
      extras,
      headers: { 'PAYMENT-REQUIRED': header },
    })
  }
  const needSeconds = deadlineOf(offer.offering.endpoint)
  const accepted = await acceptPayment(ports, request.payment, terms, purchase, needSeconds).catch(
    (error: unknown) => {
      if (!(error instanceof PaymentRefused)) throw error
      throw refuse('payment_invalid', error.reason, terms.upfront || error.upfront)
    },
  )
  if (!('repeated' in accepted)) {
    return accepted.claim.upfront
      ? settledFirst(ports, accepted, offer)
      : new OnDelivery(ports, accepted, offer, () =>
          refuse('payment_invalid', 'upfront_required', true),
        )
  }
  const { repeated } = accepted
  if (!repeated.requestHash.equals(requestHash) || repeated.state === 'failed') {
    throw refuse('payment_replayed', 'payment_already_claimed')
  }
  if (!repeated.client?.equals(client)) throw elsewhere(repeated)
  return again(ports, repeated, offer)
}

/** A payment that cannot be read was not. */
async function wasClaimed({ claims, offers }: X402Ports, header: string): Promise<boolean> {
  try {
    const claim = await claims.find(paymentKey(offers.read(header)))
    return claim !== undefined && claim.state !== 'released'
  } catch (error) {
    if (error instanceof BadPayment) return false
    throw error
  }
}

type Refusal = 'payment_invalid' | 'payment_replayed'

/** Takes the money, and then has the work done; until it is, the same payment may come again. */
async function settledFirst(
  ports: X402Ports,
  accepted: AcceptedPayment,
  offer: PricedCall,
): Promise<Funds> {
  const settled = await settlePayment(ports, accepted)
  if (settled.outcome !== 'settled') throw notSettled(settled, offer)
  const { claim } = accepted
  if (!(await ports.claims.startWork(claim.key, offer.call, leaseOf(offer))))
    throw new Fault('payment_in_progress')
  return new Prepaid(ports, claim, offer.call, settled.responseHeader)
}

/** The same payment for the same request: it gets the answer, and is never asked for another. */
async function again(ports: X402Ports, claim: Claim, offer: PricedCall): Promise<Funds> {
  const { state, transaction } = claim
  const extras = { reason: 'payment_already_claimed', transaction }
  if (state === 'claimed') throw new Fault('payment_in_progress', undefined, { extras })
  if (state === 'pending') throw new Fault('payment_pending', undefined, { extras })
  const answer = await ports.answers.find(claim.id)
  if (answer) return new Replayed(claim, answer)
  if (claim.deliveredAt) throw new Fault('answer_expired', undefined, { extras: { transaction } })
  if (await ports.claims.startWork(claim.key, offer.call, leaseOf(offer)))
    return new Prepaid(ports, claim, offer.call)
  throw new Fault('payment_in_progress', undefined, { extras })
}

/** Seconds for which nobody else takes the work up. */
const leaseOf = ({ offering }: PricedCall): number =>
  deadlineOf(offering.endpoint) + SETTLE_MARGIN_SECONDS

/** Whoever reads the chain can send the payment too, but not get what it bought. */
const elsewhere = ({ transaction }: Claim): Fault =>
  new Fault('payment_replayed', 'Its answer is kept for the one who sent it first.', {
    extras: { reason: 'other_client', transaction },
  })

/** By key, or else by network. */
const clientOf = ({ authorization, ip }: CallRequest): Buffer =>
  createHash('sha256')
    .update(authorization ?? networkPrefix(ip()))
    .digest()
