import type { Pool } from 'pg'
import { TransactionReceiptNotFoundError } from 'viem'
import type { Hex } from '../chain/asset.ts'
import type { Sender } from './sender.ts'

export const WEI_PER_GWEI = 1_000_000_000n
export const WEI_PER_ETH = 10n ** 18n
const MS_PER_SECOND = 1_000

/** Total cost of a transaction. */
export interface Fee {
  readonly wei: bigint
  readonly block: bigint
  /** Time of the block. */
  readonly time: Date
}

/** On-chain view of the wallet that pays for gas. Each method throws if the node fails. */
export interface GasWallet {
  readonly chainId: number
  readonly address: Hex
  /** Number of the newest block. */
  head(): Promise<bigint>
  /** Current price of gas in wei. */
  gasPrice(): Promise<bigint>
  /** Current balance in wei. */
  balance(): Promise<bigint>
  /** Balance in wei after a block. */
  balanceAt(block: bigint): Promise<bigint>
  /** Number of its transactions on the chain after a block. */
  countAt(block: bigint): Promise<number>
  /** Fee of a transaction; undefined if it is in no block. */
  fee(hash: Hex): Promise<Fee | undefined>
}

export function gasWallet({ address, client }: Sender, chainId: number): GasWallet {
  return {
    chainId,
    address,
    head: () => client.getBlockNumber(),
    gasPrice: () => client.getGasPrice(),
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
      // Base also charges for its data on Ethereum.
      const wei = gasUsed * effectiveGasPrice + (l1Fee ?? 0n)
      return { wei, block, time: new Date(Number(timestamp) * MS_PER_SECOND) }
    },
  }
}

/** State of the gas wallet at the last check. */
export interface GasState {
  readonly address: Hex
  /** Balance on chain, rounded down. */
  readonly balanceGwei: bigint
  /** True if it needs ETH soon; without ETH no payment can be settled. */
  readonly low: boolean
  readonly at: Date
}

/** Stores a check of the gas wallet once its opening is posted. @throws Error without node */
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

/** Reads the newest check of a gas wallet by any process, if there is one. */
export async function readGasState(pool: Pool): Promise<GasState | undefined> {
  const { rows } = await pool.query<GasState>(
    `SELECT address, balance AS "balanceGwei", low, looked_at AS at FROM hub.gas_wallet
     WHERE looked_at IS NOT NULL ORDER BY looked_at DESC LIMIT 1`,
  )
  return rows[0]
}
