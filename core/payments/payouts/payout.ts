import type { Pool } from 'pg'
import type { LocalAccount } from 'viem'
import type { Clock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { Hex } from '../chain/asset.ts'
import type { VerdictDeps } from '../chain/verdict.ts'
import type { Offers } from '../receiving/offers.ts'
import type { PayoutRules } from './rules.ts'

export interface PayoutDeps extends VerdictDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
  /** The spend wallet: signs the transfers and needs no ETH. */
  readonly account: Pick<LocalAccount, 'address' | 'signTypedData'>
  /** Settles a signed payment, through the same facilitator as received payments. */
  readonly settle: Offers['settle']
  /** Minimum payout in microdollars. */
  readonly minimum: Micros
  readonly rules: PayoutRules
}

/** A payout in state `started`. */
export interface Payout {
  readonly id: string
  readonly provider: string
  /** Microdollars. */
  readonly amount: bigint
  /** Ledger shard that carries the whole amount in transit. */
  readonly shard: number
  readonly payer: Hex
  readonly payee: Hex
  readonly nonce: Hex
  readonly validBefore: Date
  readonly fromBlock: bigint
  /** Transaction that may have made the transfer. */
  readonly transaction: Hex | null
  /** True if it was never sent or looked up. */
  readonly fresh: boolean
}
