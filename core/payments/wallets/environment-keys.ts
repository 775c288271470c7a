import type { Pool } from 'pg'
import type { Log } from '../../log.ts'
import { dollars, type Micros, micros } from '../../money.ts'
import type { Hex } from '../chain/asset.ts'
import type { Chain } from '../chain/chain.ts'
import { type GasWallet, WEI_PER_ETH } from '../facilitators/gas-wallet.ts'
import { OutgoingSwitch } from '../operations/outgoing-switch.ts'

/** Platform wallets whose key is in the environment, and how much they may hold. */
export interface EnvironmentKeys {
  /** Maximum balance of each, in microdollars. */
  readonly limit: Micros
  /** Undefined if its key is elsewhere. */
  readonly spend: Hex | undefined
  readonly gas: GasWallet | undefined
  /** Microdollars per ETH. */
  readonly ethPrice: Micros
}

/** A wallet that holds more than its key may protect. */
export interface ExcessBalance {
  readonly wallet: 'spend' | 'gas'
  readonly address: Hex
  /** Says what happened and what to do. */
  readonly sentence: string
}

/**
 * Finds wallets that hold too much for a key in the environment.
 * @throws Error if the node fails
 */
export async function findExcessBalances(
  { limit, spend, gas, ethPrice }: EnvironmentKeys,
  chain: Pick<Chain, 'balanceOf'>,
): Promise<readonly ExcessBalance[]> {
  const found: ExcessBalance[] = []
  const add = (wallet: ExcessBalance['wallet'], address: Hex, balance: bigint): void => {
    if (balance > limit) {
      found.push({ wallet, address, sentence: sentenceOf(wallet, micros(balance), limit) })
    }
  }
  if (spend) add('spend', spend, await chain.balanceOf(spend))
  if (gas) add('gas', gas.address, ((await gas.balance()) * ethPrice) / WEI_PER_ETH)
  return found
}

const sentenceOf = (wallet: ExcessBalance['wallet'], balance: Micros, limit: Micros): string => {
  const name = wallet === 'spend' ? 'SPEND_WALLET' : 'GAS_WALLET'
  return (
    `The ${wallet} wallet holds $${dollars(balance)}, more than the $${dollars(limit)} ` +
    `(HUB_ENV_KEY_MAX_BALANCE) that a key in the environment may protect. Move the excess, or ` +
    `the key to ${name}_KEY_FILE or ${name}_SIGNER.`
  )
}

/** Pauses outgoing payments while the spend wallet holds too much, and raises the alarm. */
export async function checkEnvironmentKeys(deps: {
  readonly environmentKeys?: EnvironmentKeys | undefined
  readonly chain: Pick<Chain, 'balanceOf'>
  readonly pool: Pool
  readonly log: Log
}): Promise<void> {
  const { environmentKeys, chain, pool, log } = deps
  if (!environmentKeys) return
  for (const { wallet, address, sentence } of await findExcessBalances(environmentKeys, chain)) {
    log.error({ wallet, address }, sentence)
    if (wallet === 'spend') await new OutgoingSwitch(pool).pause('check-wallet-keys', sentence)
  }
}
