import type { Pool } from 'pg'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { Log } from '../core/log.ts'
import type { Micros } from '../core/money.ts'
import { bookGas } from '../core/payments/facilitators/gas-books.ts'
import { lookAtGas } from '../core/payments/facilitators/gas-state.ts'
import type { GasWallet } from '../core/payments/facilitators/gas-wallet.ts'

/** The wallet that pays for gas, and what the operator has set for it. */
export interface Gas {
  readonly wallet: GasWallet
  /** Microdollars for one ETH. */
  readonly ethPrice: Micros
  /** Below it the alarm is raised. */
  readonly lowGwei: bigint
}

interface Ports {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly finality: bigint
  /** Left out where somebody else settles, and pays for it. */
  readonly gas?: Gas | undefined
  readonly log: Log
}

/** Books what gas has cost, and raises the alarm while the wallet that pays for it is low. */
export async function accountGas({ pool, ledger, finality, gas, log }: Ports): Promise<void> {
  if (gas === undefined) return
  const { wallet, ethPrice, lowGwei } = gas
  try {
    await bookGas({ pool, ledger, wallet, finality, ethPrice })
  } finally {
    const { low, address, balanceGwei } = await lookAtGas(pool, wallet, lowGwei)
    const seen = { address, gwei: String(balanceGwei), alarm: String(lowGwei) }
    if (low) log.error(seen, 'the gas wallet is low: send ETH to it, or payments will fail')
  }
}
