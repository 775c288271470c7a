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

export interface WalletBalancesDeps {
  readonly pool: Pool
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  /** Undefined where somebody else settles. */
  readonly gas: GasWallet | undefined
}

/** What the wallets hold on chain, after a block. Microdollars; gas in gwei, rounded down. */
export interface ChainBalances {
  readonly block: bigint
  readonly time: Date
  readonly treasury: bigint
  readonly spend: bigint
  readonly gas: bigint | undefined
}

export interface WalletBalances {
  /** Undefined: the node did not answer in time. */
  readonly chain: ChainBalances | undefined
  readonly books: LedgerBalances
  /** What the hub's own job saw last of the gas wallet. */
  readonly gas: GasState | undefined
}

const NODE_TIMEOUT_MS = 3_000

/** What the wallets of the house hold, by the chain and by the books. */
export async function readWalletBalances(
  ports: WalletBalancesDeps,
  patienceMs = NODE_TIMEOUT_MS,
): Promise<WalletBalances> {
  const [chain, books, gas] = await Promise.all([
    withTimeout(patienceMs, readChainBalances(ports)),
    readLedgerBalances(ports.pool),
    readGasState(ports.pool),
  ])
  return { chain, books, gas }
}

/** @throws Error when the node does not answer */
async function readChainBalances({
  chain,
  gas,
  ...wallets
}: WalletBalancesDeps): Promise<ChainBalances> {
  const { number: block, time } = await chain.head()
  const [treasury, spend, wei] = await Promise.all([
    chain.balanceAt(wallets.treasury, block),
    chain.balanceAt(wallets.spend, block),
    gas?.balance(),
  ])
  return { block, time, treasury, spend, gas: wei === undefined ? undefined : wei / WEI_PER_GWEI }
}
