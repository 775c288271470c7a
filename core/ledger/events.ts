import type { Micros } from '../money.ts'

/** Unit of account: money (`USDC`, `GWEI`), or a permission reserved and used like money. */
export type Asset = 'USDC' | 'GWEI' | 'FREECALL' | 'ALLOWANCE'

/** The code of an account, such as `liabilities:agents:key_4fJ:credits`. */
export type Account = string

/** Terms of a hold: payer, payee and amount. Every later event of the call repeats them. */
export interface HoldTerms {
  /** Call id, UUID version 7. */
  readonly call: string
  /** The account that pays: credits (USDC) or free calls (FREECALL). */
  readonly owner: Account
  readonly asset: Asset
  /** Allowances of the key and its parents, reserved and released together with the hold. */
  readonly guards: readonly Account[]
  readonly payee: Account
  /** Reserved amount in units of the asset: microdollars, or calls. */
  readonly held: bigint
}

/** Event that changes balances. Each one carries every number that its postings need. */
export type LedgerEvent =
  /** The price of a call, or a free call, is reserved. */
  | ({ readonly type: 'call.reserved' } & HoldTerms)
  /** The call was delivered: at most the reserved amount is charged, the rest released. */
  | ({
      readonly type: 'call.settled'
      /** Final price, at most the reserved amount. */
      readonly charged: bigint
      /** Platform's share of `charged`; the payee gets the rest. */
      readonly commission: bigint
    } & HoldTerms)
  /** The call failed or was abandoned: the hold is released in full. */
  | ({ readonly type: 'call.released' } & HoldTerms)
  /** The hold was not resolved in time and is released in full. */
  | ({ readonly type: 'call.expired' } & HoldTerms)
  /** A call was paid per request by x402; posted after the payment settled. */
  | {
      readonly type: 'call.sold'
      readonly payee: Account
      readonly paid: Micros
      readonly commission: Micros
      readonly network?: NetworkName
    }
  /** Credits were bought with USDC; the transfer is settled but not yet final. */
  | {
      readonly type: 'credits.purchased'
      readonly credits: Account
      readonly amount: Micros
      readonly network?: NetworkName
    }
  /** A received transfer is final on chain. */
  | {
      readonly type: 'receipt.confirmed'
      readonly amount: Micros
      readonly network?: NetworkName
    }
  /** A payment to an external seller was seen on chain. */
  | { readonly type: 'external.confirmed'; readonly amount: Micros }
  /** A charge for an external seller, or a part of it, was never collected: it is refunded. */
  | { readonly type: 'external.refunded'; readonly credits: Account; readonly amount: Micros }
  /** A payment to an external seller that no charge covers: the platform's loss. */
  | { readonly type: 'external.lost'; readonly amount: Micros }
  /** A settled call is refunded, as after a dispute. */
  | {
      readonly type: 'call.reversed'
      readonly credits: Account
      readonly payee: Account
      /** Amount refunded to the caller, at most the amount charged. */
      readonly refunded: Micros
      /** Part of `refunded` taken from the platform's commission. */
      readonly commission: Micros
      /** Part of `refunded` that the payee was already paid out, and now owes. */
      readonly receivable: Micros
    }
  /** A call paid per request is refunded, as a deposit of its payer. */
  | {
      readonly type: 'sale.reversed'
      readonly payee: Account
      /** `between-shards` if the payer is on another shard; a second entry moves it to suspense. */
      readonly to: 'suspense' | 'between-shards'
      readonly refunded: Micros
      readonly commission: Micros
      readonly receivable: Micros
    }
  /** Commission that rounding left with a provider, due on the sum of its sales. */
  | { readonly type: 'commission.rounded'; readonly earnings: Account; readonly amount: Micros }
  /** A payout to a provider is in transit. */
  | { readonly type: 'payout.started'; readonly earnings: Account; readonly amount: Micros }
  /** Part of a payout leaves one shard (`out`) or arrives on another (`in`): two entries. */
  | { readonly type: 'payout.gathered'; readonly direction: 'out' | 'in'; readonly amount: Micros }
  /** A payout from this wallet was seen on chain. */
  | { readonly type: 'payout.confirmed'; readonly wallet: Wallet; readonly amount: Micros }
  /** A payout was never sent: the amount is owed again. */
  | { readonly type: 'payout.failed'; readonly earnings: Account; readonly amount: Micros }
  /** Free calls or an allowance were granted for a period. */
  | {
      readonly type: 'units.granted'
      readonly account: Account
      readonly asset: 'FREECALL' | 'ALLOWANCE'
      readonly units: bigint
    }
  /** The limit of a sub-key was lowered: its allowance has less left. */
  | {
      readonly type: 'units.withdrawn'
      readonly account: Account
      readonly asset: 'FREECALL' | 'ALLOWANCE'
      readonly units: bigint
    }
  /** The platform gave credits away. */
  | { readonly type: 'credits.granted'; readonly credits: Account; readonly amount: Micros }
  /** Expired credits, or those of a revoked or expired key, became income of the platform. */
  | { readonly type: 'credits.lapsed'; readonly credits: Account; readonly amount: Micros }
  /** Credits moved between two keys of one principal. */
  | {
      readonly type: 'credits.transferred'
      readonly from: Account
      readonly to: Account
      readonly amount: Micros
    }
  /** A received payment vanished from the chain: unspent credits are reclaimed, the rest lost. */
  | {
      readonly type: 'receipt.vanished'
      readonly credits: Account
      readonly recovered: Micros
      readonly lost: Micros
      readonly network?: NetworkName
    }
  /** The platform paid gas for a transaction: in gwei, and its value in USDC. */
  | {
      readonly type: 'gas.paid'
      readonly gwei: bigint
      /** Value in microdollars. */
      readonly cost: Micros
    }
  /** The ETH was valued: what came in, what gas had cost, and the gain or loss. */
  | {
      readonly type: 'holdings.revalued'
      readonly contributed: Micros
      readonly spent: Micros
      readonly gain: Micros
      readonly loss: Micros
    }
  /** A facilitator charged its fee to a platform wallet. */
  | { readonly type: 'facilitator.charged'; readonly wallet: Wallet; readonly amount: Micros }
  /** USDC moved between two platform wallets. */
  | {
      readonly type: 'wallet.moved'
      readonly from: Wallet
      readonly to: Wallet
      readonly amount: Micros
    }
  /** Reconciliation found more on chain than in the ledger: an unidentified deposit. */
  | {
      readonly type: 'surplus.found'
      readonly wallet: Wallet
      readonly amount: Micros
      readonly network?: NetworkName
    }
  /** Reconciliation found less on chain than in the ledger. */
  | {
      readonly type: 'shortfall.found'
      readonly wallet: Wallet
      readonly amount: Micros
      readonly network?: NetworkName
    }
  /** An unidentified deposit was credited to a key. */
  | { readonly type: 'deposit.identified'; readonly credits: Account; readonly amount: Micros }
  /** A provider's debt was deducted from later earnings. */
  | { readonly type: 'receivable.recovered'; readonly earnings: Account; readonly amount: Micros }
  /** A provider's debt was written off as uncollectible. */
  | { readonly type: 'receivable.written-off'; readonly amount: Micros }
  /** Finance posted a manual correction of any other kind. */
  | {
      readonly type: 'balance.adjusted'
      readonly debit: Account
      readonly credit: Account
      readonly asset: Asset
      readonly amount: bigint
    }
  /** Opening balance: funds that existed before the ledger. */
  | {
      readonly type: 'balance.opened'
      readonly account: Account
      readonly amount: bigint
      /** @defaultValue USDC */
      readonly asset?: 'USDC' | 'GWEI'
    }
  /** A month was closed: no later entry is dated in it or before it. No balance changes. */
  | { readonly type: 'period.closed' }

/** Platform wallets, and the funds in transit to them. */
export type Wallet = 'treasury' | 'spend' | 'in-transit'

/** Network of a wallet as accounts name it, `polygon`. Events without one are of `base`. */
export type NetworkName = string

/** Events posted by `ledger.post`: all except the steps of a call and the closing of a month. */
export type SingleStepEvent = Exclude<
  LedgerEvent,
  { type: 'call.reserved' | 'call.settled' | 'call.released' | 'call.expired' | 'period.closed' }
>

/** Results of a ledger operation, in the order of their numbers in the database. */
export const LEDGER_OUTCOMES = [
  'insufficient_funds',
  'applied',
  'replayed',
  'no_such_hold',
  'above_hold',
  'id_reused_with_other_terms',
] as const
export type LedgerOutcome = (typeof LEDGER_OUTCOMES)[number]
