import type { FacilitatorClient } from '@x402/core/server'
import type { LocalAccount } from 'viem'
import { Unavailable } from '../../outages.ts'
import { type Asset, assetOf, type Hex } from '../chain/asset.ts'

/**
 * Verifies payments and settles them on the chain, with the hub's own key (`local.ts`) or through
 * a service (`http.ts`). Compatible with every facilitator of @x402/core:
 * `verify(payload, requirements)`, `settle(payload, requirements)` and `getSupported()`.
 *
 * If `settle` has sent a transaction and does not know its outcome, it returns `success: false`
 * with `errorReason: 'settlement_pending'` and the hash; calling it again asks for the outcome.
 */
export interface Facilitator extends FacilitatorClient {
  /**
   * Address that alone can settle payments of at most an amount (scheme `upto`). Omitted if the
   * facilitator settles none.
   */
  readonly uptoSettler?: Hex
  /**
   * Approves Permit2 for a wallet of the hub, which signs but has no gas. Omitted if the
   * facilitator is a service.
   */
  readonly approvePermit2?: (account: LocalAccount) => Promise<void>
  /**
   * Variant that may share a node request or a transaction among concurrent payments. Its `verify`
   * only checks that the payment can be made: the caller has already compared it with the
   * requirements and the clock. Omitted if the facilitator handles payments one by one.
   */
  readonly batched?: BatchedFacilitator
}

export interface BatchedFacilitator extends Pick<FacilitatorClient, 'verify' | 'settle'> {
  /**
   * Asks the node for what the settlement of a payment needs, if no other one is being settled or
   * prepared. Sends nothing; `settle` asks again unless it follows within a second, alone.
   */
  prepare?(...payment: Parameters<FacilitatorClient['settle']>): void
}

/** Settlement reason: nothing was sent, so the payer may send the same payload again. */
export const NOT_BROADCAST = 'not_broadcast'

/** The facilitator did not respond. A requested settlement may have happened anyway. */
export class FacilitatorUnavailable extends Unavailable {
  override readonly name = 'FacilitatorUnavailable'
  readonly component: string

  /** @param component name of the facilitator in logs and health. @defaultValue that of Base */
  constructor(message: string, options: ErrorOptions = {}, component = 'facilitator') {
    super(message, options)
    this.component = component
  }
}

/**
 * Checks at startup that the facilitator settles what the hub sells (version 2, scheme exact, USDC
 * by EIP-3009) and sends from wallets of its own. Requires no extension.
 * @param ownWallets addresses whose keys only this hub may have
 * @throws FacilitatorUnavailable if it does not, or does not respond
 */
export async function assertSupports(
  facilitator: Facilitator,
  network: string,
  ownWallets: readonly Hex[] = [],
): Promise<void> {
  const asset = assetOf(network)
  const { kinds, signers } = await facilitator.getSupported().catch((cause: unknown) => {
    const detail = cause instanceof FacilitatorUnavailable ? ` ${cause.message}` : ''
    throw new FacilitatorUnavailable(`The facilitator does not report what it supports.${detail}`, {
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

/** Returns true if everything a kind states about its token matches the asset. */
function matchesAsset(asset: Asset, extra: Readonly<Record<string, unknown>> = {}): boolean {
  const { name, version, address } = asset
  const ours: Record<string, string> = { name, version, asset: address, ...EIP_3009 }
  return Object.entries(ours).every(([key, value]) => {
    const theirs = extra[key]
    return theirs === undefined || (typeof theirs === 'string' && isSameText(theirs, value))
  })
}

const EIP_3009 = { assetTransferMethod: 'eip3009' }
