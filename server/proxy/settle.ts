import { Readable } from 'node:stream'
import { elapsedMs } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'
import { HoldExpired } from '../../core/ledger/hold-expired.ts'
import { limitWait, withRetry } from '../../core/ledger/retry.ts'
import { logFailure } from '../../core/outages.ts'
import { coveredUnits } from '../../core/plugin/metered.ts'
import type { StoredResponse } from '../../core/usage/stored-responses.ts'
import { discardBody } from '../http/response-stream.ts'
import { markCharged } from './attempt.ts'
import type { CallDeps } from './call-deps.ts'
import { recordFailure } from './call-record.ts'
import type { Attempt, Charge, Funds, HandledCall, PricedCall } from './call-types.ts'
import { showRefund } from './refund-view.ts'

/**
 * Charges or releases the funds. Under an Idempotency-Key the response is stored before the charge,
 * and the key is marked as charged after it. A response that cannot be charged is discarded.
 *
 * The caller waits briefly for a database that does not respond, but longer for a response that an
 * external seller was paid for. A late charge still takes effect: a repetition with the same key
 * gets the response, and without a key the job `recover-calls` refunds the call.
 * @throws HoldExpired, LedgerUnavailable, or the fault of an x402 payment after the work
 */
export async function settle(deps: CallDeps, handled: HandledCall): Promise<Charge> {
  const { priced, attempt, funds, outcome } = handled
  const { keyed } = attempt
  const isCharged = outcome.kind === 'delivered' || outcome.kind === 'taken'
  try {
    const isBought = deps.creditsOnly.has(priced.offering.service.slug)
    const inTime = isBought || funds.source === 'x402' ? <T>(work: Promise<T>) => work : limitWait
    if (!keyed || !isCharged) return await inTime(funds.settle(outcome))
    const response = { call: priced.call, ...outcome }
    const store = () => deps.responses.storeAttempt(response)
    const stored = await inTime(isBought ? withRetry(store) : store())
    if (!stored) throw new HoldExpired()
    const start = elapsedMs()
    const charge = await inTime(funds.settle(outcome))
    if (elapsedMs() - start > CRASH_MS) await storeAgain(deps, response)
    await markCharged(deps, keyed, priced.call)
    attempt.isOpen = false
    return charge
  } catch (error) {
    discardBody(outcome.body)
    if (error instanceof HoldExpired) {
      const fault = withRefund(error, priced, funds)
      recordFailure(deps, priced, funds, fault, outcome.latencyMs)
      throw fault
    }
    if (isLostIfCharged(deps, handled))
      recordFailure(deps, priced, funds, new Fault('response_lost'), outcome.latencyMs)
    throw error
  }
}

/**
 * Returns true if a charge that takes effect late pays for a lost response: it is not stored, was
 * not sent as a stream, and no external seller has the money.
 */
const isLostIfCharged = (
  { creditsOnly }: CallDeps,
  { priced, attempt, funds, outcome }: HandledCall,
): boolean =>
  outcome.kind === 'delivered' &&
  !attempt.keyed &&
  (funds.source === 'credits' || funds.source === 'free') &&
  !creditsOnly.has(priced.offering.service.slug) &&
  !(outcome.body instanceof Readable)

/** Time below which the database cannot have crashed and restarted. */
const CRASH_MS = 50

/** The charge is durable, but the response may have been lost with a crash before it. */
const storeAgain = ({ responses, log }: CallDeps, response: StoredResponse): Promise<void> =>
  responses.storeAgain(response).catch((err: unknown) => {
    logFailure(log, 'error', { err, call: response.call }, 'failed to store a response again')
  })

/**
 * Releases funds that were not settled, and then the Idempotency-Key for another attempt. Returns
 * undefined, without a promise or a timer, if nothing is held, as after most calls.
 */
export function release(
  { idempotency, lease }: CallDeps,
  { call }: PricedCall,
  { keyed, isOpen }: Attempt,
  funds: Funds | undefined,
): Promise<void> | undefined {
  const isKeyHeld = keyed !== undefined && isOpen
  if (!isKeyHeld && (funds === undefined || funds.isSettled === true)) return undefined
  return lease.release(async () => {
    await funds?.[Symbol.asyncDispose]()
    if (isKeyHeld) await idempotency.finish(keyed, call, false)
  })
}

/** Adds to a fault what was refunded and why, so that programs can decide what to do next. */
export function withRefund(fault: Fault, priced: PricedCall, { source }: Funds): Fault {
  const { call, price, metered } = priced
  const { reason: given } = fault.extras
  const reason = typeof given === 'string' ? given : fault.code
  const units = metered ? coveredUnits(price, metered.of) : 1n
  const isRefunded = source === 'credits' || source === 'free'
  const refund = isRefunded && showRefund(priced, { source, amount: price, units }, reason)
  return new Fault(fault.code, fault.message, {
    extras: { ...fault.extras, call_id: call, ...(refund && { refund }) },
    headers: { ...fault.headers, 'X-Call-Id': call, ...(refund && { 'X-Refund-Reason': reason }) },
    cause: fault.cause,
    money: fault.money,
    advice: fault.advice,
  })
}
