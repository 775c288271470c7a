import {
  BlockNotFoundError,
  createPublicClient,
  isAddressEqual,
  numberToHex,
  pad,
  parseAbi,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  toEventSelector,
} from 'viem'
import { base } from 'viem/op-stack'
import { singleFlight } from '../../runtime/cache.ts'
import { type Asset, assetOf, type Hex } from './asset.ts'
import { type NodeTransport, trustedNode } from './node.ts'
import { findPermitOutcome, type Permit, type PermitOutcome } from './permit.ts'
import { type ExpectedTransfer, findEvidence, type TransferEvidence } from './transfer-evidence.ts'
import {
  AUTHORIZATION_USED,
  type BlockRange,
  fetchTransferLogs,
  lowerCaseHex,
  type MinedTransaction,
  type TransferLog,
  tokenTransfersIn,
} from './transfer-logs.ts'

export type {
  ExpectedTransfer,
  TransferEvidence,
} from './transfer-evidence.ts'

import { Unavailable } from '../../outages.ts'

export interface ChainOptions {
  readonly rpcUrl: string
  /** Connections to the node. @defaultValue those to `rpcUrl`, without a proof of its chain */
  readonly transport?: NodeTransport
  readonly network: string
  /** Limit per request to the node. @defaultValue 5000 */
  readonly timeoutMs?: number
  /** Maximum blocks per log request; public nodes allow few. @defaultValue 2000 */
  readonly logSpan?: bigint
}

/**
 * State of an authorization on the chain. `unused` is valid for the block `at`, and final once
 * `blockTime` is past `validBefore` by more than reorganizations reach back (20 s are ten blocks of
 * Base).
 */
export type AuthorizationOutcome =
  | { readonly outcome: 'used' | 'canceled'; readonly tx: Hex; readonly block: bigint }
  | { readonly outcome: 'unused'; readonly at: bigint; readonly blockTime: Date }

/** Number and time of the newest block. */
export interface ChainHead {
  readonly number: bigint
  readonly time: Date
}

/** A block, identified by its hash together with all blocks before it. */
export interface BlockRef {
  readonly number: bigint
  readonly hash: Hex
  readonly time: Date
}

/** The node did not respond, or its response is impossible. The state of the chain is unknown. */
export class ChainUnavailable extends Unavailable {
  override readonly name = 'ChainUnavailable'
  readonly component = 'blockchain node'
}

/** The hub's own view of the chain. @throws ChainUnavailable if its node does not respond */
export interface Chain {
  transferEvidence(transfer: ExpectedTransfer): Promise<TransferEvidence>
  /** Reads a transaction; undefined if it is in no block or failed. */
  minedTransaction(tx: Hex): Promise<MinedTransaction | undefined>
  /** Returns true if the authorization is used or canceled. */
  authorizationState(from: Hex, nonce: Hex): Promise<boolean>
  /**
   * Finds how an authorization ended, if it did.
   * @param fromBlock a block before it was signed
   * @throws ChainUnavailable also if it was used before `fromBlock`
   */
  authorizationOutcome(from: Hex, nonce: Hex, fromBlock: bigint): Promise<AuthorizationOutcome>
  /**
   * Finds how a permit of the scheme `upto` ended, if it did.
   * @param fromBlock a block before it was signed
   */
  permitOutcome(permit: Permit, fromBlock: bigint): Promise<PermitOutcome>
  /** Current balance in microdollars. */
  balanceOf(owner: Hex): Promise<bigint>
  /** Balance in microdollars after a block, computed from transfers if its state is pruned. */
  balanceAt(owner: Hex, block: bigint): Promise<bigint>
  /** Fetches every transfer from or to an address in a range of blocks, both ends included. */
  transfers(range: BlockRange): Promise<readonly TransferLog[]>
  /** Fetches a block by number; undefined if the chain is shorter. */
  block(number: bigint): Promise<BlockRef | undefined>
  head(): Promise<ChainHead>
  /** Time of the newest block, the clock by which authorizations expire. */
  blockTime(): Promise<Date>
  /** Hash of the first block, which distinguishes a real network from a sandbox. */
  genesis(): Promise<Hex>
}

const ABI = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
])

/** Opens the view without contacting the node. @throws RangeError for an unknown network */
export function openChain(options: ChainOptions): Chain {
  const { rpcUrl, network, timeoutMs = 5_000, logSpan = 2_000n } = options
  const { transport = trustedNode(rpcUrl) } = options
  const asset = assetOf(network)
  const client = connect(transport, timeoutMs)
  const blockAtTag = singleFlight((tag: 'latest') => fetchHead(client, tag))
  const head = () => blockAtTag('latest')
  const receiptOf = singleFlight((hash: Hex) => fetchReceipt(client, hash))
  const isUsed = (from: Hex, nonce: Hex, blockNumber?: bigint) =>
    fetchAuthorizationState(client, asset, from, nonce, blockNumber)
  return {
    transferEvidence: (transfer) =>
      queryNode(async () => {
        const found = await receiptOf(transfer.tx)
        return found ? findEvidence(found, transfer, (await head()).number) : { found: 'missing' }
      }),
    minedTransaction: (tx) => queryNode(() => fetchTransaction(client, asset, tx, head)),
    authorizationState: (from, nonce) => queryNode(() => isUsed(from, nonce)),
    authorizationOutcome: (from, nonce, fromBlock) =>
      queryNode(async () => {
        const look = async () => {
          const { number, time } = await head()
          return { at: number, blockTime: time, used: await isUsed(from, nonce, number) }
        }
        // Retried because the sandbox only has the state of its newest block, which may change.
        const { at, blockTime, used } = await look().catch(look).catch(look)
        if (!used) return { outcome: 'unused', at, blockTime }
        return findUse(client, { asset, from, nonce, fromBlock, toBlock: at, logSpan })
      }),
    permitOutcome: (permit, fromBlock) =>
      queryNode(() => {
        const search = { asset, fromBlock, logSpan, head, receiptOf }
        return findPermitOutcome(client, permit, search)
      }),
    balanceOf: (owner) => queryNode(() => fetchBalance(client, asset, owner)),
    balanceAt: (owner, block) =>
      queryNode(async () => {
        const walkBack = async () => {
          const { number } = await head()
          const newest = await fetchBalance(client, asset, owner, number)
          const since = { owner, fromBlock: block + 1n, toBlock: number }
          return newest - netReceived(owner, await fetchTransferLogs(client, asset, since, logSpan))
        }
        // Retried because the sandbox only has the state of its newest block, which may change.
        return fetchBalance(client, asset, owner, block)
          .catch(walkBack)
          .catch(walkBack)
          .catch(walkBack)
      }),
    transfers: (range) => queryNode(() => fetchTransferLogs(client, asset, range, logSpan)),
    block: (number) => queryNode(() => fetchBlock(client, number)),
    head: () => queryNode(head),
    blockTime: () => queryNode(async () => (await head()).time),
    genesis: () => queryNode(async () => (await client.getBlock({ blockTag: 'earliest' })).hash),
  }
}

type Client = ReturnType<typeof connect>

const connect = (transport: NodeTransport, timeout: number) =>
  createPublicClient({
    chain: base,
    transport: transport({ timeout, retryCount: 1 }),
    cacheTime: 0,
  })

async function queryNode<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (cause) {
    if (cause instanceof ChainUnavailable) throw cause
    throw new ChainUnavailable('The blockchain node did not respond.', { cause })
  }
}

async function fetchHead(client: Client, blockTag: 'latest') {
  const { number, timestamp } = await client.getBlock({ blockTag })
  return { number, time: new Date(Number(timestamp * 1_000n)) }
}

async function fetchBlock(client: Client, blockNumber: bigint): Promise<BlockRef | undefined> {
  const found = await client.getBlock({ blockNumber }).catch((error) => {
    if (error instanceof BlockNotFoundError) return undefined
    throw error
  })
  if (!found) return undefined
  const { number, hash, timestamp } = found
  return { number, hash, time: new Date(Number(timestamp * 1_000n)) }
}

const fetchBalance = (
  client: Client,
  { address }: Asset,
  owner: Hex,
  blockNumber?: bigint,
): Promise<bigint> =>
  client.readContract({
    address,
    abi: ABI,
    functionName: 'balanceOf',
    args: [owner],
    ...(blockNumber === undefined ? {} : { blockNumber }),
  })

/** Net change of an address's balance by transfers. */
const netReceived = (owner: Hex, transfers: readonly TransferLog[]): bigint =>
  transfers.reduce((sum, { from, to, value }) => {
    const received = isAddressEqual(to, owner) ? value : 0n
    return sum + received - (isAddressEqual(from, owner) ? value : 0n)
  }, 0n)

const fetchAuthorizationState = (
  client: Client,
  asset: Asset,
  from: Hex,
  nonce: Hex,
  blockNumber?: bigint,
): Promise<boolean> =>
  client.readContract({
    address: asset.address,
    abi: ABI,
    functionName: 'authorizationState',
    args: [from, nonce],
    ...(blockNumber === undefined ? {} : { blockNumber }),
  })

const fetchReceipt = (client: Client, hash: Hex): Promise<TransactionReceipt | undefined> =>
  client.getTransactionReceipt({ hash }).catch((error) => {
    if (error instanceof TransactionReceiptNotFoundError) return undefined
    throw error
  })

async function fetchTransaction(
  client: Client,
  { address }: Asset,
  hash: Hex,
  head: () => Promise<{ readonly number: bigint }>,
): Promise<MinedTransaction | undefined> {
  const found = await fetchReceipt(client, hash)
  if (found?.status !== 'success') return undefined
  const { blockNumber: block, from, to } = found
  const [{ value: wei }, placed, { number }] = await Promise.all([
    client.getTransaction({ hash }),
    fetchBlock(client, block),
    head(),
  ])
  if (!placed) return undefined
  return {
    block,
    confirmations: number < block ? 1n : number - block + 1n,
    time: placed.time,
    from: lowerCaseHex(from),
    to: to && lowerCaseHex(to),
    wei,
    transfers: tokenTransfersIn(found, address),
  }
}

interface LogSearch {
  readonly asset: Asset
  readonly from: Hex
  readonly nonce: Hex
  readonly fromBlock: bigint
  readonly toBlock: bigint
  readonly logSpan: bigint
}

const CANCELED = toEventSelector('AuthorizationCanceled(address,bytes32)')

/** Searches the log in ranges, oldest first, for the use or cancellation of an authorization. */
async function findUse(client: Client, search: LogSearch): Promise<AuthorizationOutcome> {
  const { asset, from, nonce, toBlock, logSpan } = search
  const topics: [Hex[], Hex, Hex] = [[AUTHORIZATION_USED, CANCELED], pad(from), nonce]
  for (let first = search.fromBlock; first <= toBlock; first += logSpan) {
    const last = first + logSpan - 1n < toBlock ? first + logSpan - 1n : toBlock
    const range = { fromBlock: numberToHex(first), toBlock: numberToHex(last) }
    const [log] = await client.request({
      method: 'eth_getLogs',
      params: [{ address: asset.address, topics, ...range }],
    })
    if (log?.transactionHash && log.blockNumber) {
      const outcome = log.topics[0] === AUTHORIZATION_USED ? 'used' : 'canceled'
      return { outcome, tx: log.transactionHash, block: BigInt(log.blockNumber) }
    }
  }
  throw new ChainUnavailable(`No log of authorization ${nonce} since block ${search.fromBlock}.`)
}
