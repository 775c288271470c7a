import type { Account, SingleStepEvent } from '../../../core/ledger/events.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { micros, newId } from './fixture.ts'

/** Accounts used by the events below, besides the platform accounts. */
export interface Parties {
  /** Credits of two keys of one principal. */
  readonly credits: Account
  readonly other: Account
  readonly free: Account
  /** Earnings of a provider. */
  readonly earnings: Account
}

type Legs = readonly (readonly [Account, bigint])[]

const legsOfMove = (debit: Account, credit: Account, amount: bigint): Legs => [
  [debit, -amount],
  [credit, amount],
]

/** Provider whose debt the samples write off: `meta.provider`. */
export const DEBTOR = 'debtor'
/** Metadata of the price at which the samples value ETH. */
export const PRICE = { price: '3000.000000', price_source: 'an exchange' } as const

/** Posts what the samples take out of wallets and debts. */
export async function fundAssets(ledger: Ledger): Promise<void> {
  const owner = await ledger.account('equity:opening')
  const meta = { author: 'finance', reason: 'a test', provider: DEBTOR }
  const assets = ['usdc:base:treasury', 'usdc:base:spend', 'receivable:providers']
  for (const name of assets) {
    const sides = { debit: `assets:${name}`, credit: owner.code, asset: 'USDC' } as const
    const event = { type: 'balance.adjusted', ...sides, amount: 90n } as const
    await ledger.post(event, { owner, id: newId(), meta })
  }
}

type SampleRows = {
  readonly [Type in Exclude<SingleStepEvent['type'], Reversal>]: readonly [
    Omit<Extract<SingleStepEvent, { type: Type }>, 'type'>,
    Legs,
  ]
}
type Reversal = 'call.reversed' | 'sale.reversed' | 'receipt.vanished'

/**
 * Every single-step event with its expected legs, written by hand from the chart of accounts as a
 * reference for the code. The order can be posted on two funded keys, on earnings of 100 and after
 * `fundAssets`.
 * Reversals need what they reverse, and are tested with it.
 */
export function eventSamples({ credits, other, free, earnings }: Parties): readonly {
  readonly event: SingleStepEvent
  readonly legs: Legs
}[] {
  const wallet = (name: string): Account => `assets:usdc:base:${name}`
  const payouts = 'liabilities:payouts:in-transit'
  const sellers = 'liabilities:x402-out:in-transit'
  const receivable = 'assets:receivable:providers'
  const amount = micros(9n)
  const rows: SampleRows = {
    'credits.purchased': [{ credits, amount }, legsOfMove(wallet('in-transit'), credits, 9n)],
    'receipt.confirmed': [{ amount }, legsOfMove(wallet('treasury'), wallet('in-transit'), 9n)],
    'call.sold': [
      { payee: earnings, paid: amount, commission: micros(2n) },
      [
        [wallet('in-transit'), -9n],
        [earnings, 7n],
        ['income:commission', 2n],
      ],
    ],
    'commission.rounded': [
      { earnings, amount: micros(1n) },
      legsOfMove(earnings, 'income:commission', 1n),
    ],
    'external.confirmed': [
      { amount: micros(2n) },
      [
        [sellers, -2n],
        [wallet('spend'), 2n],
      ],
    ],
    'external.refunded': [{ credits, amount: micros(3n) }, legsOfMove(sellers, credits, 3n)],
    'external.lost': [{ amount }, legsOfMove('expenses:x402-loss', wallet('spend'), 9n)],
    'payout.started': [{ earnings, amount: micros(26n) }, legsOfMove(earnings, payouts, 26n)],
    'payout.gathered': [
      { direction: 'out', amount: micros(6n) },
      legsOfMove(payouts, 'equity:between-shards', 6n),
    ],
    'payout.confirmed': [
      { wallet: 'spend', amount: micros(12n) },
      legsOfMove(payouts, wallet('spend'), 12n),
    ],
    'payout.failed': [{ earnings, amount: micros(8n) }, legsOfMove(payouts, earnings, 8n)],
    'units.granted': [
      { account: free, asset: 'FREECALL', units: 3n },
      legsOfMove('equity:free-calls:granted', free, 3n),
    ],
    'units.withdrawn': [
      { account: free, asset: 'FREECALL', units: 2n },
      legsOfMove(free, 'equity:free-calls:granted', 2n),
    ],
    'credits.granted': [{ credits, amount }, legsOfMove('expenses:free-tier', credits, 9n)],
    'credits.lapsed': [{ credits, amount }, legsOfMove(credits, 'income:breakage', 9n)],
    'credits.transferred': [{ from: credits, to: other, amount }, legsOfMove(credits, other, 9n)],
    'gas.paid': [
      { gwei: 77n, cost: amount },
      [
        ['expenses:gas', -9n],
        ['equity:conversion:usdc', 9n],
        ['equity:conversion:eth', -77n],
        ['assets:eth:base:gas', 77n],
      ],
    ],
    'holdings.revalued': [
      { contributed: micros(9n), spent: micros(4n), gain: micros(2n), loss: micros(0n) },
      [
        ['assets:eth:base:value', -9n],
        ['equity:contributed-eth', 9n],
        ['equity:conversion:usdc', -4n],
        ['assets:eth:base:value', 4n],
        ['assets:eth:base:value', -2n],
        ['income:revaluation', 2n],
      ],
    ],
    'facilitator.charged': [
      { wallet: 'treasury', amount },
      legsOfMove('expenses:facilitator', wallet('treasury'), 9n),
    ],
    'wallet.moved': [
      { from: 'treasury', to: 'spend', amount },
      legsOfMove(wallet('spend'), wallet('treasury'), 9n),
    ],
    'surplus.found': [
      { wallet: 'treasury', amount },
      legsOfMove(wallet('treasury'), 'liabilities:suspense', 9n),
    ],
    'deposit.identified': [{ credits, amount }, legsOfMove('liabilities:suspense', credits, 9n)],
    'shortfall.found': [
      { wallet: 'spend', amount },
      legsOfMove('expenses:reconciliation-difference', wallet('spend'), 9n),
    ],
    'receivable.recovered': [{ earnings, amount }, legsOfMove(earnings, receivable, 9n)],
    'receivable.written-off': [{ amount }, legsOfMove('expenses:bad-debt', receivable, 9n)],
    'balance.adjusted': [
      { debit: 'expenses:bad-debt', credit: credits, asset: 'USDC', amount },
      legsOfMove('expenses:bad-debt', credits, 9n),
    ],
    'balance.opened': [
      { account: 'assets:eth:base:gas', amount: 9n, asset: 'GWEI' },
      legsOfMove('assets:eth:base:gas', 'equity:opening-eth', 9n),
    ],
  }
  return Object.entries(rows).map(([type, [fields, legs]]) => ({
    event: { type, ...fields } as SingleStepEvent,
    legs,
  }))
}
