import { Fault } from '../../errors.ts'
import { ApprovalInUse, type Claim, isUnsent, type Purchase } from './claim.ts'
import type { Claims } from './claims.ts'
import {
  BadPayment,
  type Offers,
  type Payment,
  paymentKey,
  type SaleTerms,
  validBeforeOf,
} from './offers.ts'
import type { PaymentKey } from './payment.ts'
import { paymentIdentifierOf } from './payment-identifier.ts'
import {
  APPROVAL_EXPIRES,
  APPROVAL_IN_USE,
  CREDITS_REQUIRED,
  TOO_MUCH_OWED,
  UPFRONT_REQUIRED,
} from './refusal-reasons.ts'
import {
  type AcceptDeps,
  type AcceptedPayment,
  endUnsettled,
  PaymentRefused,
} from './settle-payment.ts'
import { sponsoredApprovalOf } from './sponsored-approval.ts'

/**
 * Reads the payment of a request and claims it before verification, because verification reserves
 * nothing. Returns the existing claim of a repeated payment whatever the current terms are, so that
 * its payer is not charged twice.
 * @param header value of PAYMENT-SIGNATURE or X-PAYMENT, or credential of MPP
 * @param needSeconds minimum remaining validity of the signature: the time left for the work
 * @param found claim of the payment, if it was looked up before; it may be settled again if nothing
 *   is known to be sent
 * @throws PaymentRefused
 * @throws Fault `facilitator_unavailable` if the payment cannot be verified
 * @throws Fault `payment_identifier_reused`
 */
export async function acceptPayment(
  deps: Pick<AcceptDeps, 'claims' | 'offers' | 'chain' | 'networks'>,
  header: string,
  terms: SaleTerms,
  purchase: Omit<Purchase, keyof PaymentTerms>,
  needSeconds = 0,
  found?: Claim,
): Promise<AcceptedPayment | { readonly repeated: Claim }> {
  const { claims, offers } = deps
  const { payment, identifier = purchase.identifier } = readOrRefuse(offers, header)
  const key = paymentKey(payment)
  const isCall = purchase.purpose === 'call'
  const [known, upfront] = await Promise.all([
    isCall || found ? found : claims.find(key, identifier),
    isCall ? mustPayUpfront(claims, key, terms) : (terms.upfront ?? false),
  ])
  const isReleased = known?.state === 'released'
  const mayBeTaken = isReleased || known?.state === 'claimed' || (found && isUnsent(found))
  if (known && !mayBeTaken) return { repeated: known }
  const first = acceptTerms(offers, payment, terms, upfront)
  if (!first) {
    if (known && !isReleased) return { repeated: known }
    const reason = upfront ? upfrontReason(terms) : 'no_matching_payment_requirements'
    throw new PaymentRefused(reason, upfront)
  }
  const verifying =
    first.isExact && !terms.upfront
      ? offers.verifyEarly(first.payment, first.requirement, needSeconds)
      : undefined
  verifying?.catch(() => {}) // awaited once the payment is claimed
  const { isNew, isRepeated, claim } = await claims
    .claim(key, {
      ...purchase,
      identifier,
      amount: terms.amount,
      authorized: terms.isMetered ? terms.amount : null,
      sponsored: terms.isMetered === true && sponsoredApprovalOf(payment) !== undefined,
      validBefore: validBeforeOf(payment),
      upfront: upfront && first.isExact,
      payTo: first.requirement.payTo,
    })
    .catch((error: unknown): never => {
      throw error instanceof ApprovalInUse ? refused(APPROVAL_IN_USE, error) : error
    })
  if (!isNew) return { repeated: claim }
  const presented = { payment, terms, upfront, first, needSeconds, verifying }
  return verifyClaimed(deps, claim, presented).catch(async (error: unknown) => {
    throw await endUnsettled(deps, { claim, isRepeated, error })
  })
}

/** Members of a purchase that the payment and the offer determine. */
type PaymentTerms = Pick<
  Purchase,
  'amount' | 'authorized' | 'sponsored' | 'validBefore' | 'upfront' | 'payTo'
>

const refused = (reason: string, cause?: unknown) => new PaymentRefused(reason, false, cause)

/** A metered price cannot be paid upfront. */
const upfrontReason = ({ isMetered }: SaleTerms): string =>
  isMetered ? CREDITS_REQUIRED : UPFRONT_REQUIRED

interface Presented {
  readonly payment: Payment
  readonly terms: SaleTerms
  readonly upfront: boolean
  readonly first: AcceptedTerms
  readonly needSeconds: number
  /** Verification of `first` that has begun. */
  readonly verifying: ReturnType<Offers['verifyEarly']>
}

/**
 * Verifies a payment, unless that has begun, and admits it after its claim, so that concurrent
 * payments of a wallet count each other.
 */
async function verifyClaimed(
  { claims, offers }: Pick<AcceptDeps, 'claims' | 'offers'>,
  claimed: Claim,
  { payment, terms, upfront, first, needSeconds, verifying }: Presented,
): Promise<AcceptedPayment> {
  const isTrusted = claimed.purpose === 'call' && terms.upfront && !upfront
  const exceedsTrust = isTrusted && (await claims.trust.requireUpfrontBeyondTrust(claimed.key))
  const accepted = (exceedsTrust && acceptTerms(offers, payment, terms, true)) || first
  const claim = exceedsTrust ? { ...claimed, upfront: true } : claimed
  const { requirement, isExact } = accepted
  // Before it is sent: a facilitator may settle at once what it is asked to verify.
  if (!isExact) throw new PaymentRefused(upfrontReason(terms), upfront)
  if (claim.sponsored && sponsoredApprovalOf(payment)?.expiresEarly) throw refused(APPROVAL_EXPIRES)
  const verified = await (
    verifying ?? offers.verify(accepted.payment, requirement, needSeconds)
  ).catch((error: unknown): never => {
    throw new Fault('facilitator_unavailable', undefined, { cause: error })
  })
  if (!verified.valid) throw new PaymentRefused(verified.reason ?? 'not_valid', upfront)
  // After the verification, because anybody can send unsigned payments in the name of a wallet.
  const { owedMax } = terms
  const isNewDebt = owedMax !== undefined && !claim.mayBeSent
  if (isNewDebt && !(await claims.trust.startOnTrust(claim.id, owedMax)))
    throw refused(TOO_MUCH_OWED)
  return { claim, payment: accepted.payment, requirement }
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
 * not verify it. A metered price cannot be paid upfront.
 */
function acceptTerms(
  offers: Offers,
  payment: Payment,
  terms: SaleTerms,
  upfront: boolean,
): AcceptedTerms | undefined {
  const requirementOf = (isUpfront: boolean) =>
    offers.requirements({ ...terms, upfront: isUpfront })
  const matching = (isUpfront: boolean) => offers.match(requirementOf(isUpfront), payment)
  const accepting = (requirement: AcceptedTerms['requirement'], isExact: boolean) => {
    const accepted = requirement as Payment['accepted']
    return { payment: { ...payment, x402Version: 2 as const, accepted }, requirement, isExact }
  }
  const exact = matching(upfront)
  if (exact) return accepting(exact, !(upfront && terms.isMetered))
  const other = upfront || terms.upfront ? matching(!upfront) : undefined
  if (!other) return undefined
  return upfront ? accepting(other, false) : accepting(withoutFlow(other), true)
}

/** Returns a requirement of an upfront payment as one that is settled after the work. */
function withoutFlow(requirement: AcceptedTerms['requirement']): AcceptedTerms['requirement'] {
  const { paymentFlow: _, ...extra } = requirement.extra
  return { ...requirement, extra }
}

function readOrRefuse(offers: Offers, header: string) {
  try {
    const payment = offers.read(header)
    return { payment, identifier: paymentIdentifierOf(payment) }
  } catch (error) {
    if (error instanceof BadPayment) throw refused(error.reason, error)
    throw error
  }
}
