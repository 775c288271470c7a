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
  /** Free calls or an allowance for a period. */
  | {
      readonly type: 'units.granted'
      readonly account: Account
      readonly asset: 'FREECALL' | 'ALLOWANCE'
      readonly units: bigint
    }
  /** Money that was there before the books were opened. */
  | { readonly type: 'balance.opened'; readonly account: Account; readonly amount: Micros }

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
