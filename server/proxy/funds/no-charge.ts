import { Readable } from 'node:stream'
import { Fault } from '../../../core/errors.ts'
import type { Micros } from '../../../core/money.ts'
import { networkPrefix } from '../../../core/usage/network.ts'
import { serializeBody } from '../../http/exchange.ts'
import type { CallDeps } from '../call-deps.ts'
import type { CallOutcome, Charge, Funds, PricedCall } from '../call-types.ts'

/** Limits of free calls without a key, per process: nobody pays for them, and nobody is known. */
export const KEYLESS_CALLS = { max: 64, maxPerKey: 16 } as const
/** Maximum length of a free response without a key. */
export const KEYLESS_BYTES_MAX = 4 * 1_048_576

/**
 * Funds of an endpoint that costs nothing. Without a key, only so many calls run at once.
 * @throws Fault `concurrency_limited`
 */
export function chargeNothing(
  { keylessCalls }: Pick<CallDeps, 'keylessCalls'>,
  { caller }: Pick<PricedCall, 'caller'>,
): Funds {
  if (caller.keyId !== null) return NO_CHARGE
  const free = keylessCalls.take(networkPrefix(caller.ip))
  if (!free) throw new Fault('concurrency_limited', undefined, { headers: { 'Retry-After': '1' } })
  return {
    ...NO_CHARGE,
    async settle(outcome) {
      assertShort(outcome)
      return NOTHING
    },
    [Symbol.asyncDispose]: async () => free(),
  }
}

const NOTHING: Charge = { source: 'none', amount: 0n as Micros, balance: undefined }

const NO_CHARGE: Funds = {
  source: 'none',
  payer: 'nobody',
  settle: async () => NOTHING,
  [Symbol.asyncDispose]: async () => {},
}

/** @throws Fault `response_needs_key` */
function assertShort({ body }: CallOutcome): void {
  if (body instanceof Readable) return // sent as fast as it is read
  const length = Buffer.byteLength(serializeBody(body))
  if (length <= KEYLESS_BYTES_MAX) return
  throw new Fault('response_needs_key', undefined, {
    extras: { limit_bytes: KEYLESS_BYTES_MAX, actual_bytes: length },
  })
}
