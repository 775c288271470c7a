import type { Account, Asset, HoldTerms, LedgerEvent, Wallet } from './events.ts'

/** One side of an entry. Positive amounts credit the account, negative ones debit it. */
export interface Posting {
  readonly account: Account
  readonly asset: Asset
  readonly amount: bigint
}

/** The USDC that a wallet of the house holds. */
export const walletOf = (wallet: Wallet): Account => `assets:usdc:base:${wallet}`

const COMMISSION = 'income:commission'
const TREASURY = walletOf('treasury')
export const IN_TRANSIT = walletOf('in-transit')
export const SPEND = walletOf('spend')
export const EXTERNAL_SELLERS = 'liabilities:x402-out:in-transit'
export const PAYOUTS = 'liabilities:payouts:in-transit'
export const BETWEEN_SHARDS = 'equity:between-shards'
const SUSPENSE = 'liabilities:suspense'
/** What providers owe, after a refund of what they had been paid out. */
const RECEIVABLE = 'assets:receivable:providers'
export const GAS = 'assets:eth:base:gas'
const OPENING = { USDC: 'equity:opening', GWEI: 'equity:opening-eth' } as const
const CONVERSION = { USDC: 'equity:conversion:usdc', GWEI: 'equity:conversion:eth' } as const
const BREAKAGE = 'income:breakage'
export const X402_LOSS = 'expenses:x402-loss'
const EXPENSE = {
  freeTier: 'expenses:free-tier',
  gas: 'expenses:gas',
  facilitator: 'expenses:facilitator',
  x402Loss: X402_LOSS,
  difference: 'expenses:reconciliation-difference',
  badDebt: 'expenses:bad-debt',
} as const
const HOLDS = {
  USDC: 'liabilities:holds',
  FREECALL: 'liabilities:free-calls:holds',
  ALLOWANCE: 'liabilities:allowances:holds',
} as const
const GRANTED = {
  FREECALL: 'equity:free-calls:granted',
  ALLOWANCE: 'equity:allowances:granted',
} as const
const ALLOWANCES_USED = 'equity:allowances:used'
/** Where used free calls end: the payee of every call that a free call pays. */
export const FREE_CALLS_USED = 'equity:free-calls:used'

/** The accounts of the house between which corrections are booked by hand. */
export const HOUSE: readonly Account[] = [
  TREASURY,
  SPEND,
  IN_TRANSIT,
  GAS,
  RECEIVABLE,
  SUSPENSE,
  COMMISSION,
  BREAKAGE,
  ...Object.values(EXPENSE),
  ...Object.values(OPENING),
]

/** The credits of a key. */
export const creditsOf = (keyId: string): Account => `liabilities:agents:${keyId}:credits`

/** The free calls that a principal has of a service in a UTC month (`2026-11`). */
export const freeCallsOf = (principal: string, service: string, month: string): Account =>
  `liabilities:free-calls:${principal}:${service}:${month}`

/** What a key may spend: in a UTC day (`2026-11-21`), or in `total`. */
export const allowanceOf = (keyId: string, span: string): Account =>
  `liabilities:allowances:${keyId}:${span}`

/** What a provider has earned with a service; the house's own services are its income. */
export const earningsOf = (provider: string, service: string, house: boolean): Account =>
  house ? `income:services:${service}` : `liabilities:providers:${provider}:${service}`

type EventOf<Type extends LedgerEvent['type']> = Extract<LedgerEvent, { type: Type }>

/** The accounting rules, whole: what is debited (first), and what is credited (second). */
const RULES: {
  readonly [Type in LedgerEvent['type']]: (event: EventOf<Type>) => readonly Posting[]
} = {
  'call.reserved': takeHold,
  'call.settled': (e) => [
    ...giveBack(e, e.held - e.charged, e.charged),
    ...move(HOLDS[held(e.asset)], e.payee, e.asset, e.charged - e.commission),
    ...move(HOLDS[held(e.asset)], COMMISSION, e.asset, e.commission),
  ],
  'call.released': (e) => giveBack(e, e.held),
  'call.expired': (e) => giveBack(e, e.held),
  'call.sold': (e) => [
    ...usdc(IN_TRANSIT, e.payee, e.paid - e.commission),
    ...usdc(IN_TRANSIT, COMMISSION, e.commission),
  ],
  'call.sponsored': (e) => usdc(EXPENSE.freeTier, e.payee, e.amount),
  'call.reversed': (e) => [
    ...usdc(e.payee, e.credits, e.refunded - e.commission - e.receivable),
    ...usdc(RECEIVABLE, e.credits, e.receivable),
    ...usdc(COMMISSION, e.credits, e.commission),
  ],

  'credits.purchased': (e) => usdc(IN_TRANSIT, e.credits, e.amount),
  'credits.granted': (e) => usdc(EXPENSE.freeTier, e.credits, e.amount),
  'credits.lapsed': (e) => usdc(e.credits, BREAKAGE, e.amount),
  'credits.transferred': (e) => usdc(e.from, e.to, e.amount),
  'units.granted': (e) => move(GRANTED[e.asset], e.account, e.asset, e.units),
  'receipt.confirmed': (e) => usdc(TREASURY, IN_TRANSIT, e.amount),
  'receipt.vanished': (e) => [
    ...usdc(e.credits, IN_TRANSIT, e.recovered),
    ...usdc(EXPENSE.x402Loss, IN_TRANSIT, e.lost),
  ],

  'external.confirmed': (e) => usdc(EXTERNAL_SELLERS, SPEND, e.amount),
  'external.refunded': (e) => usdc(EXTERNAL_SELLERS, e.credits, e.amount),
  'external.lost': (e) => usdc(EXPENSE.x402Loss, SPEND, e.amount),

  'payout.started': (e) => usdc(e.earnings, PAYOUTS, e.amount),
  'payout.gathered': ({ way, amount }) =>
    way === 'leaves'
      ? usdc(PAYOUTS, BETWEEN_SHARDS, amount)
      : usdc(BETWEEN_SHARDS, PAYOUTS, amount),
  'payout.confirmed': (e) => usdc(PAYOUTS, walletOf(e.wallet), e.amount),
  'payout.failed': (e) => usdc(PAYOUTS, e.earnings, e.amount),
  'receivable.recovered': (e) => usdc(e.earnings, RECEIVABLE, e.amount),
  'receivable.written-off': (e) => usdc(EXPENSE.badDebt, RECEIVABLE, e.amount),

  'gas.paid': (e) => [
    ...usdc(EXPENSE.gas, CONVERSION.USDC, e.cost),
    ...move(CONVERSION.GWEI, GAS, 'GWEI', e.gwei),
  ],
  'facilitator.charged': (e) => usdc(EXPENSE.facilitator, walletOf(e.wallet), e.amount),
  'wallet.moved': (e) => usdc(walletOf(e.to), walletOf(e.from), e.amount),
  'surplus.found': (e) => usdc(walletOf(e.wallet), SUSPENSE, e.amount),
  'shortfall.found': (e) => usdc(EXPENSE.difference, walletOf(e.wallet), e.amount),
  'deposit.identified': (e) => usdc(SUSPENSE, e.credits, e.amount),
  'balance.adjusted': (e) => move(e.debit, e.credit, e.asset, e.amount),
  'balance.opened': ({ account, amount, asset = 'USDC' }) =>
    move(account, OPENING[asset], asset, amount),
}

/**
 * What an event does to the accounts. Pure: the same event always gives the same postings, and they
 * sum to zero for each asset. `ledger.legs` says the same in the database, and `ledger.kind` which
 * accounts each event may touch.
 * @throws RangeError for a negative movement: more is charged than held, or given back than paid
 */
export const postings = (event: LedgerEvent): readonly Posting[] =>
  (RULES[event.type] as (event: LedgerEvent) => readonly Posting[])(event)

/** Debits one account and credits another; nothing for nothing. */
function move(debit: Account, credit: Account, asset: Asset, amount: bigint): readonly Posting[] {
  if (amount < 0n) throw new RangeError(`negative movement: ${debit} → ${credit} ${amount}`)
  if (amount === 0n) return []
  return [
    { account: debit, asset, amount: -amount },
    { account: credit, asset, amount },
  ]
}

const usdc = (debit: Account, credit: Account, amount: bigint): readonly Posting[] =>
  move(debit, credit, 'USDC', amount)

/** The owner, and every guarding allowance, pay the whole amount into the holds. */
function takeHold({ owner, asset, guards, held: amount }: HoldTerms): readonly Posting[] {
  return [
    ...move(owner, HOLDS[held(asset)], asset, amount),
    ...guards.flatMap((guard) => move(guard, HOLDS.ALLOWANCE, 'ALLOWANCE', amount)),
  ]
}

/**
 * The owner gets `rest` of a hold back, and so does every guarding allowance, of which `used` is
 * used up for good.
 */
function giveBack(terms: HoldTerms, rest: bigint, used = 0n): readonly Posting[] {
  return [
    ...move(HOLDS[held(terms.asset)], terms.owner, terms.asset, rest),
    ...terms.guards.flatMap((guard) => [
      ...move(HOLDS.ALLOWANCE, guard, 'ALLOWANCE', rest),
      ...move(HOLDS.ALLOWANCE, ALLOWANCES_USED, 'ALLOWANCE', used),
    ]),
  ]
}

/** The assets that can be held; gas cannot. */
function held(asset: Asset): keyof typeof HOLDS {
  if (asset === 'GWEI') throw new RangeError('gas is never held')
  return asset
}

/** What an event does to each account: its postings, added up. Zero changes are left out. */
export function changes(event: LedgerEvent): ReadonlyMap<Account, bigint> {
  const sums = new Map<Account, bigint>()
  for (const { account, amount } of postings(event)) {
    sums.set(account, (sums.get(account) ?? 0n) + amount)
  }
  for (const [account, sum] of sums) if (sum === 0n) sums.delete(account)
  return sums
}
