import type { Pool } from 'pg'
import { within } from '../../clock.ts'
import type { Hex } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import { type GasState, gasState } from '../facilitators/gas-state.ts'
import type { GasWallet } from '../facilitators/gas-wallet.ts'
import { booksOfWallets, type WalletBooks } from './overview.ts'

export interface HoldingsPorts {
  readonly pool: Pool
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  /** Undefined where somebody else settles. */
  readonly gas: GasWallet | undefined
}

/** What the wallets hold on chain, after a block. Microdollars; gas in gwei, rounded down. */
export interface OnChain {
  readonly block: bigint
  readonly time: Date
  readonly treasury: bigint
  readonly spend: bigint
  readonly gas: bigint | undefined
}

export interface Holdings {
  /** Undefined: the node did not answer in time. */
  readonly chain: OnChain | undefined
  readonly books: WalletBooks
  /** What the hub's own job saw last of the gas wallet. */
  readonly gas: GasState | undefined
}

const WEI_PER_GWEI = 1_000_000_000n
const PATIENCE_MS = 3_000

/** What the wallets of the house hold, by the chain and by the books. */
export async function holdings(ports: HoldingsPorts, patienceMs = PATIENCE_MS): Promise<Holdings> {
  const [chain, books, gas] = await Promise.all([
    within(patienceMs, onChain(ports)),
    booksOfWallets(ports.pool),
    gasState(ports.pool),
  ])
  return { chain, books, gas }
}

/** @throws Error when the node does not answer */
async function onChain({ chain, gas, ...wallets }: HoldingsPorts): Promise<OnChain> {
  const { number: block, time } = await chain.head()
  const [treasury, spend, wei] = await Promise.all([
    chain.balanceAt(wallets.treasury, block),
    chain.balanceAt(wallets.spend, block),
    gas?.balance(),
  ])
  return { block, time, treasury, spend, gas: wei === undefined ? undefined : wei / WEI_PER_GWEI }
}
