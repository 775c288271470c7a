import { createPublicClient, hexToBigInt, numberToHex } from 'viem'
import { base } from 'viem/op-stack'
import type { Hex } from '../../../payments/chain/asset.ts'
import { type NodeTransport, trustedNode } from '../../../payments/chain/node.ts'

/** One event of a contract, as the node reports it. */
export interface ChainLog {
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly tx: Hex
  readonly block: bigint
  /** Index in its block. */
  readonly index: number
}

export interface LogQuery {
  readonly address: Hex
  /** By position; null matches any. */
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** Chain access of discovery. Every method throws if the node does not respond. */
export interface ChainLogs {
  head(): Promise<{ readonly number: bigint; readonly time: Date }>
  /** Returns undefined for a block after the head. */
  hashOf(block: bigint): Promise<Hex | undefined>
  /** Returns logs in chain order. @throws also if the range exceeds the node's limit */
  logs(query: LogQuery): Promise<readonly ChainLog[]>
  /** Returns the sender of a transaction in lower case; undefined if the node does not know it. */
  senderOf(tx: Hex): Promise<Hex | undefined>
}

const TIMEOUT_MS = 10_000

/** Creates the access to a node; sends nothing until it is used. */
export function openChainLogs(
  rpcUrl: string,
  transport: NodeTransport = trustedNode(rpcUrl),
): ChainLogs {
  const client = createPublicClient({
    chain: base,
    transport: transport({ timeout: TIMEOUT_MS, retryCount: 1 }),
    cacheTime: 0,
  })
  return {
    async head() {
      const { number, timestamp } = await client.getBlock({ blockTag: 'latest' })
      return { number, time: new Date(Number(timestamp * 1_000n)) }
    },
    async hashOf(block) {
      const found = await client.request({
        method: 'eth_getBlockByNumber',
        params: [numberToHex(block), false],
      })
      return found?.hash ?? undefined
    },
    async logs({ address, topics, fromBlock, toBlock }) {
      const range = { fromBlock: numberToHex(fromBlock), toBlock: numberToHex(toBlock) }
      const params = { address, topics: topics.map((one) => one as Hex | Hex[] | null), ...range }
      const logs = await client.request({ method: 'eth_getLogs', params: [params] })
      return logs.map(parseLog).sort(byPosition)
    },
    async senderOf(hash) {
      const found = await client.request({ method: 'eth_getTransactionByHash', params: [hash] })
      return found?.from.toLowerCase() as Hex | undefined
    },
  }
}

type RawLog = {
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex | null
  readonly blockNumber: Hex | null
  readonly logIndex: Hex | null
}

/** @throws Error for a pending log, which the query does not request */
function parseLog({ topics, data, transactionHash, blockNumber, logIndex }: RawLog): ChainLog {
  if (!transactionHash || !blockNumber || !logIndex)
    throw new Error('the node returned a log without a block')
  const block = hexToBigInt(blockNumber)
  return { topics, data, tx: transactionHash, block, index: Number(logIndex) }
}

const byPosition = (a: ChainLog, b: ChainLog): number =>
  a.block === b.block ? a.index - b.index : Number(a.block - b.block)
