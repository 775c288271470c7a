/** A 20-byte account or contract address, a hash, or other bytes, as `0x…`. */
export type Hex = `0x${string}`

/** A blockchain by its CAIP-2 name. */
export type Network = `eip155:${number}`

/** A token that the hub accepts and spends. Only tokens in the table below count as money. */
export interface Asset {
  readonly network: Network
  /** Name of the network in version 1 of x402. */
  readonly v1Network: string
  readonly chainId: number
  /** The token contract, with the checksum of EIP-55. */
  readonly address: Hex
  /** Name in the EIP-712 domain that a payer signs. Another name or version is another token. */
  readonly name: string
  readonly version: string
  readonly decimals: number
}

/**
 * USDC on Base. One atomic unit is one microdollar, so that the ledger needs no conversion.
 * Source: Circle's list of USDC contract addresses; name and version read from the contract.
 */
export const USDC_BASE = {
  network: 'eip155:8453',
  v1Network: 'base',
  chainId: 8453,
  address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  name: 'USD Coin',
  version: '2',
  decimals: 6,
} as const satisfies Asset

const ASSETS: readonly Asset[] = [USDC_BASE]

/** Returns the asset used on `network`. @throws RangeError for an unknown network */
export function assetOf(network: string): Asset {
  const found = ASSETS.find((asset) => asset.network === network)
  if (found === undefined) throw new RangeError(`no asset is known on the network ${network}`)
  return found
}
