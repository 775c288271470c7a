import { PERMIT2_ADDRESS, x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import {
  decodeFunctionData,
  isAddressEqual,
  type PublicClient,
  parseAbi,
  type TransactionReceipt,
} from 'viem'
import type { Asset, Hex } from './asset.ts'
import { fetchTransferLogs, type TransferLog, tokenTransfersIn } from './transfer-logs.ts'

/** Payment by a permit of Permit2, which the proxy of the x402 scheme `upto` settles. */
export interface Permit {
  readonly owner: Hex
  readonly payTo: Hex
  /** Number of the permit, 32 bytes. */
  readonly nonce: Hex
  /** Transaction that reportedly settled it, which is looked at before any search. */
  readonly tx?: Hex | undefined
  /** Amount that was to be taken, or its maximum: transfers of it are the first candidates. */
  readonly value: bigint
  /**
   * True if `value` is the maximum of another seller's price: any part of it may be taken, and by a
   * contract, so that no call of the proxy names it. @defaultValue false
   */
  readonly isMaximum?: boolean | undefined
  /**
   * Finds which of these transactions settled other permits, with the amounts taken. Without it, a
   * settlement by a contract counts only if it contains the number of the permit.
   */
  readonly settledOthers?: ((txs: readonly Hex[]) => Promise<readonly Settlement[]>) | undefined
}

/** Amount that a transaction took by a permit. */
export interface Settlement {
  readonly tx: Hex
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
  readonly receiptOf: (tx: Hex) => Promise<TransactionReceipt | undefined>
}

type Client = Pick<PublicClient, 'request' | 'readContract'>

const BITMAP = parseAbi([
  'function nonceBitmap(address owner, uint256 word) view returns (uint256)',
])

/**
 * Finds how a permit ended, if it did. Permit2 logs no use of a permit: the transaction that used
 * it is known, or found by its transfer, and recognized by its call of the proxy, which only an
 * account that the payer named can make.
 */
export async function findPermitOutcome(
  client: Client,
  permit: Permit,
  search: PermitSearch,
): Promise<PermitOutcome> {
  const known = await findKnownUse(client, permit, search)
  if (known) return known
  const look = async () => {
    const { number, time } = await search.head()
    return { toBlock: number, blockTime: time, isUsed: await isUsedAt(client, permit, number) }
  }
  // Retried because the sandbox only has the state of its newest block, which may change.
  const { toBlock, blockTime, isUsed } = await look().catch(look).catch(look)
  if (!isUsed) return { outcome: 'unused', blockTime }
  const { asset, fromBlock, logSpan } = search
  const { owner } = permit
  const transfers = await fetchTransferLogs(client, asset, { owner, fromBlock, toBlock }, logSpan)
  const paid = transfers.filter((transfer) => isPayment(transfer, permit))
  // Sorted because each one costs a request, and a wallet may have paid thousands of times.
  for (const transfer of paid.toSorted(byLikelihood(permit))) {
    if (await settlesPermit(client, permit, transfer.tx)) return used(transfer)
  }
  const use = permit.isMaximum && (await findForeignUse(client, permit, paid, search))
  return use || { outcome: 'spent', blockTime }
}

/**
 * Finds a settlement by a contract, of which the proxy logs no permit. Its transaction usually
 * contains the number of the permit. Of several transfers that may be it, without those that
 * settled others, the largest one counts: all of them together are not less than what was taken.
 */
async function findForeignUse(
  client: Client,
  { nonce, value: maximum, settledOthers }: Permit,
  paid: readonly TransferLog[],
  { receiptOf }: PermitSearch,
): Promise<PermitOutcome | undefined> {
  const possible = paid.filter(({ value }) => value <= maximum)
  const others = await settledOthers?.(possible.map(({ tx }) => tx))
  const candidates = withoutOthers(possible, others ?? [])
  let largest: TransferLog | undefined
  for (const transfer of candidates.toSorted((a, b) => (a.value < b.value ? 1 : -1))) {
    const receipt = await receiptOf(transfer.tx)
    const isCalledInside =
      receipt?.to !== undefined &&
      (receipt.to === null || !isAddressEqual(receipt.to, x402UptoPermit2ProxyAddress)) &&
      receipt.logs.some(({ address }) => isAddressEqual(address, x402UptoPermit2ProxyAddress))
    if (!isCalledInside) continue
    const found = await findTransaction(client, transfer.tx)
    if (found?.input.includes(nonce.slice(2).toLowerCase())) return used(transfer)
    largest ??= transfer
  }
  return settledOthers && largest && used(largest)
}

/** Leaves out one transfer for each settlement of another permit. */
function withoutOthers(transfers: readonly TransferLog[], others: readonly Settlement[]) {
  const left = [...others]
  return transfers.filter(({ tx, value }) => {
    const index = left.findIndex((other) => other.tx === tx && other.value === value)
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
}

const used = ({ tx, block, value }: TransferLog): PermitOutcome => ({
  outcome: 'used',
  tx,
  block,
  value,
})

const findTransaction = (client: Client, hash: Hex) =>
  client.request({ method: 'eth_getTransactionByHash', params: [hash] })

/** Looks at the transaction that reportedly used a permit; undefined if it did not. */
async function findKnownUse(
  client: Client,
  permit: Permit,
  { asset, receiptOf }: PermitSearch,
): Promise<PermitOutcome | undefined> {
  const receipt = permit.tx && (await receiptOf(permit.tx))
  if (receipt?.status !== 'success') return undefined
  const transfers = tokenTransfersIn(receipt, asset.address)
  const transfer = transfers.find((each) => isPayment(each, permit))
  const { transactionHash: tx, blockNumber: block } = receipt
  if (!transfer || !(await settlesPermit(client, permit, tx))) return undefined
  return { outcome: 'used', tx, block, value: transfer.value }
}

const isPayment = (
  { from, to }: Pick<TransferLog, 'from' | 'to'>,
  { owner, payTo }: Permit,
): boolean => isAddressEqual(from, owner) && isAddressEqual(to, payTo)

/** Returns true if the number of a permit is used, by whatever, in the state of a block. */
async function isUsedAt(
  client: Client,
  { owner, nonce }: Permit,
  blockNumber: bigint,
): Promise<boolean> {
  const number = BigInt(nonce)
  const used = await client.readContract({
    address: PERMIT2_ADDRESS,
    abi: BITMAP,
    functionName: 'nonceBitmap',
    args: [owner, number >> 8n],
    blockNumber,
  })
  return ((used >> (number & 255n)) & 1n) === 1n
}

function byLikelihood({ value }: Permit): (a: TransferLog, b: TransferLog) => number {
  const rank = (transfer: TransferLog): number => (transfer.value === value ? 0 : 1)
  return (a, b) => rank(a) - rank(b)
}

/** Returns true if a transaction called the proxy to settle this permit. */
async function settlesPermit(client: Client, { owner, nonce }: Permit, hash: Hex) {
  const found = await findTransaction(client, hash)
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
