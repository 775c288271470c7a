import { FAULTS, type FaultCode } from './errors.ts'
import type { MoneyOutcome } from './money-outcome.ts'

/** Advice for the caller of a failed request. */
export interface Guidance {
  readonly advice: string
  /** True if a repetition as a new request may succeed and cannot pay twice. */
  readonly retryable: boolean
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
  kept: {
    advice: 'Send the same request with the same payment again: it is paid.',
    retryable: true,
  },
} as const satisfies Partial<Record<MoneyOutcome, Guidance>>

const NOTHING_MOVED: Guidance = {
  advice: 'Nothing was charged. Try again later.',
  retryable: true,
}

/** Codes that imply an outcome other than `none`. */
const OUTCOMES: Partial<Record<FaultCode, MoneyOutcome>> = {
  payment_pending: 'pending',
  payment_in_progress: 'pending',
  answer_expired: 'settled',
  payment_replayed: 'settled',
  internal_error: 'unknown',
  service_unavailable: 'unknown',
}

/** Outcome of the money that a code implies, unless its fault states another one. */
export const outcomeOfCode = (code: FaultCode): MoneyOutcome => OUTCOMES[code] ?? 'none'

/** Determines advice and retryability from the outcome of the money, then from the code. */
export function guidanceFor(code: FaultCode, outcome: MoneyOutcome): Guidance {
  if (outcome === 'taken' || outcome === 'unresolved' || outcome === 'kept') {
    return GUIDANCE[outcome]
  }
  const [, , advice, retryable = false] = FAULTS[code] as readonly [
    number,
    string,
    string,
    boolean?,
  ]
  const implied = outcomeOfCode(code)
  if (outcome === 'none' && implied === 'unknown') return NOTHING_MOVED
  if (outcome === implied || outcome === 'none' || outcome === 'unknown') {
    return { advice, retryable }
  }
  const { advice: other } = guidanceFor(
    outcome === 'pending' ? 'payment_pending' : 'answer_expired',
    outcome,
  )
  return { advice: other, retryable: false }
}
