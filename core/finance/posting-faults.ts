import { Fault } from '../errors.ts'
import { NotPostable } from '../ledger/adjust.ts'
import type { LedgerOutcome } from '../ledger/events.ts'
import { ImpossibleValueDate } from '../ledger/value-date.ts'

const REFUSALS: Readonly<Partial<Record<LedgerOutcome, string>>> = {
  insufficient_funds: 'An account has an insufficient balance.',
  no_such_hold: 'The call was not charged.',
  above_hold: 'The refund exceeds the amount charged.',
  id_reused_with_other_terms: 'A different entry exists for this idempotency key or call.',
}

/** Returns true if the entry is new, false if posted before. @throws Fault `not_booked` */
export function isNewEntry(outcome: LedgerOutcome): boolean {
  if (outcome === 'applied') return true
  if (outcome === 'replayed') return false
  throw new Fault('not_booked', REFUSALS[outcome])
}

/** Converts rejections by the ledger's rules. @throws Fault `not_booked`, `validation_failed` */
export async function withFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ImpossibleValueDate) throw valueDateFault(error)
    const { code, message } = error as { code?: unknown; message: string }
    const isRule = error instanceof NotPostable || /^(?:23514|AH001)$/.test(String(code))
    if (!isRule) throw error
    throw new Fault('not_booked', `${message[0]!.toUpperCase()}${message.slice(1)}.`, {
      cause: error,
    })
  }
}

function valueDateFault(error: ImpossibleValueDate): Fault {
  const message = `${error.message}: nothing was posted`
  return new Fault('validation_failed', `${message[0]!.toUpperCase()}${message.slice(1)}.`, {
    cause: error,
    extras: { issues: [{ path: '/value_date', message }] },
  })
}
