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
import type { PaymentNetwork } from '../networks.ts'
import {
  type LedgerBalances,
  type LedgerTreasury,
  readLedgerBalances,
  readLedgerTreasury,
} from './overview.ts'

export interface BalancesDeps {
  readonly pool: Pool
  readonly chain: Chain
  readonly treasury: Hex
  readonly spend: Hex
  /** Undefined if an external facilitator settles. */
  readonly gas: GasWallet | undefined
  /** Further networks on which callers can pay. */
  readonly networks: readonly PaymentNetwork[]
}

/** Balances on chain after a block, in microdollars; gas in gwei, rounded down. */
export interface ChainBalances {
  readonly block: bigint
  readonly time: Date
  readonly treasury: bigint
  readonly spend: bigint
  readonly gas: bigint | undefined
}

/** Treasury on a further network, in microdollars. */
export interface NetworkBalance extends LedgerTreasury {
  /** CAIP-2. */
  readonly network: string
  readonly address: Hex
  /** Balance on its chain; undefined if its node does not respond in time. */
  readonly chain: bigint | undefined
}

export interface WalletBalances {
  /** Undefined if the node does not respond in time. */
  readonly chain: ChainBalances | undefined
  readonly ledger: LedgerBalances
  /** Last check of the gas wallet by the hub's job. */
  readonly gas: GasState | undefined
  readonly networks: readonly NetworkBalance[]
}

const NODE_TIMEOUT_MS = 3_000

/**
 * Reads the balances of the platform wallets, on chain and in the ledger.
 * @param readChain reads those on chain
 */
export async function readWalletBalances(
  deps: BalancesDeps,
  timeoutMs = NODE_TIMEOUT_MS,
  readChain = () => readChainBalances(deps),
): Promise<WalletBalances> {
  const [chain, ledger, gas, networks] = await Promise.all([
    withTimeout(timeoutMs, readChain()),
    readLedgerBalances(deps.pool),
    readGasState(deps.pool),
    Promise.all(deps.networks.map((network) => readNetworkBalance(deps, network, timeoutMs))),
  ])
  return { chain, ledger, gas, networks }
}

async function readNetworkBalance(
  { pool }: BalancesDeps,
  { asset: { network, v1Network }, chain, treasury: address }: PaymentNetwork,
  timeoutMs: number,
): Promise<NetworkBalance> {
  const [ledger, balance] = await Promise.all([
    readLedgerTreasury(pool, v1Network),
    withTimeout(timeoutMs, chain.balanceOf(address)),
  ])
  return { ...ledger, network, address, chain: balance }
}

/** @throws Error if the node does not respond */
export async function readChainBalances({
  chain,
  gas,
  ...wallets
}: BalancesDeps): Promise<ChainBalances> {
  const { number: block, time } = await chain.head()
  const [treasury, spend, wei] = await Promise.all([
    chain.balanceAt(wallets.treasury, block),
    chain.balanceAt(wallets.spend, block),
    gas?.balance(),
  ])
  return { block, time, treasury, spend, gas: wei === undefined ? undefined : wei / WEI_PER_GWEI }
}
