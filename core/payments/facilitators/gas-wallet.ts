import type { Pool } from 'pg'
import { TransactionReceiptNotFoundError } from 'viem'
import type { Hex } from '../chain/asset.ts'
import type { Sender } from './sender.ts'

export const WEI_PER_GWEI = 1_000_000_000n
const MS_PER_SECOND = 1_000

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

/** The gas wallet as it was when somebody looked. */
export interface GasState {
  readonly address: Hex
  /** On chain, rounded down. */
  readonly balanceGwei: bigint
  /** It needs ETH soon, or no payment can be settled. */
  readonly low: boolean
  readonly at: Date
}

/**
 * Looks at the gas wallet, and keeps what was seen for `gasState`, once its opening is booked.
 * @throws Error when the node does not answer
 */
export async function recordGasState(
  pool: Pool,
  wallet: GasWallet,
  lowGwei: bigint,
): Promise<Omit<GasState, 'at'>> {
  const { address, chainId } = wallet
  const balanceGwei = (await wallet.balance()) / WEI_PER_GWEI
  const low = balanceGwei < lowGwei
  await pool.query(
    `UPDATE hub.gas_wallet SET balance = $3, low = $4, looked_at = clock_timestamp()
     WHERE chain_id = $1 AND address = $2`,
    [chainId, address.toLowerCase(), balanceGwei, low],
  )
  return { address, balanceGwei, low }
}

/**
 * What the newest look at a gas wallet saw, whichever process it was. Undefined: there is none,
 * since somebody else settles, or nobody has looked yet.
 */
export async function readGasState(pool: Pool): Promise<GasState | undefined> {
  const { rows } = await pool.query<GasState>(
    `SELECT address, balance AS "balanceGwei", low, looked_at AS at FROM hub.gas_wallet
     WHERE looked_at IS NOT NULL ORDER BY looked_at DESC LIMIT 1`,
  )
  return rows[0]
}
