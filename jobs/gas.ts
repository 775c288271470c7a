import type { Pool } from 'pg'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Log } from '../core/log.ts'
import type { Micros } from '../core/money.ts'
import { postGasFees } from '../core/payments/facilitators/gas-accounting.ts'
import { type GasWallet, recordGasState } from '../core/payments/facilitators/gas-wallet.ts'

/** The wallet that pays for gas, and what the operator has set for it. */
export interface GasSettings {
  readonly wallet: GasWallet
  /** Microdollars for one ETH. */
  readonly ethPrice: Micros
  /** Below it the alarm is raised. */
  readonly lowGwei: bigint
}

interface GasDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly finality: bigint
  /** Left out where somebody else settles, and pays for it. */
  readonly gas?: GasSettings | undefined
  readonly log: Log
}

/** Books what gas has cost, and raises the alarm while the wallet that pays for it is low. */
export async function accountGas({ pool, ledger, finality, gas, log }: GasDeps): Promise<void> {
  if (gas === undefined) return
  const { wallet, ethPrice, lowGwei } = gas
  try {
    await postGasFees({ pool, ledger, wallet, finality, ethPrice })
  } finally {
    const { low, address, balanceGwei } = await recordGasState(pool, wallet, lowGwei)
    const seen = { address, gwei: String(balanceGwei), alarm: String(lowGwei) }
    if (low) log.error(seen, 'the gas wallet is low: send ETH to it, or payments will fail')
  }
}
