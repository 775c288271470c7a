import { FAULTS, type FaultCode } from './errors.ts'
import type { FaultRow } from './fault-row.ts'
import type { MoneyOutcome } from './money-outcome.ts'

/** Advice for the caller of a failed request. */
export interface Guidance {
  readonly advice: string
  /** True if a repetition as a new request may succeed and cannot pay twice. */
  readonly retryable: boolean
  /**
   * Seconds after which the same request is worth repeating, sent as `Retry-After`. Set for all
   * that is retryable, and for a pending payment, whose request is repeated with the same payment.
   */
  readonly retryAfter?: number | undefined
}

/** Outcomes that forbid the advice of the table, which assumes that nothing was paid. */
const GUIDANCE = {
  taken: {
    advice: 'You were charged: the seller took the money. A new request would pay again.',
    retryable: false,
  },
  unresolved: {
    advice:
      'The price is held until the outcome is known. To get it, send the request again with the ' +
      'same Idempotency-Key, or read the call; a new request may pay twice.',
    retryable: false,
  },
  uncertain: {
    advice:
      'The call may have been charged: check /v1/credits/history before you try again. With an ' +
      'Idempotency-Key you can always try again: it is charged once.',
    retryable: false,
  },
  unconfirmed: {
    advice: 'The change may have been made: read it before you send the request again.',
    retryable: false,
  },
  kept: {
    advice: 'Send the same request with the same payment again: it is paid.',
    retryable: true,
    retryAfter: 1,
  },
  withheld: {
    advice:
      'Your payment was received and pays for nothing here: it becomes credits of your wallet ' +
      'within a day. Call it over HTTP, by the proxy, with another payment.',
    retryable: false,
  },
} as const satisfies Partial<Record<MoneyOutcome, Guidance>>

const NOTHING_MOVED = 'Nothing was charged. Try again later.'

/** Seconds after which the outcome of a payment may be known: about a block. */
const PENDING_SECONDS = 2

/** Codes that imply an outcome other than `none`. */
const OUTCOMES: Partial<Record<FaultCode, MoneyOutcome>> = {
  payment_pending: 'pending',
  payment_in_progress: 'pending',
  answer_expired: 'settled',
  response_lost: 'refunded',
  payment_replayed: 'settled',
  internal_error: 'unknown',
  service_unavailable: 'unknown',
}

/** Outcome of the money that a code implies, unless its fault states another one. */
export const outcomeOfCode = (code: FaultCode): MoneyOutcome => OUTCOMES[code] ?? 'none'

const isDecisive = (outcome: MoneyOutcome): outcome is keyof typeof GUIDANCE => outcome in GUIDANCE

/** Returns true if a repetition could pay, or make its change, a second time. */
export const mustNotRepeat = (outcome: MoneyOutcome): boolean =>
  isDecisive(outcome) && !GUIDANCE[outcome].retryable

/** Determines advice and retryability from the outcome of the money, then from the code. */
export function guidanceFor(code: FaultCode, outcome: MoneyOutcome): Guidance {
  if (isDecisive(outcome)) return GUIDANCE[outcome]
  const [, , advice, seconds]: FaultRow = FAULTS[code]
  const retryable = seconds !== undefined
  const retryAfter = seconds ?? (outcome === 'pending' ? PENDING_SECONDS : undefined)
  const implied = outcomeOfCode(code)
  if (outcome === 'none' && implied === 'unknown') {
    return { advice: NOTHING_MOVED, retryable, retryAfter }
  }
  if (outcome === implied || (outcome !== 'pending' && outcome !== 'settled')) {
    return { advice, retryable, retryAfter }
  }
  if (outcome === 'pending') return { ...guidanceFor('payment_pending', outcome), retryable: false }
  return { advice: FAULTS.answer_expired[2], retryable: false }
}
