import type { Pool } from 'pg'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Log } from '../core/log.ts'
import type { Micros } from '../core/money.ts'
import { postGasFees } from '../core/payments/facilitators/gas-accounting.ts'
import { type GasWallet, recordGasState } from '../core/payments/facilitators/gas-wallet.ts'

/** Wallet that pays gas, with the operator's settings. */
export interface GasSettings {
  readonly wallet: GasWallet
  /** Microdollars per ETH. */
  readonly ethPrice: Micros
  /** Balance below which the job logs an error. */
  readonly lowGwei: bigint
}

interface GasDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly finality: bigint
  /** Undefined if an external facilitator settles payments and pays gas. */
  readonly gas?: GasSettings | undefined
  readonly log: Log
}

/** Posts gas fees to the ledger, and logs an error while the gas wallet's balance is low. */
export async function accountGas({ pool, ledger, finality, gas, log }: GasDeps): Promise<void> {
  if (gas === undefined) return
  const { wallet, ethPrice, lowGwei } = gas
  try {
    await postGasFees({ pool, ledger, wallet, finality, ethPrice })
  } finally {
    const { low, address, balanceGwei } = await recordGasState(pool, wallet, lowGwei)
    const fields = { address, gwei: String(balanceGwei), alarm: String(lowGwei) }
    if (low) log.error(fields, 'the gas wallet is low: send ETH to it, or payments will fail')
  }
}
