import { Fault } from '../../core/errors.ts'
import { json } from '../../core/money.ts'
import type { Funds, Offer } from './call.ts'

/** The same fault, which says what went back and why: programs decide by it what they do next. */
export function refunded(fault: Fault, { call, price }: Offer, { source }: Funds): Fault {
  const { reason: told } = fault.extras
  const reason = typeof told === 'string' ? told : fault.code
  const back =
    source === 'credits'
      ? { source, amount_microdollars: json(price), reason }
      : source === 'free'
        ? { source, free_calls: 1, reason }
        : undefined
  return new Fault(fault.code, fault.message, {
    extras: { ...fault.extras, call_id: call, ...(back && { refund: back }) },
    headers: { ...fault.headers, 'X-Call-Id': call, ...(back && { 'X-Refund-Reason': reason }) },
    cause: fault.cause,
  })
}
