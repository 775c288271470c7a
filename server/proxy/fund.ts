import type { Caller } from '../../core/identity/keys.ts'
import type { CallDeps } from './call-deps.ts'
import type { Funds, PricedCall } from './call-types.ts'
import { reserveCredits } from './funds/credits.ts'
import { reserveFreeCall } from './funds/free-calls.ts'
import { chargeNothing } from './funds/no-charge.ts'
import { reserveX402 } from './funds/x402.ts'
import { acceptsX402 } from './payment-required.ts'

/**
 * Reserves the price from the first source that covers it; undefined if none does.
 * @throws Fault `payment_invalid`, `key_limit_reached`, or `concurrency_limited`
 */
export const fund = (deps: CallDeps, priced: PricedCall): Funds | Promise<Funds | undefined> =>
  priced.price === 0n ? chargeNothing(deps, priced) : firstFundingSource(RESERVE, deps, priced)

/** The same operation on each funding source; undefined if the source cannot cover the price. */
export interface FundingSources<Result> {
  readonly freeCall: (
    deps: CallDeps,
    caller: Caller,
    priced: PricedCall,
  ) => Promise<Result | undefined> | undefined
  readonly credits: (
    deps: CallDeps,
    caller: Caller,
    priced: PricedCall,
  ) => Promise<Result | undefined>
  readonly x402: (deps: CallDeps, priced: PricedCall) => Promise<Result | undefined>
}

const RESERVE: FundingSources<Funds> = {
  freeCall: reserveFreeCall,
  credits: reserveCredits,
  x402: reserveX402,
}

/** Tries free calls, then credits, then x402; returns the first that succeeds. */
export async function firstFundingSource<Result>(
  { freeCall, credits, x402 }: FundingSources<Result>,
  deps: CallDeps,
  priced: PricedCall,
): Promise<Result | undefined> {
  const { caller } = priced
  if (caller.keyId !== null) {
    const free = freeCall(deps, caller, priced)
    const result = (free && (await free)) ?? (await credits(deps, caller, priced))
    if (result) return result
  }
  return acceptsX402(deps, priced) ? await x402(deps, priced) : undefined
}
