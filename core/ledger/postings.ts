import type { Account, Asset, HoldTerms, LedgerEvent } from './events.ts'

/** One side of an entry. Positive amounts credit the account, negative ones debit it. */
export interface Posting {
  readonly account: Account
  readonly asset: Asset
  readonly amount: bigint
}

const COMMISSION = 'income:commission'
const TREASURY = 'assets:usdc:base:treasury'
export const IN_TRANSIT = 'assets:usdc:base:in-transit'
export const SPEND = 'assets:usdc:base:spend'
export const EXTERNAL_SELLERS = 'liabilities:x402-out:in-transit'
const OPENING = 'equity:opening'
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

/** The credits of a key. */
export const creditsOf = (keyId: string): Account => `liabilities:agents:${keyId}:credits`

/** The free calls that a principal has of a service in a UTC month (`2026-11`). */
export const freeCallsOf = (principal: string, service: string, month: string): Account =>
  `liabilities:free-calls:${principal}:${service}:${month}`

/** What a provider has earned with a service; the house's own services are its income. */
export const earningsOf = (provider: string, service: string, house: boolean): Account =>
  house ? `income:services:${service}` : `liabilities:providers:${provider}:${service}`

/**
 * The accounting rules, whole. Pure: the same event always gives the same postings, and they sum
 * to zero for each asset. `ledger.legs` says the same in the database.
 */
export function postings(event: LedgerEvent): readonly Posting[] {
  switch (event.type) {
    case 'call.reserved':
      return takeHold(event)
    case 'call.settled':
      return [
        ...giveBack(event, event.held - event.charged, event.charged),
        ...move(
          HOLDS[held(event.asset)],
          event.payee,
          event.asset,
          event.charged - event.commission,
        ),
        ...move(HOLDS[held(event.asset)], COMMISSION, event.asset, event.commission),
      ]
    case 'call.released':
    case 'call.expired':
      return giveBack(event, event.held)
    case 'call.sold':
      return [
        ...move(IN_TRANSIT, event.payee, 'USDC', event.paid - event.commission),
        ...move(IN_TRANSIT, COMMISSION, 'USDC', event.commission),
      ]
    case 'credits.purchased':
      return move(IN_TRANSIT, event.credits, 'USDC', event.amount)
    case 'receipt.confirmed':
      return move(TREASURY, IN_TRANSIT, 'USDC', event.amount)
    case 'external.confirmed':
      return move(EXTERNAL_SELLERS, SPEND, 'USDC', event.amount)
    case 'external.refunded':
      return move(EXTERNAL_SELLERS, event.credits, 'USDC', event.amount)
    case 'units.granted':
      return move(GRANTED[event.asset], event.account, event.asset, event.units)
    case 'balance.opened':
      return move(event.account, OPENING, 'USDC', event.amount)
  }
}

/** Debits one account and credits another; nothing for nothing. */
function move(debit: Account, credit: Account, asset: Asset, amount: bigint): readonly Posting[] {
  if (amount < 0n) throw new RangeError(`negative movement: ${debit} → ${credit} ${amount}`)
  if (amount === 0n) return []
  return [
    { account: debit, asset, amount: -amount },
    { account: credit, asset, amount },
  ]
}

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
