import type { Hex } from '../payments/chain/asset.ts'

/** The wallets on the chain. What is in transit by the books is in the treasury by the chain. */
export type WalletName = 'treasury' | 'spend'

/** Why chain and books disagree. */
export type ExceptionKind =
  /** Money came, or went, of which the books know nothing. */
  | 'unknown_deposit'
  | 'unknown_withdrawal'
  /** The books name a transaction that should be final by now, and the chain does not have it. */
  | 'missing_on_chain'
  /** The transaction moved another amount than was booked. */
  | 'amount_differs'
  /** The transfer stands for another entry already. */
  | 'booked_twice'
  /** An entry moves a wallet and names no transaction. */
  | 'no_transaction'
  /** What is left of the difference between the balances when all else is explained. */
  | 'balance_differs'
  /** A transfer that was in the books is no longer on the chain. */
  | 'reorganised'

/** A transfer on the chain that no entry stands for, as far as was seen before. */
export interface OpenTransfer {
  readonly id: bigint
  readonly tx: Hex
  readonly block: bigint
  readonly sender: Hex
  readonly recipient: Hex
  /** Received above zero, paid below. */
  readonly amount: bigint
  /** The payment that is still at work and would explain it; null if there is none. */
  readonly awaits: string | null
}

/** An entry that moved a wallet, for which no transfer was found. */
export interface OpenEntry {
  readonly id: bigint
  readonly event: string
  /** Its id in the journal. */
  readonly entry: string
  /** Received above zero, paid below. */
  readonly amount: bigint
  readonly tx: Hex | null
  readonly payer: Hex | null
  readonly opensAt: bigint | null
  readonly at: Date
  /** A transfer was found for it once, and is gone: its id. */
  readonly gone: bigint | null
  /** The entry that has the transfer of this transaction. */
  readonly takenBy: string | null
}

/** A transfer that is gone and had been accepted in the books otherwise than by a match. */
export interface GoneTransfer {
  readonly id: bigint
  readonly tx: Hex
  readonly block: bigint
  readonly amount: bigint
}

/** An id of the books whose money is in transit, or left it without having come in. */
export interface TransitItem {
  readonly entry: string
  /** What came in, less what was confirmed. */
  readonly amount: bigint
  /** What was confirmed. */
  readonly confirmed: bigint
  readonly row: bigint
  readonly tx: Hex | null
  readonly since: Date
}

/** Something that is found to be wrong; the same fact is the same exception for ever. */
export interface Finding {
  readonly kind: ExceptionKind
  readonly fact: string
  /** Microdollars that the chain has more than the books by it; below zero: less. */
  readonly amount: bigint
  readonly reason: string
  readonly tx?: Hex | null
  readonly block?: bigint
  readonly transfer?: bigint
  readonly entry?: bigint
}

/** Work in progress: what one side has and the other one will have soon. */
export interface Pending {
  readonly what: 'settling' | 'not_final' | 'unconfirmed'
  /** As in a finding. */
  readonly amount: bigint
  /** Of the payment: the id that its entry has, or will have. */
  readonly id: string
  readonly tx: Hex | null
}
