/**
 * State of the money when a request fails.
 * - `none`: nothing moved, or what was reserved is released
 * - `taken`: the caller paid, because a seller has taken the money
 * - `unresolved`: the price stays reserved until the outcome of a payment is known
 * - `kept`: an x402 payment was received and pays for the next attempt
 * - `withheld`: an x402 payment was received, pays for no attempt, and becomes credits of its payer
 * - `pending`: an x402 payment was or may have been sent; the same payment returns the outcome
 * - `settled`: the caller has paid, and its response is no longer stored
 * - `refunded`: the caller had paid, and the charge was refunded
 * - `unknown`: the failure does not show it; a dry run moves nothing
 * - `uncertain`: the call may have been charged, and a repetition would be charged again
 * - `unconfirmed`: the request may have made its change, and a repetition would make it again
 */
export type MoneyOutcome =
  | 'none'
  | 'unknown'
  | 'taken'
  | 'unresolved'
  | 'kept'
  | 'withheld'
  | 'pending'
  | 'settled'
  | 'refunded'
  | 'uncertain'
  | 'unconfirmed'
