import { Unavailable } from '../outages.ts'
import { type Asset, assetOf, type Hex, USDC_BASE } from './chain/asset.ts'
import type { Chain } from './chain/chain.ts'
import type { Facilitator } from './facilitators/facilitator.ts'

/** A network besides Base on which callers can pay. Nothing of it is shared with another one. */
export interface PaymentNetwork {
  readonly asset: Asset
  readonly chain: Chain
  /** Confirmations after which a small transfer is final. */
  readonly finality: bigint
  /** Verifies and settles payments; any `uptoSettler` is not used. */
  readonly facilitator: Facilitator
  /** Wallet that receives payments. */
  readonly treasury: Hex
}

/** Chains of Base and of further networks. */
export interface PaymentChains {
  /** Chain of Base. */
  readonly chain: Chain
  /** @defaultValue none */
  readonly networks?: readonly PaymentNetwork[]
}

/** Confirmations after which a small transfer is final, by network. */
export interface NetworkFinality {
  /** Confirmations on Base. */
  readonly finality: bigint
  /** @defaultValue none */
  readonly networks?: readonly {
    readonly asset: Pick<Asset, 'network'>
    readonly finality: bigint
  }[]
}

/** Returns the finality of a network by its CAIP-2 name: that of Base if it is not configured. */
export const finalityOn = ({ finality, networks = [] }: NetworkFinality, network: string): bigint =>
  networks.find(({ asset }) => asset.network === network)?.finality ?? finality

/** A payment is on a network that is not, or no longer, configured. Its outcome is unknown. */
class NetworkNotConfigured extends Unavailable {
  override readonly name = 'NetworkNotConfigured'
  readonly component = 'network configuration'
}

/** Returns the chain of a network by its CAIP-2 name. @throws NetworkNotConfigured */
export function chainOf({ chain, networks = [] }: PaymentChains, network: string): Chain {
  if (network === USDC_BASE.network) return chain
  const found = networks.find(({ asset }) => asset.network === network)
  if (found) return found.chain
  throw new NetworkNotConfigured(`Payments on ${network} exist, and HUB_X402_NETWORKS omits it.`)
}

/** Name of a component of a network in logs and health: those of Base have no addition. */
export const componentOn = (component: string, network: string): string =>
  network === USDC_BASE.network ? component : `${component} of ${assetOf(network).v1Network}`
