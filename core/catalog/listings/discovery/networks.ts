import { getAddress, isAddress } from 'viem'

/** Network on which sellers accept payments. */
export interface KnownNetwork {
  /** CAIP-2. */
  readonly id: string
  /** Name in x402 version 1. */
  readonly name: string
  /** USDC address from Circle; six decimals, so that an atomic unit is a microdollar. */
  readonly usdc?: string
  readonly test?: true
}

/**
 * Sources: ethereum-lists/chains and the CAIP-2 namespace of Solana for chain ids, Circle's "USDC
 * contract addresses" for tokens. A network without a token is known, but offers on it have no
 * price in dollars that the chain alone could prove.
 */
const NETWORKS: readonly KnownNetwork[] = [
  { id: 'eip155:8453', name: 'base', usdc: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
  { id: 'eip155:1', name: 'ethereum', usdc: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
  { id: 'eip155:137', name: 'polygon', usdc: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359' },
  { id: 'eip155:42161', name: 'arbitrum', usdc: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831' },
  { id: 'eip155:10', name: 'optimism', usdc: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85' },
  { id: 'eip155:43114', name: 'avalanche', usdc: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E' },
  {
    id: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    name: 'solana',
    usdc: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  },
  { id: 'eip155:56', name: 'bsc' },
  { id: 'eip155:1329', name: 'sei' },
  { id: 'eip155:84532', name: 'base-sepolia', test: true },
  { id: 'eip155:11155111', name: 'sepolia', test: true },
  { id: 'eip155:80002', name: 'polygon-amoy', test: true },
  { id: 'eip155:421614', name: 'arbitrum-sepolia', test: true },
  { id: 'eip155:43113', name: 'avalanche-fuji', test: true },
  { id: 'eip155:1328', name: 'sei-testnet', test: true },
  { id: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', name: 'solana-devnet', test: true },
]

const BY_NAME = new Map(
  NETWORKS.flatMap((network) => [[network.id, network] as const, [network.name, network] as const]),
)

/** Finds a network by its CAIP-2 id, or by its name in x402 version 1. */
export const findNetwork = (text: unknown): KnownNetwork | undefined =>
  typeof text === 'string' ? BY_NAME.get(text) : undefined

const isEvm = ({ id }: KnownNetwork): boolean => id.startsWith('eip155:')

const ZERO = /^0x0{40}$/
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** Returns a payable address with its EIP-55 checksum; undefined if malformed or mistyped. */
export function checksummedPayee(network: KnownNetwork, text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  if (!isEvm(network)) return BASE58.test(text) && text !== network.usdc ? text : undefined
  if (!isAddress(text) || ZERO.test(text) || isToken(network, text)) return undefined
  return getAddress(text)
}

/** Returns true if `text` is the token of a network; case matters only outside EVM networks. */
export function isToken(network: KnownNetwork, text: unknown): boolean {
  if (network.usdc === undefined || typeof text !== 'string') return false
  if (!isEvm(network)) return text === network.usdc
  return text.toLowerCase() === network.usdc.toLowerCase()
}
