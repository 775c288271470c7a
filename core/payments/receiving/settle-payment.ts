import { type Clock, sleep } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Log } from '../../log.ts'
import { logFailure, outagesOf } from '../../outages.ts'
import type { SealedResponse } from '../../usage/stored-responses.ts'
import { assetOf, type Hex } from '../chain/asset.ts'
import { blockBefore } from '../chain/verdict.ts'
import { NOT_BROADCAST } from '../facilitators/facilitator.ts'
import { chainOf, componentOn, type PaymentChains } from '../networks.ts'
import type { Claim } from './claim.ts'
import type { Claims } from './claims.ts'
import type { Offers, Payment, Settlement } from './offers.ts'
import { postPayment } from './post-payment.ts'
import { NONCE_USED, REASONS_TO_ASK, UNUSABLE_REASONS } from './refusal-reasons.ts'
import { asPending } from './settlement.ts'

export interface AcceptDeps extends PaymentChains {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly offers: Offers
  readonly clock: Clock
  readonly log: Log
}

/** The payment does not satisfy the offer. The payer may sign another one. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused'
  readonly reason: string
  /** True if the next payment must be settled before the work. */
  readonly upfront: boolean
  constructor(reason: string, upfront: boolean, cause?: unknown) {
    super(`payment refused: ${reason}`, { cause })
    this.reason = reason
    this.upfront = upfront
  }
}

/** A payment that was just claimed and verified. No money has moved yet. */
export interface AcceptedPayment {
  readonly claim: Claim
  readonly payment: Payment
  readonly requirement: ReturnType<Offers['requirements']>
  /** True if its payer has the response: a settlement that cannot be sent is tried again. */
  readonly isDelivered?: boolean
  /** Response of the work, which is stored as the settlement begins. */
  readonly response?: SealedResponse | undefined
  /** True if the payer has the response or can obtain it: the payment pays for nothing more. */
  readonly isServed?: boolean
}

interface Unsettled {
  readonly claim: Claim
  /** True if the payment was presented before. */
  readonly isRepeated?: boolean | undefined
  readonly error: unknown
}

/**
 * Ends a claim whose payment this request does not settle. A released claim is watched, because
 * others have seen the payment. If somebody has settled it, perhaps to the treasury, its payer must
 * not pay again, and the job asks the chain.
 * @returns the error of the request
 */
export async function endUnsettled(
  { claims, ...chains }: Pick<AcceptDeps, 'claims'> & PaymentChains,
  unsettled: Unsettled,
): Promise<unknown> {
  const { claim, isRepeated, error } = unsettled
  const reason = error instanceof PaymentRefused ? error.reason : undefined
  const isLate = isRepeated && REASONS_TO_ASK.has(reason ?? '') && (await wasUsed(chains, claim))
  if (!isLate && reason !== NONCE_USED && !claim.mayBeSent) {
    await (UNUSABLE_REASONS.has(reason ?? '') ? claims.forget(claim) : claims.release(claim))
    return error
  }
  await claims.conclude(claim.key, 'pending')
  const extras = reason === undefined ? {} : { reason }
  return new Fault('payment_pending', undefined, { extras, cause: error })
}

/** Returns true unless the chain shows that nobody has used a payment. */
async function wasUsed(
  chains: PaymentChains,
  { key, claimedAt, authorized }: Claim,
): Promise<boolean> {
  if (authorized !== null) return false // only this hub can settle it
  const { payer, nonce } = key as { payer: Hex; nonce: Hex }
  try {
    const chain = chainOf(chains, key.network)
    const fromBlock = blockBefore(await chain.head(), claimedAt)
    return (await chain.authorizationOutcome(payer, nonce, fromBlock)).outcome !== 'unused'
  } catch {
    return true // the job asks again
  }
}

/**
 * Settles an accepted payment on the chain, by the amount of its claim, and posts it. A payment
 * that cannot be posted now stays claimed, and the job `resolve-payments` posts it. Credits whose
 * settlement reportedly failed stay open until the chain decides, because the money may have
 * arrived anyway; so do those that must be final first.
 * @throws Fault `facilitator_unavailable` if nothing was sent; the same payment may be retried
 * @throws Fault `payment_in_progress` if another process has taken the payment over
 */
export async function settlePayment(
  deps: AcceptDeps,
  accepted: AcceptedPayment,
): Promise<Settlement & { readonly booked: boolean }> {
  const { ledger, claims, log } = deps
  const { claim, isServed = false } = accepted
  const facilitator = componentOn('facilitator', claim.key.network)
  deps.offers.prepare(accepted.payment, accepted.requirement)
  if (!(await beginSettlement(deps, accepted))) throw new Fault('payment_in_progress')
  const settled = await settleOnChain(deps, accepted)
  const { outcome, tx, reason } = settled
  if (outcome === 'settled') {
    outagesOf(log).succeed(facilitator)
    let isConcluded = false
    try {
      if (claim.purpose === 'credits' && !(await claims.early.grant(claim, tx))) {
        await claims.conclude(claim.key, 'pending', tx, isServed)
        return { ...settled, booked: false }
      }
      isConcluded = true
      await Promise.all([
        postPayment(ledger, claim, tx),
        claims.conclude(claim.key, 'settled', tx, isServed), // unposted: the job does it
      ])
      return { ...settled, booked: true }
    } catch (err) {
      const fields = { err, claim: claim.id, tx }
      logFailure(log, 'error', fields, 'a received payment is not posted yet')
      // Its payer's next request posts it; otherwise it would wait for the job.
      if (!isConcluded) await claims.conclude(claim.key, 'pending', tx, isServed).catch(() => {})
      return { ...settled, booked: false }
    }
  }
  const isUnsent = isNotBroadcast(settled) && !claim.mayBeSent
  const component = outcome === 'pending' || isUnsent ? facilitator : undefined
  const fields = { err: reason, ...(component && { component }), claim: claim.id, tx }
  logFailure(log, 'warn', fields, `a payment is ${outcome}`)
  if (isUnsent) {
    await claims.release(claim)
    throw new Fault('facilitator_unavailable')
  }
  const hasFailed = outcome === 'failed' && claim.purpose === 'call' && !claim.mayBeSent
  try {
    await claims.conclude(claim.key, hasFailed ? 'failed' : 'pending', tx, isServed)
    if (hasFailed && !claim.upfront)
      await claims.trust.distrust(claim.key.payer, reason ?? 'not_settled')
  } catch (err) {
    // The payer must learn the outcome, not of the database; the job asks the chain.
    logFailure(log, 'error', { err, claim: claim.id, tx }, 'failed to store a payment outcome')
  }
  const reported =
    outcome === 'failed' && claim.mayBeSent
      ? asPending(settled, assetOf(claim.key.network))
      : settled
  return { ...reported, booked: false }
}

const RETRY_MS = 1_000
/** Remaining validity below which a settlement is not tried again. */
const RETRY_MARGIN_MS = 10_000

async function settleOnChain(
  { offers, clock }: Pick<AcceptDeps, 'offers' | 'clock'>,
  { claim, payment, requirement, isDelivered }: AcceptedPayment,
): Promise<Settlement> {
  const lastTry = claim.validBefore.getTime() - RETRY_MARGIN_MS
  for (;;) {
    const settled = await offers.settle(payment, requirement, claim.amount)
    const isLast = clock.now().getTime() >= lastTry
    if (!isDelivered || isLast || !isNotBroadcast(settled)) return settled
    await sleep(RETRY_MS)
  }
}

const isNotBroadcast = ({ outcome, reason }: Settlement): boolean =>
  outcome === 'failed' && reason === NOT_BROADCAST

/** Notes that a payment may be sent from now on. If that fails, it is not sent. */
const beginSettlement = (
  deps: AcceptDeps,
  { claim, response }: AcceptedPayment,
): Promise<boolean> =>
  deps.claims.beginSettlement(claim, response).catch(async (error: unknown) => {
    throw await endUnsettled(deps, { claim, error })
  })
