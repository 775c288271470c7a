import { Fault } from '../../errors.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Log } from '../../log.ts'
import { logFailure, outagesOf } from '../../outages.ts'
import type { Hex } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import { blockBefore } from '../chain/verdict.ts'
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
import type { PaymentKey } from './payment.ts'
import { paymentIdentifierOf } from './payment-identifier.ts'
import { postPayment } from './post-payment.ts'

export interface AcceptDeps {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly offers: Offers
  readonly chain: Chain
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
}

/**
 * Reads the payment of a request and claims it before verification, because verification reserves
 * nothing. Returns the existing claim of a repeated payment whatever the current terms are, so that
 * its payer is not charged twice.
 * @param header value of PAYMENT-SIGNATURE or X-PAYMENT, or credential of MPP
 * @param needSeconds minimum remaining validity of the signature: the time left for the work
 * @param found claim of the payment of a call, which is looked up before funds are needed
 * @throws PaymentRefused
 * @throws Fault `facilitator_unavailable` if the payment cannot be verified
 * @throws Fault `payment_identifier_reused`
 */
export async function acceptPayment(
  deps: Pick<AcceptDeps, 'claims' | 'offers' | 'chain'>,
  header: string,
  terms: SaleTerms,
  purchase: Omit<Purchase, 'amount' | 'validBefore' | 'upfront' | 'payTo'>,
  needSeconds = 0,
  found?: Claim,
): Promise<AcceptedPayment | { readonly repeated: Claim }> {
  const { claims, offers } = deps
  const { payment, identifier = purchase.identifier } = readOrRefuse(offers, header)
  const key = paymentKey(payment)
  const isCall = purchase.purpose === 'call'
  const [known, upfront] = await Promise.all([
    isCall ? found : claims.find(key, identifier),
    isCall ? mustPayUpfront(claims, key, terms) : (terms.upfront ?? false),
  ])
  const mayBeTaken = known?.state === 'released' || known?.state === 'claimed'
  if (known && !mayBeTaken) return { repeated: known }
  const first = acceptTerms(offers, payment, terms, upfront)
  if (!first) {
    if (known?.state === 'claimed') return { repeated: known }
    const reason = upfront ? UPFRONT_REQUIRED : 'no_matching_payment_requirements'
    throw new PaymentRefused(reason, upfront)
  }
  const { isNew, isRepeated, claim } = await claims.claim(key, {
    ...purchase,
    identifier,
    amount: terms.amount,
    validBefore: validBeforeOf(payment),
    upfront: upfront && first.isExact,
    payTo: first.requirement.payTo,
  })
  if (!isNew) return { repeated: claim }
  const presented = { payment, terms, upfront, first, needSeconds }
  return verifyClaimed(deps, claim, presented).catch(async (error: unknown) => {
    throw await endUnsettled(deps, { claim, isRepeated, error })
  })
}

interface Presented {
  readonly payment: Payment
  readonly terms: SaleTerms
  readonly upfront: boolean
  readonly first: AcceptedTerms
  readonly needSeconds: number
}

/** Verifies a payment after its claim, so that concurrent payments of a wallet count each other. */
async function verifyClaimed(
  { claims, offers }: Pick<AcceptDeps, 'claims' | 'offers'>,
  claimed: Claim,
  { payment, terms, upfront, first, needSeconds }: Presented,
): Promise<AcceptedPayment> {
  const isTrusted = claimed.purpose === 'call' && terms.upfront && !upfront
  const exceedsTrust = isTrusted && (await claims.trust.requireUpfrontBeyondTrust(claimed.key))
  const accepted = (exceedsTrust && acceptTerms(offers, payment, terms, true)) || first
  const claim = exceedsTrust ? { ...claimed, upfront: true } : claimed
  const { requirement, isExact } = accepted
  // Before it is sent: a facilitator may settle at once what it is asked to verify.
  if (!isExact) throw new PaymentRefused(UPFRONT_REQUIRED, upfront)
  const verified = await offers
    .verify(accepted.payment, requirement, needSeconds)
    .catch((error: unknown): never => {
      throw new Fault('facilitator_unavailable', undefined, { cause: error })
    })
  if (verified.valid) return { claim, payment: accepted.payment, requirement }
  throw new PaymentRefused(verified.reason ?? 'not_valid', upfront)
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
async function endUnsettled(
  { claims, chain }: Pick<AcceptDeps, 'claims' | 'chain'>,
  unsettled: Unsettled,
): Promise<unknown> {
  const { claim, isRepeated, error } = unsettled
  const reason = error instanceof PaymentRefused ? error.reason : undefined
  const isLate = isRepeated && REASONS_TO_ASK.has(reason ?? '') && (await wasUsed(chain, claim))
  if (!isLate && reason !== NONCE_USED && !claim.mayBeSent) {
    await (UNUSABLE_REASONS.has(reason ?? '') ? claims.forget(claim) : claims.release(claim))
    return error
  }
  await claims.conclude(claim.key, 'pending')
  const extras = reason === undefined ? {} : { reason }
  return new Fault('payment_pending', undefined, { extras, cause: error })
}

/** Returns true unless the chain shows that nobody has used a payment. */
async function wasUsed(chain: AcceptDeps['chain'], { key, claimedAt }: Claim): Promise<boolean> {
  const { payer, nonce } = key as { payer: Hex; nonce: Hex }
  try {
    const fromBlock = blockBefore(await chain.head(), claimedAt)
    return (await chain.authorizationOutcome(payer, nonce, fromBlock)).outcome !== 'unused'
  } catch {
    return true // the job asks again
  }
}

/** Returns true if the payment of a call must be settled before the work. */
const mustPayUpfront = async (
  claims: Claims,
  key: PaymentKey,
  { amount, upfront = false, trustsKnownPayers = false }: SaleTerms,
): Promise<boolean> =>
  (upfront && !trustsKnownPayers) || claims.trust.mustPayUpfront(key, upfront ? amount : undefined)

interface AcceptedTerms {
  readonly payment: Payment
  readonly requirement: ReturnType<Offers['requirements']>
  /** False for a payment that should have been upfront. */
  readonly isExact: boolean
}

/**
 * Finds the requirement that the payment accepts. A payment that should have been upfront is not
 * exact: it is refused, and watched, because its payer may have it settled elsewhere. If an upfront
 * payment is settled after the work, its requirement says so, because the facilitator would else
 * not verify it.
 */
function acceptTerms(
  offers: Offers,
  payment: Payment,
  terms: SaleTerms,
  upfront: boolean,
): AcceptedTerms | undefined {
  const requirementOf = (isUpfront: boolean) =>
    offers.requirements({ ...terms, upfront: isUpfront })
  const matches = (isUpfront: boolean) => offers.match(requirementOf(isUpfront), payment)
  const accepting = (isUpfront: boolean, isExact: boolean) => {
    const requirement = requirementOf(isUpfront)
    const { maxTimeoutSeconds, extra } = requirement
    const accepted = { ...payment.accepted, maxTimeoutSeconds, extra }
    return { payment: { ...payment, x402Version: 2 as const, accepted }, requirement, isExact }
  }
  if (matches(upfront)) return accepting(upfront, true)
  if (upfront) return matches(false) ? accepting(false, false) : undefined
  return terms.upfront && matches(true) ? accepting(false, true) : undefined
}

/** Reasons for forgetting a claim: nobody can settle it to us, so watching it is useless. */
const UNUSABLE_REASONS: ReadonlySet<string> = new Set([
  'authorization_lives_too_long',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
])
const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
const EXPIRED = 'invalid_exact_evm_payload_authorization_valid_before'
const UPFRONT_REQUIRED = 'upfront_required'
/** Reasons for which a payment is not verified, so that only the chain knows if it was taken. */
const REASONS_TO_ASK: ReadonlySet<string> = new Set([EXPIRED, UPFRONT_REQUIRED])

function readOrRefuse(offers: Offers, header: string) {
  try {
    const payment = offers.read(header)
    return { payment, identifier: paymentIdentifierOf(payment) }
  } catch (error) {
    if (error instanceof BadPayment) throw new PaymentRefused(error.reason, false, error)
    throw error
  }
}

/**
 * Settles an accepted payment on the chain and posts it. A payment that cannot be posted now stays
 * claimed, and the job `resolve-payments` posts it. Credits whose settlement reportedly failed stay
 * open until the chain decides, because the money may have arrived anyway.
 * @throws Fault `facilitator_unavailable` if nothing was sent; the same payment may be retried
 * @throws Fault `payment_in_progress` if another process has taken the payment over
 */
export async function settlePayment(
  deps: AcceptDeps,
  { claim, payment, requirement }: AcceptedPayment,
): Promise<Settlement & { readonly booked: boolean }> {
  const { ledger, claims, offers, log } = deps
  if (!(await beginSettlement(deps, claim))) throw new Fault('payment_in_progress')
  const settled = await offers.settle(payment, requirement)
  const { outcome, tx, reason } = settled
  if (outcome === 'settled') {
    outagesOf(log).succeed('facilitator')
    try {
      await Promise.all([
        postPayment(ledger, claim, tx),
        claims.conclude(claim.key, 'settled', tx, !claim.upfront), // unposted: the job does it
      ])
      return { ...settled, booked: true }
    } catch (err) {
      const fields = { err, claim: claim.id, tx }
      logFailure(log, 'error', fields, 'a received payment is not posted yet')
      return { ...settled, booked: false }
    }
  }
  const isUnsent = outcome === 'failed' && reason === NOT_BROADCAST && !claim.mayBeSent
  const component = outcome === 'pending' || isUnsent ? 'facilitator' : undefined
  const fields = { err: reason, ...(component && { component }), claim: claim.id, tx }
  logFailure(log, 'warn', fields, `a payment is ${outcome}`)
  if (isUnsent) {
    await claims.release(claim)
    throw new Fault('facilitator_unavailable')
  }
  const hasFailed = outcome === 'failed' && claim.purpose === 'call' && !claim.mayBeSent
  try {
    await claims.conclude(claim.key, hasFailed ? 'failed' : 'pending', tx, !claim.upfront)
    if (hasFailed && !claim.upfront)
      await claims.trust.distrust(claim.key.payer, reason ?? 'not_settled')
  } catch (err) {
    // The payer must learn the outcome, not of the database; the job asks the chain.
    logFailure(log, 'error', { err, claim: claim.id, tx }, 'failed to store a payment outcome')
  }
  return { ...settled, booked: false }
}

/** Notes that a payment may be sent from now on. If that fails, it is not sent. */
const beginSettlement = (deps: AcceptDeps, claim: Claim): Promise<boolean> =>
  deps.claims.beginSettlement(claim).catch(async (error: unknown) => {
    throw await endUnsettled(deps, { claim, error })
  })
