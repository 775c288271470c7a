import { FAULTS, Fault, type FaultCode } from '../../core/errors.ts'
import { guidanceFor, outcomeOfCode } from '../../core/guidance.ts'
import { LedgerUnavailable } from '../../core/ledger/retry.ts'
import type { Log } from '../../core/log.ts'
import type { HttpResponse } from './http-response.ts'

/**
 * Builds the problem details (RFC 9457) of a fault, with extension members for advice and for the
 * amount charged, which is zero unless a seller took the money. Extras of the fault are added and
 * cannot replace the standard members.
 */
export function problem(
  fault: Fault,
  requestId: string,
  instance: string,
  charged = 0,
): HttpResponse {
  const [status, title, defaultDetail] = FAULTS[fault.code]
  const money = charged > 0 ? 'taken' : (fault.money ?? outcomeOfCode(fault.code))
  const { advice, retryable } = guidanceFor(fault.code, money)
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

/**
 * Returns the headers of a fault in any format. A 401 challenges (RFC 9110 §15.5.2); what is worth
 * repeating carries `Retry-After`, of the fault itself or else of its code.
 */
export function faultHeaders(
  { code, status, headers, money }: Fault,
  outcome = money ?? outcomeOfCode(code),
): HttpResponse['headers'] {
  const isSpent = outcome === 'taken' || outcome === 'unresolved' // a repetition could pay again
  const { 'Retry-After': own, ...others } = headers
  const retryAfter = isSpent ? undefined : (own ?? guidanceFor(code, outcome).retryAfter)
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

/** Faults of the hub itself, reported to the operator; those of callers and providers are not. */
const OPERATOR_FAULTS: ReadonlySet<FaultCode> = new Set([
  'internal_error',
  'service_unavailable',
  'payment_pending',
])

const isOperatorFault = ({ code }: Fault): boolean => OPERATOR_FAULTS.has(code)

/** Messages of pg for lost and failed connections, which carry no code. */
const NO_CONNECTION =
  /^(?:Connection terminated|timeout exceeded when|Query read timeout|Client has encountered)/
/** SQLSTATE classes and socket errors of a database that is temporarily unavailable. */
const UNAVAILABLE_CODES = /^(?:08|57P|53)|^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/

function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? UNAVAILABLE_CODES.test(code) : NO_CONNECTION.test(error.message)
}

/** Converts an error into a fault. Logs faults of the hub itself with their location. */
export function reportFault(
  error: unknown,
  log: Log,
  at: Readonly<Record<string, unknown>>,
): Fault {
  const fault = toFault(error)
  if (isOperatorFault(fault)) log.error({ err: fault.cause ?? fault, ...at }, fault.code)
  return fault
}

/** Creates the 405 fault that lists the allowed methods. */
export const methodNotAllowed = (path: string, allowed: readonly string[]): Fault =>
  new Fault('method_not_allowed', `${path} takes ${allowed.join(', ')}.`, {
    headers: { Allow: allowed.join(', ') },
  })
