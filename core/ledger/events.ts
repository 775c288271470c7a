import type { Micros } from '../money.ts'

/** What is counted: money (`USDC`), or a permission that is held and used up like money. */
export type Asset = 'USDC' | 'GWEI' | 'FREECALL' | 'ALLOWANCE'

/** The code of an account, such as `liabilities:agents:key_4fJ:credits`. */
export type Account = string

/** What a hold was taken from, and whom it is for. Every later event of the call repeats it. */
export interface HoldTerms {
  /** Call id, UUID version 7. */
  readonly call: string
  /** The account that pays: credits (USDC) or free calls (FREECALL). */
  readonly owner: Account
  readonly asset: Asset
  /** Allowances of the key's ancestors, which fall and rise with the hold. */
  readonly guards: readonly Account[]
  readonly payee: Account
  /** Held amount in units of the asset: microdollars, or calls. */
  readonly held: bigint
}

/** What happened, in the past tense. Each event carries every number that its postings need. */
export type LedgerEvent =
  | ({ readonly type: 'call.reserved' } & HoldTerms)
  | ({
      readonly type: 'call.settled'
      /** What the caller pays in the end, at most what was held. */
      readonly charged: bigint
      /** The platform's part of `charged`; the payee gets the rest. */
      readonly commission: bigint
    } & HoldTerms)
  /** The call failed, or was given up: all of the hold goes back. */
  | ({ readonly type: 'call.released' } & HoldTerms)
  /** Nobody resolved the hold in time: all of it goes back. */
  | ({ readonly type: 'call.expired' } & HoldTerms)
  /** A call paid on the spot by x402, booked after its settlement. */
  | {
      readonly type: 'call.sold'
      readonly payee: Account
      readonly paid: Micros
      readonly commission: Micros
    }
  /** USDC bought credits; the transfer is settled but not yet final. */
  | { readonly type: 'credits.purchased'; readonly credits: Account; readonly amount: Micros }
  /** A received transfer is final on chain. */
  | { readonly type: 'receipt.confirmed'; readonly amount: Micros }
  /** A payment to an external seller was seen on chain. */
  | { readonly type: 'external.confirmed'; readonly amount: Micros }
  /** A payment to an external seller was charged on its word, and never taken: it goes back. */
  | { readonly type: 'external.refunded'; readonly credits: Account; readonly amount: Micros }
  /** A payment to an external seller was taken after its hold had gone back: the house's loss. */
  | { readonly type: 'external.lost'; readonly amount: Micros }
  /** A settled call is refunded, as after a dispute. */
  | {
      readonly type: 'call.reversed'
      readonly credits: Account
      readonly payee: Account
      /** What the caller gets back, at most what was charged. */
      readonly refunded: Micros
      /** The part of it that the platform gives back. */
      readonly commission: Micros
      /** The part of it that the payee has been paid out already, and now owes. */
      readonly receivable: Micros
    }
  /** The platform pays a provider for a call that was free for the caller. */
  | { readonly type: 'call.sponsored'; readonly payee: Account; readonly amount: Micros }
  /** A payout to a provider is on its way. */
  | { readonly type: 'payout.started'; readonly earnings: Account; readonly amount: Micros }
  /** A part of a payout leaves the shard of this entry, or comes to it: each by its own entry. */
  | { readonly type: 'payout.gathered'; readonly way: 'leaves' | 'comes'; readonly amount: Micros }
  /** A payout was seen on chain, out of this wallet. */
  | { readonly type: 'payout.confirmed'; readonly wallet: Wallet; readonly amount: Micros }
  /** A payout never left: it is owed again. */
  | { readonly type: 'payout.failed'; readonly earnings: Account; readonly amount: Micros }
  /** Free calls or an allowance for a period. */
  | {
      readonly type: 'units.granted'
      readonly account: Account
      readonly asset: 'FREECALL' | 'ALLOWANCE'
      readonly units: bigint
    }
  /** Credits as a gift of the platform. */
  | { readonly type: 'credits.granted'; readonly credits: Account; readonly amount: Micros }
  /** Credits whose time is over are the platform's. */
  | { readonly type: 'credits.lapsed'; readonly credits: Account; readonly amount: Micros }
  /** From one key of a principal to another one. */
  | {
      readonly type: 'credits.transferred'
      readonly from: Account
      readonly to: Account
      readonly amount: Micros
    }
  /** The chain has forgotten a payment: of the credits what is left goes back, the rest is lost. */
  | {
      readonly type: 'receipt.vanished'
      readonly credits: Account
      readonly recovered: Micros
      readonly lost: Micros
    }
  /** A transaction of ours was included in a block. */
  | {
      readonly type: 'gas.paid'
      readonly gwei: bigint
      /** What that was worth. */
      readonly cost: Micros
    }
  /** A facilitator took its fee out of a wallet of ours. */
  | { readonly type: 'facilitator.charged'; readonly wallet: Wallet; readonly amount: Micros }
  /** Between two wallets of the house. */
  | {
      readonly type: 'wallet.moved'
      readonly from: Wallet
      readonly to: Wallet
      readonly amount: Micros
    }
  /** Reconciliation found more on chain than in the books: a deposit that nobody explains yet. */
  | { readonly type: 'surplus.found'; readonly wallet: Wallet; readonly amount: Micros }
  /** Reconciliation found less on chain than in the books. */
  | { readonly type: 'shortfall.found'; readonly wallet: Wallet; readonly amount: Micros }
  /** An unexplained deposit turned out to be a key's. */
  | { readonly type: 'deposit.identified'; readonly credits: Account; readonly amount: Micros }
  /** A provider's debt is taken out of what it earned since. */
  | { readonly type: 'receivable.recovered'; readonly earnings: Account; readonly amount: Micros }
  /** A provider's debt will not be paid. */
  | { readonly type: 'receivable.written-off'; readonly amount: Micros }
  /** Whatever finance corrects by hand, with its author and reason. */
  | {
      readonly type: 'balance.adjusted'
      readonly debit: Account
      readonly credit: Account
      readonly asset: Asset
      readonly amount: bigint
    }
  /** What was there before the books were opened. */
  | {
      readonly type: 'balance.opened'
      readonly account: Account
      readonly amount: bigint
      /** USDC if left out. */
      readonly asset?: 'USDC' | 'GWEI'
    }

/** The wallets of the house, and what is on its way to them. */
export type Wallet = 'treasury' | 'spend' | 'in-transit'

/** The events that `ledger.post` books: everything but the steps of a call. */
export type SingleStepEvent = Exclude<
  LedgerEvent,
  { type: 'call.reserved' | 'call.settled' | 'call.released' | 'call.expired' }
>

/** How an operation ended. A closed list, in the order of its numbers in the database. */
export const OUTCOMES = [
  'insufficient_funds',
  'applied',
  'replayed',
  'no_such_hold',
  'above_hold',
  'id_reused_with_other_terms',
] as const
export type Outcome = (typeof OUTCOMES)[number]
