import type { Pool } from 'pg'
import type { Hex } from '../chain/asset.ts'
import type { GasWallet } from './gas-wallet.ts'

/** The gas wallet as it was when somebody looked. */
export interface GasState {
  readonly address: Hex
  /** On chain, rounded down. */
  readonly balanceGwei: bigint
  /** It needs ETH soon, or no payment can be settled. */
  readonly low: boolean
  readonly at: Date
}

const WEI_PER_GWEI = 1_000_000_000n

/**
 * Looks at the gas wallet, and keeps what was seen for `gasState`, once its opening is booked.
 * @throws Error when the node does not answer
 */
export async function lookAtGas(
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
export async function gasState(pool: Pool): Promise<GasState | undefined> {
  const { rows } = await pool.query<GasState>(
    `SELECT address, balance AS "balanceGwei", low, looked_at AS at FROM hub.gas_wallet
     WHERE looked_at IS NOT NULL ORDER BY looked_at DESC LIMIT 1`,
  )
  return rows[0]
}
