import type { Account, SingleStepEvent } from '../../../core/ledger/events.ts'
import { micros } from './world.ts'

/** Accounts that the events below touch, beside those of the house. */
export interface Parties {
  /** Credits of two keys of one principal. */
  readonly credits: Account
  readonly other: Account
  readonly free: Account
  /** What a provider has earned. */
  readonly earnings: Account
}

type Legs = readonly (readonly [Account, bigint])[]

const move = (debit: Account, credit: Account, amount: bigint): Legs => [
  [debit, -amount],
  [credit, amount],
]

type Rows = {
  readonly [Type in Exclude<SingleStepEvent['type'], 'call.reversed'>]: readonly [
    Omit<Extract<SingleStepEvent, { type: Type }>, 'type'>,
    Legs,
  ]
}

/**
 * Every event of a single step, and what it must do: written by hand from the chart of accounts, as
 * something to hold the code against. In an order that can be booked on two funded keys and on
 * earnings of 100. Reversals need a call, and are tested with calls.
 */
export function chart({ credits, other, free, earnings }: Parties): readonly {
  readonly event: SingleStepEvent
  readonly legs: Legs
}[] {
  const wallet = (name: string): Account => `assets:usdc:base:${name}`
  const payouts = 'liabilities:payouts:in-transit'
  const sellers = 'liabilities:x402-out:in-transit'
  const receivable = 'assets:receivable:providers'
  const amount = micros(9n)
  const rows: Rows = {
    'credits.purchased': [{ credits, amount }, move(wallet('in-transit'), credits, 9n)],
    'receipt.confirmed': [{ amount }, move(wallet('treasury'), wallet('in-transit'), 9n)],
    'call.sold': [
      { payee: earnings, paid: amount, commission: micros(2n) },
      [
        [wallet('in-transit'), -9n],
        [earnings, 7n],
        ['income:commission', 2n],
      ],
    ],
    'call.sponsored': [{ payee: earnings, amount }, move('expenses:free-tier', earnings, 9n)],
    'external.confirmed': [
      { amount: micros(2n) },
      [
        [sellers, -2n],
        [wallet('spend'), 2n],
      ],
    ],
    'external.refunded': [{ credits, amount: micros(3n) }, move(sellers, credits, 3n)],
    'external.lost': [{ amount }, move('expenses:x402-loss', wallet('spend'), 9n)],
    'payout.started': [{ earnings, amount: micros(26n) }, move(earnings, payouts, 26n)],
    'payout.gathered': [
      { direction: 'out', amount: micros(6n) },
      move(payouts, 'equity:between-shards', 6n),
    ],
    'payout.confirmed': [
      { wallet: 'spend', amount: micros(12n) },
      move(payouts, wallet('spend'), 12n),
    ],
    'payout.failed': [{ earnings, amount: micros(8n) }, move(payouts, earnings, 8n)],
    'units.granted': [
      { account: free, asset: 'FREECALL', units: 3n },
      move('equity:free-calls:granted', free, 3n),
    ],
    'credits.granted': [{ credits, amount }, move('expenses:free-tier', credits, 9n)],
    'credits.lapsed': [{ credits, amount }, move(credits, 'income:breakage', 9n)],
    'credits.transferred': [{ from: credits, to: other, amount }, move(credits, other, 9n)],
    'gas.paid': [
      { gwei: 77n, cost: amount },
      [
        ['expenses:gas', -9n],
        ['equity:conversion:usdc', 9n],
        ['equity:conversion:eth', -77n],
        ['assets:eth:base:gas', 77n],
      ],
    ],
    'facilitator.charged': [
      { wallet: 'treasury', amount },
      move('expenses:facilitator', wallet('treasury'), 9n),
    ],
    'wallet.moved': [
      { from: 'treasury', to: 'spend', amount },
      move(wallet('spend'), wallet('treasury'), 9n),
    ],
    'surplus.found': [
      { wallet: 'treasury', amount },
      move(wallet('treasury'), 'liabilities:suspense', 9n),
    ],
    'deposit.identified': [{ credits, amount }, move('liabilities:suspense', credits, 9n)],
    'shortfall.found': [
      { wallet: 'spend', amount },
      move('expenses:reconciliation-difference', wallet('spend'), 9n),
    ],
    'receivable.recovered': [{ earnings, amount }, move(earnings, receivable, 9n)],
    'receivable.written-off': [{ amount }, move('expenses:bad-debt', receivable, 9n)],
    'receipt.vanished': [
      { credits, recovered: micros(4n), lost: micros(5n) },
      [
        [credits, -4n],
        ['expenses:x402-loss', -5n],
        [wallet('in-transit'), 9n],
      ],
    ],
    'balance.adjusted': [
      { debit: 'expenses:bad-debt', credit: credits, asset: 'USDC', amount },
      move('expenses:bad-debt', credits, 9n),
    ],
    'balance.opened': [
      { account: 'assets:eth:base:gas', amount: 9n, asset: 'GWEI' },
      move('assets:eth:base:gas', 'equity:opening-eth', 9n),
    ],
  }
  return Object.entries(rows).map(([type, [fields, legs]]) => ({
    event: { type, ...fields } as SingleStepEvent,
    legs,
  }))
}
