import type { FacilitatorClient } from '@x402/core/server'
import { type Asset, assetOf, type Hex } from '../chain/asset.ts'

/**
 * Who checks a payment and brings it onto the chain: our own key (`facilitators/local.ts`) or a
 * service (`facilitators/http.ts`). The shape is that of @x402/core, whose every facilitator fits:
 * `verify(payload, requirements)`, `settle(payload, requirements)` and `getSupported()`.
 *
 * `settle` that has sent a transaction and does not know its fate answers `success: false` with
 * `errorReason: 'settlement_pending'` and the hash; the same payload again asks after it.
 */
export interface Facilitator extends FacilitatorClient {
  /**
   * The same, for a seller of many things at a time: a payment may share a question to the node, or
   * a transaction, with others that come at the same time. Whoever calls `verify` has compared the
   * payment with the requirements and the clock: whether it can be made is all that is asked. Left
   * out: one by one.
   */
  readonly batched?: Pick<FacilitatorClient, 'verify' | 'settle'>
}

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
 * Checks at start what the hub relies on: that the facilitator settles what is sold (version 2,
 * scheme exact, our token, by EIP-3009), and sends from wallets of its own. No extension is needed.
 * @param ownWallets addresses whose keys nobody else may have
 * @throws FacilitatorUnavailable when it does not, or does not answer.
 */
export async function assertSupports(
  facilitator: Facilitator,
  network: string,
  ownWallets: readonly Hex[] = [],
): Promise<void> {
  const asset = assetOf(network)
  const { kinds, signers } = await facilitator.getSupported().catch((cause: unknown) => {
    const why = cause instanceof FacilitatorUnavailable ? ` ${cause.message}` : ''
    throw new FacilitatorUnavailable(`The facilitator does not say what it supports.${why}`, {
      cause,
    })
  })
  const fits = kinds.some(
    (kind) =>
      kind.x402Version === 2 &&
      kind.scheme === 'exact' &&
      kind.network === asset.network &&
      matchesAsset(asset, kind.extra),
  )
  if (!fits) {
    const offered = kinds.map((kind) => `${kind.scheme} v${kind.x402Version} on ${kind.network}`)
    const others = offered.slice(0, KINDS_SHOWN).join(', ') || 'nothing'
    throw new FacilitatorUnavailable(
      `The facilitator does not settle "exact" (version 2, EIP-3009) on ${network}, but ${others}.`,
    )
  }
  const senders = [...(signers[asset.network] ?? []), ...(signers['eip155:*'] ?? [])]
  const own = senders.find((sender) => ownWallets.some((wallet) => isSameText(wallet, sender)))
  if (own !== undefined) {
    throw new FacilitatorUnavailable(
      `The facilitator sends from ${own}, a wallet of this hub: somebody else has its key.`,
    )
  }
}

const KINDS_SHOWN = 10

const isSameText = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Whether what a kind says of its token, if it says something, is what the hub sells for. */
function matchesAsset(asset: Asset, extra: Readonly<Record<string, unknown>> = {}): boolean {
  const { name, version, address } = asset
  const ours: Record<string, string> = { name, version, asset: address, ...EIP_3009 }
  return Object.entries(ours).every(([key, value]) => {
    const theirs = extra[key]
    return theirs === undefined || (typeof theirs === 'string' && isSameText(theirs, value))
  })
}

const EIP_3009 = { assetTransferMethod: 'eip3009' }
