/** A 20-byte account or contract address, a hash, or other bytes, as `0x…`. */
export type Hex = `0x${string}`

/** A blockchain by its CAIP-2 name. */
export type Network = `eip155:${number}`

/** A token that the hub accepts and spends. Only tokens in the table below count as money. */
export interface Asset {
  readonly network: Network
  /** Name of the network in version 1 of x402, and in the accounts of the ledger. */
  readonly v1Network: string
  readonly chainId: number
  /** The token contract, with the checksum of EIP-55. */
  readonly address: Hex
  /** Name in the EIP-712 domain that a payer signs. Another name or version is another token. */
  readonly name: string
  readonly version: string
  readonly decimals: number
}

/** Properties of every USDC contract of Circle. One atomic unit is one microdollar. */
const USDC = { name: 'USD Coin', version: '2', decimals: 6 } as const

/**
 * USDC on Base. One atomic unit is one microdollar, so that the ledger needs no conversion.
 * Source: Circle's list of USDC contract addresses; name and version read from the contract.
 */
export const USDC_BASE = {
  network: 'eip155:8453',
  v1Network: 'base',
  chainId: 8453,
  address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  ...USDC,
} as const satisfies Asset

/**
 * Networks besides Base on which callers can pay, if configured. Same source. Their blocks take at
 * least a second, which reconciliation relies on.
 */
export const FURTHER_ASSETS: readonly Asset[] = [
  {
    network: 'eip155:137',
    v1Network: 'polygon',
    chainId: 137,
    address: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    ...USDC,
  },
  {
    network: 'eip155:10',
    v1Network: 'optimism',
    chainId: 10,
    address: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
    ...USDC,
  },
]

/** Returns the asset used on `network`. @throws RangeError for an unknown network */
export function assetOf(network: string): Asset {
  const found = [USDC_BASE, ...FURTHER_ASSETS].find((asset) => asset.network === network)
  if (found === undefined) throw new RangeError(`no asset is known on the network ${network}`)
  return found
}
