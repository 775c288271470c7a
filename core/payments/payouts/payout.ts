import type { Pool } from 'pg'
import type { LocalAccount } from 'viem'
import type { Clock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Log } from '../../log.ts'
import type { Micros } from '../../money.ts'
import type { Hex } from '../chain/asset.ts'
import type { VerdictDeps } from '../chain/verdict.ts'
import type { Offers } from '../receiving/offers.ts'

export interface PayoutDeps extends VerdictDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
  /** The spend wallet: it signs what is paid, and needs no ETH. */
  readonly account: Pick<LocalAccount, 'address' | 'signTypedData'>
  /** Brings a signed payment onto the chain, as for those that we are paid by. */
  readonly settle: Offers['settle']
  /** What is owed to a provider is paid from so much on. */
  readonly minimum: Micros
}

/** A payout on its way. */
export interface Payout {
  readonly id: string
  readonly provider: string
  /** Microdollars. */
  readonly amount: bigint
  /** The shard of the books where all of it is in transit. */
  readonly shard: number
  readonly payer: Hex
  readonly payee: Hex
  readonly nonce: Hex
  readonly validBefore: Date
  readonly fromBlock: bigint
  /** The transaction that it may have been made by. */
  readonly transaction: Hex | null
  /** Whether it was ever sent, or looked for. */
  readonly fresh: boolean
}
