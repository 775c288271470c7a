import { Fault } from '../../../core/errors.ts'
import type { Micros } from '../../../core/money.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import type { CallDeps } from '../call-deps.ts'
import type { Charge, Funds, PricedCall } from '../call-types.ts'

/** Limits of concurrent free calls without a key, per process, in total and per network. */
export const KEYLESS_CALLS = { max: 64, maxPerKey: 16 } as const

/**
 * Funds of an endpoint that costs nothing. Limits how many calls without a key run at once.
 * @throws Fault `concurrency_limited`
 */
export function chargeNothing(
  { keylessCalls }: Pick<CallDeps, 'keylessCalls'>,
  { caller }: Pick<PricedCall, 'caller'>,
): Funds {
  if (caller.keyId !== null) return { ...NO_CHARGE, payer: caller.keyId }
  const free = keylessCalls.take(networkPrefix(caller.ip))
  if (!free) throw new Fault('concurrency_limited')
  return { ...NO_CHARGE, [Symbol.asyncDispose]: async () => free() }
}

const NOTHING: Charge = { source: 'none', amount: 0n as Micros, balance: undefined }

const NO_CHARGE: Funds = {
  source: 'none',
  payer: 'nobody',
  settle: async () => NOTHING,
  [Symbol.asyncDispose]: async () => {},
}
