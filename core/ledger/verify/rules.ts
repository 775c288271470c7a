import type { LedgerEvent } from '../events.ts'

/** Rule of an event: a copy of its row of `ledger.kind`. A test checks that the two are equal. */
export interface EventRule {
  readonly event: LedgerEvent['type']
  readonly phase: number
  /** Accounts it may debit and credit, `%` matches anything; undefined for the steps of a call. */
  readonly debits?: string
  readonly credits?: string
  /** Required members of `meta`. */
  readonly needs: readonly string[]
}

const callStep = (event: EventRule['event'], phase: number): EventRule => ({
  event,
  phase,
  needs: [],
})
const singleStep = (event: EventRule['event'], debits: string, credits: string): EventRule => ({
  event,
  phase: 0,
  debits,
  credits,
  needs: [],
})
const decidedByPerson = (
  event: EventRule['event'],
  debits: string,
  credits: string,
): EventRule => ({
  ...singleStep(event, debits, credits),
  needs: ['author', 'reason'],
})

const AGENT = 'liabilities:agents:%:credits'
const PROVIDER = 'liabilities:providers:%'
const EARNER = `${PROVIDER},income:services:%`
const WALLET = 'assets:usdc:base:%'
const IN_TRANSIT = 'assets:usdc:base:in-transit'
const SPEND = 'assets:usdc:base:spend'
const SELLERS = 'liabilities:x402-out:in-transit'
const PAYOUTS = 'liabilities:payouts:in-transit'
const GATHERING = `${PAYOUTS},equity:between-shards`
const RECEIVABLE = 'assets:receivable:providers'
const SUSPENSE = 'liabilities:suspense'
const UNITS = 'liabilities:free-calls:%,liabilities:allowances:%'
const GRANTED = 'equity:free-calls:granted,equity:allowances:granted'
const ANY = '%'

/** Rules by kind number. */
export const EVENT_RULES: Readonly<Record<number, EventRule>> = {
  1: callStep('call.reserved', 1),
  2: callStep('call.settled', 2),
  3: callStep('call.released', 2),
  4: callStep('call.expired', 2),
  16: singleStep('credits.purchased', IN_TRANSIT, AGENT),
  17: singleStep('receipt.confirmed', 'assets:usdc:base:treasury', IN_TRANSIT),
  18: singleStep('call.sold', IN_TRANSIT, `${EARNER},income:commission`),
  19: singleStep('external.confirmed', SELLERS, SPEND),
  20: singleStep('external.refunded', SELLERS, AGENT),
  21: singleStep('payout.started', PROVIDER, PAYOUTS),
  22: singleStep('payout.confirmed', PAYOUTS, WALLET),
  23: singleStep('payout.failed', PAYOUTS, PROVIDER),
  24: singleStep('units.granted', GRANTED, UNITS),
  25: singleStep('credits.granted', 'expenses:free-tier', AGENT),
  26: singleStep('credits.lapsed', AGENT, 'income:breakage'),
  27: singleStep('balance.opened', 'assets:%', 'equity:opening,equity:opening-eth'),
  28: singleStep('external.lost', 'expenses:x402-loss', SPEND),
  29: {
    ...decidedByPerson('call.reversed', `${EARNER},income:commission,${RECEIVABLE}`, AGENT),
    phase: 3,
  },
  30: singleStep('call.sponsored', 'expenses:free-tier', EARNER),
  31: singleStep('credits.transferred', AGENT, AGENT),
  32: singleStep(
    'gas.paid',
    'expenses:gas,equity:conversion:eth',
    'equity:conversion:usdc,assets:eth:base:gas',
  ),
  33: singleStep('facilitator.charged', 'expenses:facilitator', WALLET),
  34: singleStep('wallet.moved', WALLET, WALLET),
  35: decidedByPerson('surplus.found', WALLET, SUSPENSE),
  36: decidedByPerson('shortfall.found', 'expenses:reconciliation-difference', WALLET),
  37: decidedByPerson('deposit.identified', SUSPENSE, AGENT),
  38: decidedByPerson('receivable.recovered', PROVIDER, RECEIVABLE),
  39: decidedByPerson('receivable.written-off', 'expenses:bad-debt', RECEIVABLE),
  40: decidedByPerson('balance.adjusted', ANY, ANY),
  41: singleStep('receipt.vanished', `${AGENT},expenses:x402-loss`, IN_TRANSIT),
  42: singleStep('payout.gathered', GATHERING, GATHERING),
}

const patterns = new Map<string, RegExp>()

/** Returns true if a code matches one of the account patterns of a rule. */
export function matchesAccounts(code: string, accounts: string): boolean {
  let pattern = patterns.get(accounts)
  if (!pattern) {
    const each = accounts.split(',').map((part) => part.replaceAll('%', '.*'))
    pattern = new RegExp(`^(?:${each.join('|')})$`)
    patterns.set(accounts, pattern)
  }
  return pattern.test(code)
}
