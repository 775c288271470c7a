import type { LedgerEvent } from '../events.ts'

/** Rule of an event: a copy of its row of `ledger.kind`. A test checks that the two are equal. */
export interface Rule {
  readonly event: LedgerEvent['type']
  readonly phase: number
  /** Accounts it may debit and credit, `%` matches anything; undefined for the steps of a call. */
  readonly debits?: string
  readonly credits?: string
  readonly needs: readonly string[]
}

const callStep = (event: Rule['event'], phase: number): Rule => ({ event, phase, needs: [] })
const single = (event: Rule['event'], debits: string, credits: string): Rule => ({
  event,
  phase: 0,
  debits,
  credits,
  needs: [],
})
const manual = (event: Rule['event'], debits: string, credits: string): Rule => ({
  ...single(event, debits, credits),
  needs: ['author', 'reason'],
})

const AGENT = 'liabilities:agents:%:credits'
const PROVIDER = 'liabilities:providers:%'
const EARNER = `${PROVIDER},income:services:%`
const WALLET = 'assets:usdc:base:%'
const ANY_WALLET = 'assets:usdc:%'
const RECEIVED = 'assets:usdc:%:in-transit'
const SPEND = 'assets:usdc:base:spend'
const SELLERS = 'liabilities:x402-out:in-transit'
const PAYOUTS = 'liabilities:payouts:in-transit'
const GATHERING = `${PAYOUTS},equity:between-shards`
const RECEIVABLE = 'assets:receivable:providers'
const SUSPENSE = 'liabilities:suspense'
const UNITS = 'liabilities:free-calls:%,liabilities:allowances:%'
const GRANTED = 'equity:free-calls:granted,equity:allowances:granted'
const ANY = '%'

export const EVENT_RULES: Readonly<Record<number, Rule>> = {
  1: callStep('call.reserved', 1),
  2: callStep('call.settled', 2),
  3: callStep('call.released', 2),
  4: callStep('call.expired', 2),
  16: single('credits.purchased', RECEIVED, AGENT),
  17: single('receipt.confirmed', 'assets:usdc:%:treasury', RECEIVED),
  18: single('call.sold', RECEIVED, `${EARNER},income:commission`),
  19: single('external.confirmed', SELLERS, SPEND),
  20: single('external.refunded', SELLERS, AGENT),
  21: single('payout.started', PROVIDER, PAYOUTS),
  22: single('payout.confirmed', PAYOUTS, WALLET),
  23: single('payout.failed', PAYOUTS, PROVIDER),
  24: single('units.granted', GRANTED, UNITS),
  25: single('credits.granted', 'expenses:free-tier', AGENT),
  26: manual('credits.lapsed', AGENT, 'income:breakage'),
  27: single('balance.opened', 'assets:%', 'equity:opening,equity:opening-eth'),
  28: single('external.lost', 'expenses:x402-loss', SPEND),
  29: {
    ...manual(
      'call.reversed',
      `${EARNER},income:commission,${RECEIVABLE},expenses:x402-loss`,
      AGENT,
    ),
    phase: 3,
  },
  31: single('credits.transferred', AGENT, AGENT),
  32: single(
    'gas.paid',
    'expenses:gas,equity:conversion:eth',
    'equity:conversion:usdc,assets:eth:base:gas',
  ),
  33: manual('facilitator.charged', 'expenses:facilitator', WALLET),
  34: single('wallet.moved', WALLET, WALLET),
  35: manual('surplus.found', ANY_WALLET, SUSPENSE),
  36: manual('shortfall.found', 'expenses:reconciliation-difference', ANY_WALLET),
  37: manual('deposit.identified', SUSPENSE, AGENT),
  38: manual('receivable.recovered', PROVIDER, RECEIVABLE),
  39: {
    ...manual('receivable.written-off', 'expenses:bad-debt', RECEIVABLE),
    needs: ['author', 'reason', 'provider'],
  },
  40: manual('balance.adjusted', ANY, ANY),
  41: single('receipt.vanished', `${AGENT},expenses:x402-loss`, RECEIVED),
  42: single('payout.gathered', GATHERING, GATHERING),
  43: {
    ...manual(
      'sale.reversed',
      `${EARNER},income:commission,${RECEIVABLE}`,
      `${SUSPENSE},equity:between-shards`,
    ),
    phase: 3,
  },
  44: single('commission.rounded', PROVIDER, 'income:commission'),
  45: {
    ...manual(
      'holdings.revalued',
      'assets:eth:base:value,equity:conversion:usdc,expenses:revaluation',
      'assets:eth:base:value,equity:contributed-eth,income:revaluation',
    ),
    needs: ['author', 'reason', 'price', 'price_source'],
  },
  46: single('units.withdrawn', UNITS, GRANTED),
  50: { ...single('period.closed', '', ''), needs: ['month', 'author'] },
}

const patterns = new Map<string, RegExp>()

/** Returns true if a code matches one of the account patterns of a rule. */
export function matches(code: string, accounts: string): boolean {
  let pattern = patterns.get(accounts)
  if (!pattern) {
    const each = accounts.split(',').map((part) => part.replaceAll('%', '.*'))
    pattern = new RegExp(`^(?:${each.join('|')})$`)
    patterns.set(accounts, pattern)
  }
  return pattern.test(code)
}
