import { TransactionReceiptNotFoundError } from 'viem'
import type { Hex } from '../chain/asset.ts'
import type { Sender } from './sender.ts'

/** What a transaction cost, all in all. */
export interface Fee {
  readonly wei: bigint
  readonly block: bigint
  /** Of the block. */
  readonly time: Date
}

/** The wallet that pays for gas, as the chain tells it. Each method throws when the node fails. */
export interface GasWallet {
  readonly chainId: number
  readonly address: Hex
  /** The newest block. */
  head(): Promise<bigint>
  /** Wei that it holds. */
  balance(): Promise<bigint>
  /** Wei that it held after a block. */
  balanceAt(block: bigint): Promise<bigint>
  /** How many transactions of it the chain had after a block. */
  countAt(block: bigint): Promise<number>
  /** Undefined: no block has the transaction. */
  fee(hash: Hex): Promise<Fee | undefined>
}

export function gasWallet({ address, client }: Sender, chainId: number): GasWallet {
  return {
    chainId,
    address,
    head: () => client.getBlockNumber(),
    balance: () => client.getBalance({ address }),
    balanceAt: (blockNumber) => client.getBalance({ address, blockNumber }),
    countAt: (blockNumber) => client.getTransactionCount({ address, blockNumber }),
    async fee(hash) {
      const receipt = await client.getTransactionReceipt({ hash }).catch((error) => {
        if (error instanceof TransactionReceiptNotFoundError) return undefined
        throw error
      })
      if (receipt === undefined) return undefined
      const { gasUsed, effectiveGasPrice, l1Fee, blockNumber: block } = receipt
      const { timestamp } = await client.getBlock({ blockNumber: block })
      // Base charges for its data on Ethereum beside the gas.
      const wei = gasUsed * effectiveGasPrice + (l1Fee ?? 0n)
      return { wei, block, time: new Date(Number(timestamp) * MS_PER_SECOND) }
    },
  }
}

const MS_PER_SECOND = 1_000
