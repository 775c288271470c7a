import { FAULTS, Fault, type FaultCode } from '../../core/errors.ts'
import { LedgerUnavailable } from '../../core/ledger/retry.ts'
import type { Log } from '../../core/log.ts'
import type { Reply } from '../proxy/call.ts'

/**
 * A fault as problem details (RFC 9457), with our members: what to do, and what was charged,
 * which is nothing but for money that a seller took. Members of the fault stand beside them and
 * may not replace them.
 */
export function problem(fault: Fault, requestId: string, instance: string, charged = 0): Reply {
  const [status, title, advice, retryable = false] = FAULTS[fault.code] as readonly [
    number,
    string,
    string,
    boolean?,
  ]
  return {
    status,
    headers: {
      ...faultHeaders(fault),
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
      detail: fault.message,
      instance,
      code: fault.code,
      advice,
      request_id: requestId,
      retryable,
    },
  }
}

/** Headers that the answer to a fault has in any form; a 401 challenges (RFC 9110 §15.5.2). */
export const faultHeaders = ({ status, headers }: Fault): Reply['headers'] => ({
  ...(status === 401 && { 'WWW-Authenticate': 'Bearer realm="hub"' }),
  ...headers,
})

/** Whatever was thrown, as a fault: what nobody expected is told as an internal error. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  // What could not be given back counts more than why it was to be.
  if (error instanceof SuppressedError) return toFault(error.error)
  if (error instanceof LedgerUnavailable || isDatabaseDown(error)) {
    return new Fault('service_unavailable', undefined, { headers: RETRY_AFTER, cause: error })
  }
  return new Fault('internal_error', undefined, { cause: error })
}

/** Faults of the hub itself; those of callers and providers are no errors of the operator's. */
const OPERATOR_FAULTS: ReadonlySet<FaultCode> = new Set([
  'internal_error',
  'service_unavailable',
  'payment_pending',
])

/** Whether the operator is to be told. */
const isOperatorFault = ({ code }: Fault): boolean => OPERATOR_FAULTS.has(code)

/** Seconds until a database is back as a rule. */
const RETRY_AFTER = { 'Retry-After': '5' } as const

/** What pg says of a connection that is lost or does not come about; it gives no code with it. */
const NO_CONNECTION =
  /^(?:Connection terminated|timeout exceeded when|Query read timeout|Client has encountered)/
/** SQLSTATE classes and socket errors that mean "not now" (design §13). */
const UNAVAILABLE_CODES = /^(?:08|57P|53)|^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/

function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? UNAVAILABLE_CODES.test(code) : NO_CONNECTION.test(error.message)
}

/** What went wrong, as a fault. The operator is told of those of the hub, and where they were. */
export function reportFault(
  error: unknown,
  log: Log,
  at: Readonly<Record<string, unknown>>,
): Fault {
  const fault = toFault(error)
  if (isOperatorFault(fault)) log.error({ err: fault.cause ?? fault, ...at }, fault.code)
  return fault
}

/** Told with the methods that there are. */
export const methodNotAllowed = (path: string, allowed: readonly string[]): Fault =>
  new Fault('method_not_allowed', `${path} takes ${allowed.join(', ')}.`, {
    headers: { Allow: allowed.join(', ') },
  })
