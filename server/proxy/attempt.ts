import { deadlineOf } from '../../core/catalog/services/deadline.ts'
import { daysBefore } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { limitWait } from '../../core/ledger/retry.ts'
import { logFailure } from '../../core/outages.ts'
import { type Claim, keyValues } from '../../core/payments/receiving/claim.ts'
import { BadPayment, type Payment, paymentKey } from '../../core/payments/receiving/offers.ts'
import { paymentIdentifierOf } from '../../core/payments/receiving/payment-identifier.ts'
import { assertServiceAllowed } from '../../core/usage/allowances.ts'
import { quotaAccount } from '../../core/usage/free-quota.ts'
import type { IdempotentAttempt } from '../../core/usage/idempotency.ts'
import type { CallDeps } from './call-deps.ts'
import type { Attempt, PricedCall } from './call-types.ts'
import { resumeCredits } from './funds/credits.ts'
import { findPresentedClaim, resumeClaim } from './funds/x402.ts'
import { explainMissingResponse } from './lost-response.ts'
import { assertCallable } from './payment-required.ts'

/** First attempt at a request without an Idempotency-Key. */
const UNKEYED: Attempt = Object.freeze({ isOpen: false })

/**
 * Begins an attempt at a request, or finds the response of an earlier one. A key stands for an
 * input, so an invalid input uses none up; the key of an anonymous caller has no owner and is
 * the identifier of its payment. The identifier of a payment is in turn the key of a caller who has
 * one and sends no other.
 * @throws Fault of `Idempotency.begin`, of `assertCallable`, or of a payment presented before
 */
export async function beginAttempt(deps: CallDeps, priced: PricedCall): Promise<Attempt> {
  const { caller, request } = priced
  const { payment } = request
  const isNamed = payment !== undefined && request.idempotencyKey === undefined
  const key = isNamed ? await nameOfPayment(deps, priced, payment) : request.idempotencyKey
  const isKeyed = key !== undefined && caller.keyId !== null && !priced.inputError
  if (isKeyed) assertServiceAllowed(caller.limits, request.slug) // before the key is used up
  const keyed = isKeyed ? await beginKeyed(deps, caller, priced, key) : undefined
  if (keyed?.response) {
    const headers = { 'Idempotency-Replayed': 'true' }
    return { replayable: { response: keyed.response, source: 'none', headers }, isOpen: false }
  }
  if (keyed?.resumed !== undefined && caller.keyId !== null) {
    const prepaid = resumeCredits(deps, caller, keyed.resumed)
    return { keyed, prepaid, resumed: keyed.resumed, isOpen: true }
  }
  try {
    let claim = keyed?.isRetry ? await deps.claims.findPaidCall(priced.call) : undefined
    if (!claim) {
      await assertCallable(deps, priced)
      if (payment !== undefined) {
        claim = await limitWait(findPresentedClaim(deps, priced, payment))
      }
    }
    if (!claim) return keyed ? { keyed, isOpen: true } : UNKEYED
    const resumed = await resumePaid(deps, claim, priced)
    const { replayable } = resumed
    if (!replayable) return { ...resumed, keyed, isOpen: keyed !== undefined }
    if (keyed) {
      await deps.responses.store(priced.call, replayable.response)
      await markCharged(deps, keyed, priced.call)
    }
    return { replayable, isOpen: false }
  } catch (error) {
    if (keyed) {
      await deps.lease.release(() => deps.idempotency.finish(keyed, priced.call, false))
    }
    throw error
  }
}

/** Marks the key as charged; later if the database is unreachable. */
export const markCharged = (
  { idempotency, lease, log }: CallDeps,
  keyed: IdempotentAttempt,
  call: string,
): Promise<void> =>
  lease.release(() =>
    idempotency.finish(keyed, call, true).catch((err: unknown) => {
      logFailure(log, 'error', { err, call }, 'failed to mark an idempotency key as charged')
      throw err
    }),
  )

function beginKeyed(
  deps: CallDeps,
  caller: Caller,
  priced: PricedCall,
  key: string,
): Promise<IdempotentAttempt> {
  const request = {
    caller,
    key,
    inputs: priced.requestHash.toString('hex'),
    call: priced.call,
    payersSince: (begun: Date) => payersOf(caller, priced, begun),
    payment: readFromPayment(deps, priced, (payment) => keyValues(paymentKey(payment))),
    leaseSeconds: deadlineOf(priced.offering.endpoint) + deps.holdMarginSeconds,
  }
  return deps.idempotency.begin(request).catch(async (error: unknown) => {
    if (!isExpired(error)) throw error
    const call = String(error.extras['call_id'])
    const explained = await explainMissingResponse(deps, priced, call)
    if (explained) throw explained
    await deps.idempotency.reopen(request, call)
    return deps.idempotency.begin(request)
  })
}

/** Continues with a payment. One whose response was lost with its process pays for another. */
function resumePaid(deps: CallDeps, claim: Claim, priced: PricedCall) {
  return resumeClaim(deps, claim, priced).catch(async (error: unknown) => {
    if (!isExpired(error) || claim.call === undefined) throw error
    const explained = await explainMissingResponse(deps, priced, claim.call)
    if (explained) throw explained
    return resumeClaim(deps, { ...claim, deliveredAt: null }, priced)
  })
}

const isExpired = (error: unknown): error is Fault =>
  error instanceof Fault && error.code === 'answer_expired'

/**
 * Id of the payment of a caller with a key: credits may pay instead, once for that id too.
 * Undefined if the payment was presented before, because its own claim then replays the response.
 */
async function nameOfPayment(
  deps: CallDeps,
  priced: PricedCall,
  payment: string,
): Promise<string | undefined> {
  if (priced.caller.keyId === null) return undefined
  const identifier = readFromPayment(deps, priced, paymentIdentifierOf)
  if (identifier === undefined) return undefined
  return (await findPresentedClaim(deps, priced, payment)) ? undefined : identifier
}

/** Reads from the request's payment; undefined without one, or if it is unreadable. */
function readFromPayment<Result>(
  { offers }: CallDeps,
  { request: { payment } }: PricedCall,
  read: (payment: Payment) => Result,
): Result | undefined {
  if (payment === undefined) return undefined
  try {
    return read(offers.read(payment))
  } catch (error) {
    if (error instanceof BadPayment) return undefined
    throw error
  }
}

/** Accounts whose holds may pay: credits, and free calls of the month of `begun` or the next. */
function payersOf({ credits, principal }: Caller, { offering, metered }: PricedCall, begun: Date) {
  const { slug } = offering.service
  const quota = { unit: metered?.unit }
  const days = [begun, daysBefore(begun, -1)]
  return [credits.code, ...days.map((day) => quotaAccount(principal, slug, quota, day))]
}

const KEY = /^[\x21-\x7e]{1,255}$/

/** Parses Idempotency-Key, quoted or not. @throws Fault unless 1 to 255 visible ASCII characters */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (KEY.test(key)) return key
  throw new Fault('validation_failed', 'Idempotency-Key must be 1 to 255 visible ASCII characters.')
}
