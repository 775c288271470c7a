import { Fault } from '../../errors.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Log } from '../../log.ts'
import { NOT_BROADCAST } from '../facilitators/facilitator.ts'
import type { Claim, Purchase } from './claim.ts'
import type { Claims } from './claims.ts'
import {
  BadPayment,
  type Offers,
  type Payment,
  paymentKey,
  type SaleTerms,
  type Settlement,
  validBeforeOf,
} from './offers.ts'
import { postPayment } from './post-payment.ts'

export interface AcceptDeps {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly offers: Offers
  readonly log: Log
}

/** A payment that does not pay what is asked. The payer may sign another one. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused'
  readonly reason: string
  /** Whether the next one must come before the work. */
  readonly upfront: boolean
  constructor(reason: string, upfront: boolean, cause?: unknown) {
    super(`payment refused: ${reason}`, { cause })
    this.reason = reason
    this.upfront = upfront
  }
}

/** A payment that was claimed now, and verified. Nothing has moved yet. */
export interface AcceptedPayment {
  readonly claim: Claim
  readonly payment: Payment
  readonly requirement: ReturnType<Offers['requirements']>
}

/**
 * Takes a payment that came with a request: reads it, and claims it before it is verified, since
 * verification reserves nothing. One that was claimed before is told, whatever the terms are now:
 * its payer must not be asked for another one.
 * @param header value of PAYMENT-SIGNATURE
 * @param needSeconds how long the signature must still be valid: what is left for the work
 * @throws PaymentRefused, and Fault `facilitator_unavailable` when nobody can tell
 */
export async function acceptPayment(
  { claims, offers }: AcceptDeps,
  header: string,
  terms: SaleTerms,
  purchase: Omit<Purchase, 'amount' | 'validBefore' | 'upfront' | 'payTo'>,
  needSeconds = 0,
): Promise<AcceptedPayment | { readonly repeated: Claim }> {
  const payment = readOrRefuse(offers, header)
  const key = paymentKey(payment)
  const [known, upfront] = await Promise.all([
    claims.find(key),
    terms.upfront || (purchase.purpose === 'call' && claims.mustPayUpfront(key.payer)),
  ])
  if (known && known.state !== 'released') return { repeated: known }
  const match = (how: boolean) =>
    offers.match(offers.requirements({ ...terms, upfront: how }), payment)
  const wanted = match(upfront)
  // One that had to come before the work is refused, and watched: others may bring it to us.
  const requirement = wanted ?? (upfront ? match(false) : undefined)
  if (!requirement) {
    throw new PaymentRefused(
      upfront ? 'upfront_required' : 'no_matching_payment_requirements',
      upfront,
    )
  }
  const validBefore = validBeforeOf(payment)
  const { amount } = terms
  const { payTo } = requirement
  const { isNew: mine, claim } = await claims.claim(key, {
    ...purchase,
    amount,
    validBefore,
    upfront: upfront && wanted !== undefined,
    payTo,
  })
  if (!mine) return { repeated: claim }
  const verified = await offers.verify(payment, requirement, needSeconds).catch((error: unknown) =>
    claims.release(key).then((): never => {
      throw new Fault('facilitator_unavailable', undefined, { cause: error })
    }),
  )
  if (verified.valid && wanted) return { claim, payment, requirement }
  if (verified.valid) {
    await claims.release(key)
    throw new PaymentRefused('upfront_required', upfront)
  }
  if (verified.reason === NONCE_USED) {
    // Somebody brought it on chain before us, perhaps to the treasury: the chain is asked for what.
    await claims.conclude(key, 'pending')
    throw new Fault('payment_pending', undefined, { extras: { reason: verified.reason } })
  }
  await (UNUSABLE_REASONS.has(verified.reason ?? '') ? claims.forget(key) : claims.release(key))
  throw new PaymentRefused(verified.reason ?? 'not_valid', upfront)
}

/** Nobody can bring these on chain, or not to us, or they would be watched for ever. */
const UNUSABLE_REASONS: ReadonlySet<string> = new Set([
  'authorization_lives_too_long',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
])
const NONCE_USED = 'invalid_exact_evm_nonce_already_used'

function readOrRefuse(offers: Offers, header: string): Payment {
  try {
    return offers.read(header)
  } catch (error) {
    if (error instanceof BadPayment) throw new PaymentRefused(error.reason, false, error)
    throw error
  }
}

/**
 * Brings an accepted payment onto the chain and books it. What cannot be booked now stays claimed,
 * and the job that resolves payments books it. Credits whose settlement is said to have failed stay
 * open until the chain has the last word, since the money may have come all the same.
 * @throws Fault `facilitator_unavailable` when nothing was sent: the same payment may come again
 */
export async function settlePayment(
  { ledger, claims, offers, log }: AcceptDeps,
  { claim, payment, requirement }: AcceptedPayment,
): Promise<Settlement & { readonly booked: boolean }> {
  const settled = await offers.settle(payment, requirement)
  const { outcome, tx, reason } = settled
  if (outcome === 'settled') {
    try {
      await Promise.all([
        postPayment(ledger, claim, tx),
        claims.conclude(claim.key, 'settled', tx, !claim.upfront), // unbooked, the job books it
      ])
      return { ...settled, booked: true }
    } catch (error) {
      log.error({ err: error, claim: claim.id, tx }, 'a payment came and is not booked yet')
      return { ...settled, booked: false }
    }
  }
  log.warn({ claim: claim.id, tx, reason }, `a payment is ${outcome}`)
  if (outcome === 'failed' && reason === NOT_BROADCAST) {
    await claims.release(claim.key)
    throw new Fault('facilitator_unavailable')
  }
  const isOver = outcome === 'failed' && claim.purpose === 'call'
  await claims.conclude(claim.key, isOver ? 'failed' : 'pending', tx, !claim.upfront)
  if (isOver && !claim.upfront) await claims.distrust(claim.key.payer, reason ?? 'not_settled')
  return { ...settled, booked: false }
}
