import { json } from '../../core/money.ts'
import type { FundingSource, PricedCall } from './call-types.ts'

/** Refund of a call: the amount of credits, or the number of free calls or units. */
export interface Refund {
  readonly source: FundingSource
  /** Microdollars. */
  readonly amount: bigint
  readonly units: bigint
}

/** Shows a refund in a fault: `amount_microdollars`, `free_calls`, or `free_units` and `unit`. */
export function showRefund(
  { metered }: Pick<PricedCall, 'metered'>,
  { source, amount, units }: Refund,
  reason: string,
) {
  if (source !== 'free') return { source, amount_microdollars: json(amount), reason }
  if (!metered) return { source, free_calls: json(units), reason }
  return { source, free_units: json(units), unit: metered.unit, reason }
}
