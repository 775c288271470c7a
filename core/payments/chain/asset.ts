/** A 20-byte account or contract address, a hash, or other bytes, as `0x…`. */
export type Hex = `0x${string}`

/** A blockchain by its CAIP-2 name. */
export type Network = `eip155:${number}`

/** A token that the hub takes and spends. What is not in the table below is not money here. */
export interface Asset {
  readonly network: Network
  /** What version 1 of x402 calls the network. */
  readonly v1Network: string
  readonly chainId: number
  /** The token contract, with the checksum of EIP-55. */
  readonly address: Hex
  /** The EIP-712 domain, which a payer signs: another name or version is another token. */
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

/**
 * What the hub sells and buys with on `network`.
 * @throws RangeError for a network without one.
 */
export function assetOf(network: string): Asset {
  const found = ASSETS.find((asset) => asset.network === network)
  if (found === undefined) throw new RangeError(`no asset is known on the network ${network}`)
  return found
}
