import type { Pool } from 'pg'
import { withTimeout } from '../../clock.ts'
import type { Hex } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import {
  type GasState,
  type GasWallet,
  readGasState,
  WEI_PER_GWEI,
} from '../facilitators/gas-wallet.ts'
import { type LedgerBalances, readLedgerBalances } from './overview.ts'

export interface BalancesDeps {
  readonly pool: Pool
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  /** Undefined if an external facilitator settles. */
  readonly gas: GasWallet | undefined
}

/** Balances on chain after a block, in microdollars; gas in gwei, rounded down. */
export interface ChainBalances {
  readonly block: bigint
  readonly time: Date
  readonly treasury: bigint
  readonly spend: bigint
  readonly gas: bigint | undefined
}

export interface WalletBalances {
  /** Undefined if the node does not respond in time. */
  readonly chain: ChainBalances | undefined
  readonly ledger: LedgerBalances
  /** Last check of the gas wallet by the hub's job. */
  readonly gas: GasState | undefined
}

const NODE_TIMEOUT_MS = 3_000

/** Reads the balances of the platform wallets, on chain and in the ledger. */
export async function readWalletBalances(
  deps: BalancesDeps,
  timeoutMs = NODE_TIMEOUT_MS,
): Promise<WalletBalances> {
  const [chain, ledger, gas] = await Promise.all([
    withTimeout(timeoutMs, readChainBalances(deps)),
    readLedgerBalances(deps.pool),
    readGasState(deps.pool),
  ])
  return { chain, ledger, gas }
}

/** @throws Error if the node does not respond */
async function readChainBalances({ chain, gas, ...wallets }: BalancesDeps): Promise<ChainBalances> {
  const { number: block, time } = await chain.head()
  const [treasury, spend, wei] = await Promise.all([
    chain.balanceAt(wallets.treasury, block),
    chain.balanceAt(wallets.spend, block),
    gas?.balance(),
  ])
  return { block, time, treasury, spend, gas: wei === undefined ? undefined : wei / WEI_PER_GWEI }
}
