import { FAULTS, Fault, type FaultCode } from '../../core/errors.ts'
import { guidanceFor, mustNotRepeat, outcomeOfCode } from '../../core/guidance.ts'
import { LedgerUnavailable } from '../../core/ledger/retry.ts'
import type { Log } from '../../core/log.ts'
import { json } from '../../core/money.ts'
import type { MoneyOutcome } from '../../core/money-outcome.ts'
import { componentOf, isDatabaseDown, logFailure } from '../../core/outages.ts'
import type { HttpResponse } from './http-response.ts'

/**
 * Builds the problem details (RFC 9457) of a fault, with extension members for advice and for the
 * amount that the caller has paid. Extras of the fault are added and cannot replace the standard
 * members.
 */
export function problem(
  fault: Fault,
  requestId: string,
  instance: string,
  charged = json(fault.charged),
): HttpResponse {
  const [status, title, defaultDetail] = FAULTS[fault.code]
  const money = fault.money ?? (charged > 0 ? 'taken' : outcomeOfCode(fault.code))
  const guidance = guidanceFor(fault.code, money)
  const { retryable } = guidance
  const isDecided = money === 'none' || money === 'unknown' || money === 'settled'
  const advice = (isDecided ? adviceOf(fault) : undefined) ?? guidance.advice
  return {
    status,
    headers: {
      ...faultHeaders(fault, money),
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      'X-Charged-Microdollars': String(charged),
    },
    body: {
      ...fault.extras,
      charged_microdollars: charged,
      type: `/docs/problems/${fault.code}`,
      title,
      status,
      detail: fault.message === defaultDetail ? advice : fault.message,
      instance,
      code: fault.code,
      advice,
      request_id: requestId,
      retryable,
    },
  }
}

/** Returns the advice of a fault itself. That of the table names members that a fault may lack. */
function adviceOf({ code, advice, extras, message }: Fault): string | undefined {
  if (advice !== undefined || code !== 'validation_failed' || 'issues' in extras) return advice
  if (message === FAULTS[code][2]) return undefined // without a detail
  return 'Correct what the detail names, and send the request again.'
}

/**
 * Returns the headers of a fault in any format. A 401 challenges (RFC 9110 §15.5.2); what is worth
 * repeating carries `Retry-After`, of the fault itself or else of its code.
 */
export function faultHeaders(
  { code, status, headers, money }: Fault,
  outcome = money ?? outcomeOfCode(code),
): HttpResponse['headers'] {
  const { 'Retry-After': own, ...others } = headers
  const retryAfter = mustNotRepeat(outcome)
    ? undefined
    : (own ?? guidanceFor(code, outcome).retryAfter)
  return {
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer realm="hub"' }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...others,
  }
}

/** Converts anything thrown into a fault; the unexpected becomes `internal_error`. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  // A failed refund matters more than the failure that caused it.
  if (error instanceof SuppressedError) return toFault(error.error)
  if (error instanceof LedgerUnavailable || isDatabaseDown(error)) {
    return new Fault('service_unavailable', undefined, { cause: error })
  }
  return new Fault('internal_error', undefined, { cause: error })
}

/** Adds the outcome of the money to a fault that does not tell it. */
export function withOutcome(fault: Fault, money: MoneyOutcome): Fault {
  if ((fault.money ?? outcomeOfCode(fault.code)) !== 'unknown') return fault
  return fault.with({ cause: fault.cause ?? fault, money })
}

/**
 * Faults of the hub itself, reported to the operator, with the component that failed if its error
 * does not name it. Faults of callers and providers are not reported.
 */
const OPERATOR_FAULTS: ReadonlyMap<FaultCode, string | undefined> = new Map([
  ['internal_error', undefined],
  ['service_unavailable', undefined],
  ['payment_pending', 'facilitator'],
  ['facilitator_unavailable', 'facilitator'],
  ['chain_unavailable', 'blockchain node'],
  ['signer_unavailable', 'signer'],
])

/** Converts an error into a fault. Logs faults of the hub itself, and outages only once. */
export function reportFault(
  error: unknown,
  log: Log,
  at: Readonly<Record<string, unknown>>,
): Fault {
  const fault = toFault(error)
  if (OPERATOR_FAULTS.has(fault.code)) {
    const err = fault.cause ?? fault
    const component = componentOf(err) ?? OPERATOR_FAULTS.get(fault.code)
    logFailure(log, 'error', { err, ...(component && { component }), ...at }, fault.code)
  }
  return fault
}

/** Creates the 405 fault that lists the allowed methods. */
export const methodNotAllowed = (path: string, allowed: readonly string[]): Fault =>
  new Fault('method_not_allowed', `${path} takes ${allowed.join(', ')}.`, {
    headers: { Allow: allowed.join(', ') },
  })
