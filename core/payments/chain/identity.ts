import {
  BaseError,
  ExecutionRevertedError,
  encodeFunctionData,
  encodeFunctionResult,
  hashDomain,
  isAddressEqual,
  keccak256,
  type PublicClient,
  parseAbi,
} from 'viem'
import { type Asset, type Hex, USDC_BASE } from './asset.ts'

/** Facts that distinguish a chain from its copies, and that no upgrade of the token changes. */
export interface ChainIdentity {
  readonly chainId: number
  /** Hash of block 0. */
  readonly genesis: Hex
  /** The token that counts as money; its EIP-712 domain is what payers sign. */
  readonly asset: Asset
  /** Contracts that the hub relies on, and the hash of their code. */
  readonly code: readonly { readonly name: string; readonly address: Hex; readonly hash: Hex }[]
  /**
   * Sender of the first transaction of every block. A local fork repeats the genesis block and the
   * contracts of the original, but mines blocks without it. Undefined: not checked
   */
  readonly blockOpener: Hex | undefined
}

/** Multicall3, deployed at this address on every chain; batches of payments are sent to it. */
export const MULTICALL3: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

/**
 * Base mainnet. The code of the token is that of its proxy: Circle upgrades the implementation
 * behind it, which keeps the EIP-712 domain. Contract wallets (ERC-1271, ERC-6492) are verified by
 * code that the hub sends along with each call, so there is no deployed helper to check.
 */
export const BASE_MAINNET: ChainIdentity = {
  chainId: USDC_BASE.chainId,
  genesis: '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd',
  asset: USDC_BASE,
  code: [
    {
      name: 'USDC',
      address: USDC_BASE.address,
      hash: '0xa6705a10bb756b5dea144591118be77d7af0c3eee3bf2dfe2583dcb0364fefab',
    },
    {
      name: 'Multicall3',
      address: MULTICALL3,
      hash: '0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891',
    },
  ],
  // OP Stack specification, "L1 attributes deposited transaction"
  blockOpener: '0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001',
}

type Node = Pick<PublicClient, 'request' | 'call' | 'getCode' | 'getChainId'>

/**
 * Compares a node with a chain.
 * @returns a clause that describes the first difference; undefined if there is none
 * @throws the error of viem if the node does not respond
 */
export async function findDifference(
  node: Node,
  identity: ChainIdentity,
): Promise<string | undefined> {
  for (const find of [differentChain, differentCode, differentToken, differentBlocks]) {
    const difference = await find(node, identity)
    if (difference !== undefined) return difference
  }
  return undefined
}

type Finder = (node: Node, identity: ChainIdentity) => Promise<string | undefined>

const differentChain: Finder = async (node, { chainId, genesis }) => {
  const [id, block] = await Promise.all([
    node.getChainId(),
    node.request({ method: 'eth_getBlockByNumber', params: ['0x0', false] }),
  ])
  if (id !== chainId) return `its chain id is ${id} instead of ${chainId}`
  if (block?.hash === genesis) return undefined
  return `its first block is ${block?.hash ?? 'missing'} instead of ${genesis}`
}

const differentCode: Finder = async (node, { code }) => {
  const found = await Promise.all(code.map(({ address }) => node.getCode({ address })))
  const different = code.find(({ hash }, i) => keccak256(found[i] ?? '0x') !== hash)
  return different && `the contract at ${different.address} is not ${different.name}`
}

const TOKEN = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
])
const DOMAIN = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const

/** Checks what payers sign: the token would accept no signature for another EIP-712 domain. */
const differentToken: Finder = async (node, { asset }) => {
  const { name, version, decimals, chainId, address: verifyingContract } = asset
  const domain = { name, version, chainId: BigInt(chainId), verifyingContract }
  const separator = hashDomain({ domain, types: { EIP712Domain: DOMAIN } })
  const expected = [
    encodeFunctionResult({ abi: TOKEN, functionName: 'name', result: name }),
    encodeFunctionResult({ abi: TOKEN, functionName: 'version', result: version }),
    encodeFunctionResult({ abi: TOKEN, functionName: 'decimals', result: decimals }),
    encodeFunctionResult({ abi: TOKEN, functionName: 'DOMAIN_SEPARATOR', result: separator }),
  ]
  const found = await Promise.all(TOKEN.map(({ name: each }) => read(node, asset, each)))
  const wrong = TOKEN.find((_, i) => found[i] !== expected[i])
  return wrong && `${wrong.name}() of the token is not what payers sign`
}

/** Reads a property of the token; undefined if the call reverts. */
const read = async (node: Node, { address }: Asset, functionName: (typeof TOKEN)[number]['name']) =>
  node.call({ to: address, data: encodeFunctionData({ abi: TOKEN, functionName }) }).then(
    ({ data }) => data,
    (error: unknown) => {
      const isRevert = (cause: unknown) => cause instanceof ExecutionRevertedError
      if (error instanceof BaseError && error.walk(isRevert)) return undefined
      throw error
    },
  )

const differentBlocks: Finder = async (node, { blockOpener }) => {
  if (blockOpener === undefined) return undefined
  const first = await node.request({
    method: 'eth_getTransactionByBlockNumberAndIndex',
    params: ['latest', '0x0'],
  })
  if (first && isAddressEqual(first.from, blockOpener)) return undefined
  return `its newest block was not made by the chain itself: it is a local copy`
}
