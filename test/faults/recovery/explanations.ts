import type { FaultName } from './fault-schedule.ts'
import {
  type Answer,
  type Attempt,
  type ClientLog,
  codeOf,
  type FaultWindow,
  type LoggedRequest,
} from './request-log.ts'
import { SLOWNESS_MAX, slownessOf } from './slowness.ts'

/** Time after a repair in which its fault still explains an answer, on an idle machine. */
const AFTERMATH_MS = 15_000
/** Time in which sellers send the transactions again that a stopped node has lost. */
const SELLER_AFTERMATH_MS = 120_000

const REFUSALS = [
  'refused',
  'lost',
  '503 service_unavailable',
  '409 idempotency_in_progress',
  '409 payment_in_progress',
  '410 response_lost',
]
/** The own facilitator stores each transaction before it sends it. */
const DATABASE_REFUSALS = [
  ...REFUSALS,
  '503 facilitator_unavailable',
  '202 payment_pending',
  '202 pending',
]
const CHAIN_REFUSALS = [
  '503 facilitator_unavailable',
  '503 chain_unavailable',
  '503 service_unavailable',
  '202 payment_pending',
  '202 pending',
  '409 payment_in_progress',
  ...['error', 'payment_rejected', 'unreachable'].map((each) => `502 upstream_${each}`),
  '504 upstream_timeout',
]

/** Answers that a fault explains, by status and code; `refused` and `lost` are connections. */
const EXPLAINED: Readonly<Record<FaultName, readonly string[]>> = {
  'kill -9 of the hub': REFUSALS,
  'kill -9 of a worker': REFUSALS,
  // A drain answers every request of the connections that it accepted.
  'SIGTERM restart of the hub': REFUSALS.filter((each) => each !== 'lost'),
  // Payments to sellers wait for reconciliation after the server has started again.
  'kill -9 of PostgreSQL': [...DATABASE_REFUSALS, '503 payments_paused'],
  'SIGSTOP of PostgreSQL': DATABASE_REFUSALS,
  'SIGSTOP of the chain': CHAIN_REFUSALS,
  'restart of the chain': CHAIN_REFUSALS,
  'SIGSTOP of the second chain': CHAIN_REFUSALS,
  'restart of the second chain': CHAIN_REFUSALS,
  'kill -9 of the jobs': [],
  'Redis is unreachable': [],
  'mail server is unreachable': [],
  'webhooks are refused': [],
}

/** Answers of a request that exceeded a limit of time, which on a slow machine needs no fault. */
const TIMEOUTS: ReadonlySet<string> = new Set([
  '503 facilitator_unavailable',
  '503 chain_unavailable',
  '503 service_unavailable',
])
/**
 * Answers that follow from an earlier attempt that was cut off or left open. A seller that was paid
 * by it refuses the same payment, and one of MPP is not asked again.
 */
const CONTINUED = new Set([
  ...REFUSALS.slice(3),
  '202 payment_pending',
  '202 pending',
  '502 upstream_payment_rejected',
  '502 upstream_error',
])
const SELLER = /^50[24] upstream_/

const CHAIN = /(the|second) chain$/

/** No network delays another one: a fault of a chain explains nothing about payments elsewhere. */
function concerns(fault: string, { network }: LoggedRequest): boolean {
  const [, chain] = CHAIN.exec(fault) ?? []
  return chain === undefined || (chain === 'second') === (network !== undefined)
}

/** Every lost connection and every 5xx, 202, 409 and 410 has a cause that explains it. */
export function checkExplanations(log: ClientLog): string[] {
  const { requests, faults } = log
  const slowness = slownessOf(log)
  return requests.flatMap((request) =>
    request.attempts.flatMap((attempt, n) => {
      const answer = describe(attempt)
      if (answer === undefined || (request.kind === 'sign-in' && attempt.status === 202)) return []
      const earlier = request.attempts.slice(0, n)
      if (isExplained(answer, attempt, { request, earlier, faults, slowness })) return []
      const at = new Date(attempt.sentAt).toISOString()
      return [`unexplained ${answer} of ${request.kind} request ${request.id} at ${at}`]
    }),
  )
}

/** Returns status and code of an answer that needs an explanation. */
export function describe(answer: Answer): string | undefined {
  const { status, error } = answer
  if (status === undefined && error === undefined) return undefined
  if (status === undefined) return error === 'ECONNREFUSED' ? 'refused' : 'lost'
  if (status < 500 && ![202, 409, 410].includes(status)) return undefined
  return codeOf(answer)
}

interface Circumstances {
  readonly request: LoggedRequest
  readonly earlier: readonly Attempt[]
  readonly faults: readonly FaultWindow[]
  readonly slowness: number
}

function isExplained(
  answer: string,
  { sentAt, endedAt = sentAt }: Attempt,
  { request, earlier, faults, slowness }: Circumstances,
): boolean {
  if (request.kind === 'external' && request.seller !== 'honest' && SELLER.test(answer)) return true
  if (CONTINUED.has(answer) && earlier.some((each) => describe(each) !== undefined)) return true
  return faults.some(({ name, begunAt, backAt }) => {
    const aftermathMs = SELLER.test(answer) ? SELLER_AFTERMATH_MS : slowness * AFTERMATH_MS
    const isDuring = endedAt >= begunAt && sentAt <= backAt + aftermathMs
    const isSlow = slowness === SLOWNESS_MAX && TIMEOUTS.has(answer)
    const explains = isSlow || EXPLAINED[name as FaultName].includes(answer)
    return isDuring && concerns(name, request) && explains
  })
}
