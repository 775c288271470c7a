import type { Hex } from '../payments/chain/asset.ts'

/**
 * Wallets on a chain: those on Base, and treasuries on further networks. Funds in transit in the
 * ledger are in the treasury on chain.
 */
export type WalletName = 'treasury' | 'spend' | `treasury:${string}`

/** Reason for a difference between chain and ledger. */
export type ExceptionKind =
  /** A transfer without an entry. */
  | 'unknown_deposit'
  | 'unknown_withdrawal'
  /** An entry whose transaction should be final but is not on the chain. */
  | 'missing_on_chain'
  /** The amounts of transfer and entry differ. */
  | 'amount_differs'
  /** The transfer is already matched with another entry. */
  | 'booked_twice'
  /** An entry changes a wallet but names no transaction. */
  | 'no_transaction'
  /** Rest of the difference that no other finding explains. */
  | 'balance_differs'
  /** A reorganization removed a transfer that was in the ledger. */
  | 'reorganised'

/** A transfer on the chain without a matching entry. */
export interface OpenTransfer {
  readonly id: bigint
  readonly tx: Hex
  readonly block: bigint
  readonly sender: Hex
  readonly recipient: Hex
  /** Positive if received, negative if sent. */
  readonly amount: bigint
  /** Id of the pending payment that would explain it; null if there is none. */
  readonly awaits: string | null
}

/** An entry that changed a wallet, without a matching transfer. */
export interface OpenEntry {
  readonly id: bigint
  readonly event: string
  readonly entry: string
  /** Positive if received, negative if sent. */
  readonly amount: bigint
  readonly tx: Hex | null
  readonly payer: Hex | null
  readonly opensAt: bigint | null
  readonly at: Date
  /** Id of the transfer that was matched with it and has since left the chain. */
  readonly gone: bigint | null
  /** The entry that is matched with the transfer of this transaction. */
  readonly takenBy: string | null
}

/** A transfer that left the chain after its exception had been posted to the ledger. */
export interface GoneTransfer {
  readonly id: bigint
  readonly tx: Hex
  readonly block: bigint
  readonly amount: bigint
}

/** A ledger id with a balance in transit: received but not confirmed, or the reverse. */
export interface TransitItem {
  readonly entry: string
  /** Amount received minus amount confirmed. */
  readonly amount: bigint
  readonly confirmed: bigint
  readonly row: bigint
  readonly tx: Hex | null
  readonly since: Date
}

/** A finding of a run. Findings with the same `fact` are the same exception. */
export interface Finding {
  readonly kind: ExceptionKind
  /** Stable identity of the finding. */
  readonly fact: string
  /** Chain minus ledger, in microdollars. */
  readonly amount: bigint
  readonly reason: string
  readonly tx?: Hex | null
  readonly block?: bigint
  readonly transfer?: bigint
  readonly entry?: bigint
}

/** A pending item: one side has it, the other will have it soon. */
export interface Pending {
  readonly what: 'settling' | 'not_final' | 'unconfirmed'
  /** Chain minus ledger, in microdollars. */
  readonly amount: bigint
  /** Id of the payment's entry, present or future. */
  readonly id: string
  readonly tx: Hex | null
}
