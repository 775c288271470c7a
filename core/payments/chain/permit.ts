import { PERMIT2_ADDRESS, x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import { decodeFunctionData, isAddressEqual, type PublicClient, parseAbi } from 'viem'
import type { Asset, Hex } from './asset.ts'
import { fetchTransferLogs, type TransferLog } from './transfer-logs.ts'

/** Payment by a permit of Permit2, which the proxy of the x402 scheme `upto` settles. */
export interface Permit {
  readonly owner: Hex
  readonly payTo: Hex
  /** Number of the permit, 32 bytes. */
  readonly nonce: Hex
  /** Transaction that reportedly settled it: the first candidate among the transfers found. */
  readonly tx?: Hex | undefined
  /** Amount that was to be taken: transfers of it are the next candidates. */
  readonly value: bigint
}

/**
 * State of a permit on the chain. `used`: `value` was taken of its maximum. `spent`: the payer used
 * or canceled its number otherwise, so that it cannot be settled.
 */
export type PermitOutcome =
  | { readonly outcome: 'used'; readonly tx: Hex; readonly block: bigint; readonly value: bigint }
  | { readonly outcome: 'unused' | 'spent'; readonly blockTime: Date }

interface PermitSearch {
  readonly asset: Asset
  /** A block before the permit was signed. */
  readonly fromBlock: bigint
  readonly logSpan: bigint
  /** Reads the newest block. */
  readonly head: () => Promise<{ readonly number: bigint; readonly time: Date }>
}

type Client = Pick<PublicClient, 'request' | 'readContract'>

const BITMAP = parseAbi([
  'function nonceBitmap(address owner, uint256 word) view returns (uint256)',
])

/** Finds how a permit ended, if it did. */
export function findPermitOutcome(
  client: Client,
  permit: Permit,
  search: PermitSearch,
): Promise<PermitOutcome> {
  const look = () => findAtHead(client, permit, search)
  // Retried because the sandbox only has the state of its newest block, which may change.
  return look().catch(look).catch(look)
}

/**
 * Looks once. Permit2 logs no use of a permit: the transaction that used it is found by the
 * transfer, and recognized by its call of the proxy, which only an account that the payer named can
 * make.
 */
async function findAtHead(
  client: Client,
  permit: Permit,
  { asset, fromBlock, logSpan, head }: PermitSearch,
): Promise<PermitOutcome> {
  const { owner, payTo } = permit
  const { number: toBlock, time: blockTime } = await head()
  const number = BigInt(permit.nonce)
  const used = await client.readContract({
    address: PERMIT2_ADDRESS,
    abi: BITMAP,
    functionName: 'nonceBitmap',
    args: [owner, number >> 8n],
    blockNumber: toBlock,
  })
  if (((used >> (number & 255n)) & 1n) === 0n) return { outcome: 'unused', blockTime }
  const transfers = await fetchTransferLogs(client, asset, { owner, fromBlock, toBlock }, logSpan)
  const paid = transfers.filter(
    ({ from, to }) => isAddressEqual(from, owner) && isAddressEqual(to, payTo),
  )
  // Sorted because each one costs a request, and a wallet may have paid thousands of times.
  for (const { tx, block, value } of paid.toSorted(byLikelihood(permit))) {
    if (await settlesPermit(client, permit, tx)) return { outcome: 'used', tx, block, value }
  }
  return { outcome: 'spent', blockTime }
}

function byLikelihood({ tx, value }: Permit): (a: TransferLog, b: TransferLog) => number {
  const rank = (transfer: TransferLog): number =>
    transfer.tx === tx?.toLowerCase() ? 0 : transfer.value === value ? 1 : 2
  return (a, b) => rank(a) - rank(b)
}

/** Returns true if a transaction called the proxy to settle this permit. */
async function settlesPermit(client: Client, { owner, nonce }: Permit, hash: Hex) {
  const found = await client.request({ method: 'eth_getTransactionByHash', params: [hash] })
  if (!found?.to || !isAddressEqual(found.to, x402UptoPermit2ProxyAddress)) return false
  const { functionName, args } = decodeFunctionData({
    abi: x402UptoPermit2ProxyABI,
    data: found.input,
  })
  if (functionName === 'settle') return isPermit(args[0].nonce, args[2])
  return functionName === 'settleWithPermit' && isPermit(args[1].nonce, args[3])

  function isPermit(number: bigint, from: Hex): boolean {
    return number === BigInt(nonce) && isAddressEqual(from, owner)
  }
}
