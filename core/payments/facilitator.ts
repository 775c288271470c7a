import type { FacilitatorClient } from '@x402/core/server'
import { assetOf } from './asset.ts'

/**
 * Who checks a payment and brings it onto the chain: our own key (`facilitators/local.ts`) or a
 * service (`facilitators/http.ts`). The shape is that of @x402/core, whose every facilitator fits:
 * `verify(payload, requirements)`, `settle(payload, requirements)` and `getSupported()`.
 *
 * `settle` that has sent a transaction and does not know its fate answers `success: false` with
 * `errorReason: 'settlement_pending'` and the hash; the same payload again asks after it.
 */
export type Facilitator = FacilitatorClient

/**
 * A settlement reason of our own: the facilitator failed before anything left it, so that the
 * payment cannot have happened. The payer is not at fault and may send the same payload again.
 */
export const NOT_BROADCAST = 'not_broadcast'

/** The facilitator gave no answer. What it was asked to settle may have been settled anyway. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable'
}

/**
 * Checks at start that the facilitator settles what the hub sells: scheme exact, version 2.
 * @throws FacilitatorUnavailable when it does not, or does not answer.
 */
export async function assertSupports(facilitator: Facilitator, network: string): Promise<void> {
  const asset = assetOf(network)
  const { kinds } = await facilitator.getSupported().catch((cause) => {
    throw new FacilitatorUnavailable('The facilitator does not say what it supports.', { cause })
  })
  const fits = kinds.some(
    (kind) => kind.x402Version === 2 && kind.scheme === 'exact' && kind.network === asset.network,
  )
  if (!fits) {
    throw new FacilitatorUnavailable(`The facilitator does not settle "exact" on ${network}.`)
  }
}
