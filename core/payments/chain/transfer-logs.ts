import {
  hexToBigInt,
  isAddressEqual,
  numberToHex,
  type PublicClient,
  pad,
  parseAbi,
  parseEventLogs,
  type TransactionReceipt,
  toEventSelector,
} from 'viem'
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

const ABI = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])

/** Reads the transfers of a token from a receipt, without zero transfers. */
export const tokenTransfersIn = (
  { logs }: Pick<TransactionReceipt, 'logs'>,
  token: Hex,
): readonly TokenTransfer[] =>
  parseEventLogs({ abi: ABI, logs: logs.filter((log) => isAddressEqual(log.address, token)) })
    .filter(({ args }) => args.value > 0n)
    .map(({ logIndex, args: { from, to, value } }) => {
      return { logIndex, from: lowerCaseHex(from), to: lowerCaseHex(to), value }
    })
