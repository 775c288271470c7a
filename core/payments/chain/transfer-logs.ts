import {
  hexToBigInt,
  numberToHex,
  type PublicClient,
  pad,
  type TransactionReceipt,
  toEventSelector,
} from 'viem'
import { memoizeByObject } from '../../runtime/cache.ts'
import type { Asset, Hex } from './asset.ts'

/** A token transfer; addresses in lower case. */
export interface TokenTransfer {
  /** Index of the log in its block. */
  readonly logIndex: number
  readonly from: Hex
  readonly to: Hex
  /** Microdollars, above zero. */
  readonly value: bigint
}

/** A transfer found in the token's log; hashes in lower case. */
export interface TransferLog extends TokenTransfer {
  readonly tx: Hex
  readonly block: bigint
  readonly blockHash: Hex
}

/** A successful transaction; addresses in lower case. */
export interface MinedTransaction {
  readonly block: bigint
  /** 1 if it is in the newest block. */
  readonly confirmations: bigint
  readonly time: Date
  readonly from: Hex
  /** Recipient of the ETH; null for a contract creation. */
  readonly to: Hex | null
  readonly wei: bigint
  /** Token transfers in log order, without zero transfers. */
  readonly transfers: readonly TokenTransfer[]
}

export interface BlockRange {
  readonly owner: Hex
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
/** Event of a token that an authorization of EIP-3009 was used. */
export const AUTHORIZATION_USED = toEventSelector('AuthorizationUsed(address,bytes32)')

/**
 * Fetches every transfer from or to `owner` in a range of blocks, both ends included, in chain
 * order. Leaves out zero transfers, which anyone can make in another's name.
 * @param span maximum number of blocks per request
 */
export async function fetchTransferLogs(
  client: Pick<PublicClient, 'request'>,
  { address }: Asset,
  { owner, fromBlock, toBlock }: BlockRange,
  span: bigint,
): Promise<readonly TransferLog[]> {
  const found = new Map<string, TransferLog>() // a self-transfer matches both filters
  for (let first = fromBlock; first <= toBlock; first += span) {
    const last = first + span - 1n < toBlock ? first + span - 1n : toBlock
    const range = { fromBlock: numberToHex(first), toBlock: numberToHex(last) }
    for (const topics of [[TRANSFER, pad(owner)] as const, [TRANSFER, null, pad(owner)] as const]) {
      const logs = await client.request({
        method: 'eth_getLogs',
        params: [{ address, topics: [...topics], ...range }],
      })
      for (const log of logs) {
        const transfer = parseLog(log)
        if (transfer.value > 0n) found.set(`${transfer.blockHash} ${transfer.logIndex}`, transfer)
      }
    }
  }
  return [...found.values()].sort(byChainOrder)
}

interface RawLog {
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex | null
  readonly blockNumber: Hex | null
  readonly blockHash: Hex | null
  readonly logIndex: Hex | null
}

/** @throws Error for a log that is not in a block or not a transfer */
function parseLog({ topics, data, transactionHash, blockNumber, blockHash, logIndex }: RawLog) {
  const [, from, to] = topics
  if (!transactionHash || !blockNumber || !blockHash || !logIndex || !from || !to) {
    throw new Error('the node returned a log that is not in a block or not a transfer')
  }
  return {
    tx: lowerCaseHex(transactionHash),
    logIndex: Number(logIndex),
    block: hexToBigInt(blockNumber),
    blockHash: lowerCaseHex(blockHash),
    from: addressInTopic(from),
    to: addressInTopic(to),
    value: hexToBigInt(data),
  }
}

export const lowerCaseHex = (hex: Hex): Hex => hex.toLowerCase() as Hex

/** Extracts the address from a topic, which is padded to 32 bytes. */
const addressInTopic = (topic: Hex): Hex => `0x${topic.slice(-40).toLowerCase()}`

const byChainOrder = (a: TransferLog, b: TransferLog): number =>
  a.block === b.block ? a.logIndex - b.logIndex : Number(a.block - b.block)

/** A transfer that a token logged, or the use of an authorization; hex in lower case. */
type TokenEvent =
  | ({ readonly is: 'transfer' } & TokenTransfer)
  | { readonly is: 'authorization'; readonly payer: Hex; readonly nonce: Hex }

type Log = Pick<TransactionReceipt['logs'][number], 'address' | 'topics' | 'data' | 'logIndex'>

/** Reads what a token logged, in log order. Other events are left out. */
export const tokenEventsIn = (logs: readonly Log[], token: Hex): readonly TokenEvent[] =>
  eventsByToken(logs).get(lowerCaseHex(token)) ?? []

/** Read once per receipt, which up to fifty payments may share, and without decoding by an ABI. */
const eventsByToken = memoizeByObject((logs: readonly Log[]) => {
  const events = new Map<Hex, TokenEvent[]>()
  for (const log of logs) {
    const event = eventOf(log)
    if (!event) continue
    const token = lowerCaseHex(log.address)
    const others = events.get(token)
    if (others) others.push(event)
    else events.set(token, [event])
  }
  return events
})

function eventOf({ topics, data, logIndex }: Log): TokenEvent | undefined {
  const [event, first, second] = topics
  if (!first || !second || topics.length !== 3) return undefined
  if (event === AUTHORIZATION_USED)
    return { is: 'authorization', payer: addressInTopic(first), nonce: lowerCaseHex(second) }
  if (event !== TRANSFER || data.length !== WORD_LENGTH) return undefined
  const [from, to] = [addressInTopic(first), addressInTopic(second)]
  return { is: 'transfer', logIndex, from, to, value: hexToBigInt(data) }
}

/** Length of 32 bytes in hex. */
const WORD_LENGTH = 66

/** Reads the transfers of a token from a receipt, without zero transfers. */
export const tokenTransfersIn = (
  { logs }: Pick<TransactionReceipt, 'logs'>,
  token: Hex,
): readonly TokenTransfer[] =>
  tokenEventsIn(logs, token).flatMap((event) => {
    if (event.is !== 'transfer' || event.value === 0n) return []
    const { is: _, ...transfer } = event
    return [transfer]
  })
