import { createPublicClient, hexToBigInt, http, numberToHex } from 'viem'
import { base } from 'viem/chains'
import type { Hex } from '../../../payments/chain/asset.ts'

/** One event of a contract, as the node tells it. */
export interface ChainLog {
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly tx: Hex
  readonly block: bigint
  /** Its place in the block. */
  readonly index: number
}

export interface LogQuery {
  readonly address: Hex
  /** By position; null: any. */
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** What discovery asks the chain for. Every method throws when the node does not answer. */
export interface ChainLogs {
  head(): Promise<{ readonly number: bigint; readonly time: Date }>
  /** Undefined when the chain is not so long. */
  hashOf(block: bigint): Promise<Hex | undefined>
  /** In the order of the chain. @throws also where the range is more than the node allows */
  logs(query: LogQuery): Promise<readonly ChainLog[]>
  /** Who sent a transaction, in lower case; undefined when the node does not know it. */
  senderOf(tx: Hex): Promise<Hex | undefined>
}

/** Opens the view of a node; nothing is asked before it is used. */
export function openChainLogs(rpcUrl: string, timeout = 10_000): ChainLogs {
  const client = createPublicClient({
    chain: base,
    transport: http(rpcUrl, { timeout, retryCount: 1 }),
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

/** @throws Error for a log of no block, for which nobody asked */
function parseLog({ topics, data, transactionHash, blockNumber, logIndex }: RawLog): ChainLog {
  if (!transactionHash || !blockNumber || !logIndex) throw new Error('a log that is in no block')
  const block = hexToBigInt(blockNumber)
  return { topics, data, tx: transactionHash, block, index: Number(logIndex) }
}

const byPosition = (a: ChainLog, b: ChainLog): number =>
  a.block === b.block ? a.index - b.index : Number(a.block - b.block)
