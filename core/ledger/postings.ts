import type { Account, Asset, HoldTerms, LedgerEvent, NetworkName, Wallet } from './events.ts'

/** One line of an entry. Positive amounts credit the account, negative amounts debit it. */
export interface Posting {
  readonly account: Account
  readonly asset: Asset
  readonly amount: bigint
}

/** Account of the USDC in a platform wallet. */
export const walletOf = (wallet: Wallet, network: NetworkName = 'base'): Account =>
  `assets:usdc:${network}:${wallet}`

/** Returns true for the USDC of a platform wallet, in transit to it or in it. */
export const isUsdcWallet = (account: Account): boolean => account.startsWith('assets:usdc:')

/** Returns true for cash: USDC counts as USD, also on its way between two networks. */
export const isCash = (account: Account): boolean => isUsdcWallet(account) || account === SWEEPS

const COMMISSION = 'income:commission'
export const TREASURY = walletOf('treasury')
export const IN_TRANSIT = walletOf('in-transit')
export const SPEND = walletOf('spend')
export const EXTERNAL_SELLERS = 'liabilities:x402-out:in-transit'
export const PAYOUTS = 'liabilities:payouts:in-transit'
export const BETWEEN_SHARDS = 'equity:between-shards'
/** Unidentified deposits. */
export const SUSPENSE = 'liabilities:suspense'
/** Debts of providers: refunds of amounts that had already been paid out. */
export const RECEIVABLE = 'assets:receivable:providers'
/** USDC on its way from the treasury of one network to that of another. */
const SWEEPS = 'assets:sweeps:in-transit'
export const GAS = 'assets:eth:base:gas'
/** Value of the ETH in USDC, as the last revaluation left it. */
export const ETH_VALUE = 'assets:eth:base:value'
/** Value of the ETH that came in, at the price of the next revaluation. */
export const CONTRIBUTED_ETH = 'equity:contributed-eth'
export const REVALUATION_GAIN = 'income:revaluation'
export const OPENING = { USDC: 'equity:opening', GWEI: 'equity:opening-eth' } as const
export const CONVERSION = { USDC: 'equity:conversion:usdc', GWEI: 'equity:conversion:eth' } as const
const BREAKAGE = 'income:breakage'
export const X402_LOSS = 'expenses:x402-loss'
export const EXPENSE = {
  freeTier: 'expenses:free-tier',
  gas: 'expenses:gas',
  facilitator: 'expenses:facilitator',
  x402Loss: X402_LOSS,
  difference: 'expenses:reconciliation-difference',
  badDebt: 'expenses:bad-debt',
  revaluation: 'expenses:revaluation',
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
/** Payee of every call paid by a free call. */
export const FREE_CALLS_USED = 'equity:free-calls:used'

/** Platform accounts between which finance may post manual corrections. */
export const PLATFORM_ACCOUNTS: readonly Account[] = [
  TREASURY,
  SPEND,
  IN_TRANSIT,
  GAS,
  RECEIVABLE,
  SWEEPS,
  SUSPENSE,
  COMMISSION,
  BREAKAGE,
  ...Object.values(EXPENSE),
  ...Object.values(OPENING),
]

export const creditsOf = (keyId: string): Account => `liabilities:agents:${keyId}:credits`

/** Account of a principal's free calls for a service in a UTC month (`2026-11`). */
export const freeCallsOf = (principal: string, service: string, month: string): Account =>
  `liabilities:free-calls:${principal}:${service}:${month}`

/** Account of a principal's free units of a service in a UTC month, for its metered endpoints. */
export const freeUnitsOf = (
  principal: string,
  service: string,
  month: string,
  unit: string,
): Account => `${freeCallsOf(principal, service, month)}:${unit}`

/** Account of a key's spending allowance for a UTC day (`2026-11-21`) or for `total`. */
export const allowanceOf = (keyId: string, span: string): Account =>
  `liabilities:allowances:${keyId}:${span}`

/** Account credited for sales: a liability to the provider, or income of the platform. */
export const earningsOf = (provider: string, service: string, isFirstParty: boolean): Account =>
  isFirstParty ? `income:services:${service}` : `${earningsPrefix(provider)}${service}`

/** Prefix of the accounts of a provider's earnings from all of its services. */
export const earningsPrefix = (provider: string): string => `liabilities:providers:${provider}:`

/** Account of what was received on the network of an event and is not final yet. */
const inTransit = ({ network }: { readonly network?: NetworkName }): Account =>
  walletOf('in-transit', network)

type EventOf<Type extends LedgerEvent['type']> = Extract<LedgerEvent, { type: Type }>

/** Accounting rules of all events: the debited account first, then the credited one. */
const RULES: {
  readonly [Type in LedgerEvent['type']]: (event: EventOf<Type>) => readonly Posting[]
} = {
  'call.reserved': reserveHold,
  'call.settled': (e) => [
    ...returnHold(e, e.held - e.charged, e.charged),
    ...move(HOLDS[holdableAsset(e.asset)], e.payee, e.asset, e.charged - e.commission),
    ...move(HOLDS[holdableAsset(e.asset)], COMMISSION, e.asset, e.commission),
  ],
  'call.released': (e) => returnHold(e, e.held),
  'call.expired': (e) => returnHold(e, e.held),
  'call.sold': (e) => [
    ...moveUsdc(inTransit(e), e.payee, e.paid - e.commission),
    ...moveUsdc(inTransit(e), COMMISSION, e.commission),
  ],
  'call.reversed': (e) => refund(e, e.credits),
  'sale.reversed': (e) => refund(e, e.to === 'suspense' ? SUSPENSE : BETWEEN_SHARDS),

  'credits.purchased': (e) => moveUsdc(inTransit(e), e.credits, e.amount),
  'credits.granted': (e) => moveUsdc(EXPENSE.freeTier, e.credits, e.amount),
  'credits.lapsed': (e) => moveUsdc(e.credits, BREAKAGE, e.amount),
  'credits.transferred': (e) => moveUsdc(e.from, e.to, e.amount),
  'units.granted': (e) => move(GRANTED[e.asset], e.account, e.asset, e.units),
  'units.withdrawn': (e) => move(e.account, GRANTED[e.asset], e.asset, e.units),
  'receipt.confirmed': (e) => moveUsdc(walletOf('treasury', e.network), inTransit(e), e.amount),
  'receipt.vanished': (e) => [
    ...moveUsdc(e.credits, inTransit(e), e.recovered),
    ...moveUsdc(EXPENSE.x402Loss, inTransit(e), e.lost),
  ],

  'external.confirmed': (e) => moveUsdc(EXTERNAL_SELLERS, SPEND, e.amount),
  'external.refunded': (e) => moveUsdc(EXTERNAL_SELLERS, e.credits, e.amount),
  'external.lost': (e) => moveUsdc(EXPENSE.x402Loss, SPEND, e.amount),

  'commission.rounded': (e) => moveUsdc(e.earnings, COMMISSION, e.amount),
  'payout.started': (e) => moveUsdc(e.earnings, PAYOUTS, e.amount),
  'payout.gathered': ({ direction, amount }) =>
    direction === 'out'
      ? moveUsdc(PAYOUTS, BETWEEN_SHARDS, amount)
      : moveUsdc(BETWEEN_SHARDS, PAYOUTS, amount),
  'payout.confirmed': (e) => moveUsdc(PAYOUTS, walletOf(e.wallet), e.amount),
  'payout.failed': (e) => moveUsdc(PAYOUTS, e.earnings, e.amount),
  'receivable.recovered': (e) => moveUsdc(e.earnings, RECEIVABLE, e.amount),
  'receivable.written-off': (e) => moveUsdc(EXPENSE.badDebt, RECEIVABLE, e.amount),

  'gas.paid': (e) => [
    ...moveUsdc(EXPENSE.gas, CONVERSION.USDC, e.cost),
    ...move(CONVERSION.GWEI, GAS, 'GWEI', e.gwei),
  ],
  'holdings.revalued': (e) => [
    ...moveUsdc(ETH_VALUE, CONTRIBUTED_ETH, e.contributed),
    ...moveUsdc(CONVERSION.USDC, ETH_VALUE, e.spent),
    ...moveUsdc(ETH_VALUE, REVALUATION_GAIN, e.gain),
    ...moveUsdc(EXPENSE.revaluation, ETH_VALUE, e.loss),
  ],
  'facilitator.charged': (e) => moveUsdc(EXPENSE.facilitator, walletOf(e.wallet), e.amount),
  'wallet.moved': (e) => moveUsdc(walletOf(e.to), walletOf(e.from), e.amount),
  'surplus.found': (e) => moveUsdc(walletOf(e.wallet, e.network), SUSPENSE, e.amount),
  'shortfall.found': (e) => moveUsdc(EXPENSE.difference, walletOf(e.wallet, e.network), e.amount),
  'deposit.identified': (e) => moveUsdc(SUSPENSE, e.credits, e.amount),
  'balance.adjusted': (e) => move(e.debit, e.credit, e.asset, e.amount),
  'balance.opened': ({ account, amount, asset = 'USDC' }) =>
    move(account, OPENING[asset], asset, amount),
  'period.closed': () => [],
}

/**
 * Returns the postings of an event. Pure; they sum to zero for each asset. The database computes
 * the same in `ledger.legs`, and lists the accounts that each event may touch in `ledger.kind`.
 * @throws RangeError for a negative movement: charged above the hold, or refunded above the charge
 */
export const postings = (event: LedgerEvent): readonly Posting[] =>
  (RULES[event.type] as (event: LedgerEvent) => readonly Posting[])(event)

/** Debits one account and credits another; no postings for a zero amount. */
function move(debit: Account, credit: Account, asset: Asset, amount: bigint): readonly Posting[] {
  if (amount < 0n) throw new RangeError(`negative movement: ${debit} → ${credit} ${amount}`)
  if (amount === 0n) return []
  return [
    { account: debit, asset, amount: -amount },
    { account: credit, asset, amount },
  ]
}

const moveUsdc = (debit: Account, credit: Account, amount: bigint): readonly Posting[] =>
  move(debit, credit, 'USDC', amount)

/** Refunds an amount from those who received it. */
const refund = (
  e: EventOf<'call.reversed' | 'sale.reversed'>,
  credited: Account,
): readonly Posting[] => [
  ...moveUsdc(e.payee, credited, e.refunded - e.commission - e.receivable),
  ...moveUsdc(RECEIVABLE, credited, e.receivable),
  ...moveUsdc(COMMISSION, credited, e.commission),
]

/** Moves the amount from the owner, and from each guarding allowance, to the holds. */
function reserveHold({ owner, asset, guards, held: amount }: HoldTerms): readonly Posting[] {
  return [
    ...move(owner, HOLDS[holdableAsset(asset)], asset, amount),
    ...guards.flatMap((guard) => move(guard, HOLDS.ALLOWANCE, 'ALLOWANCE', amount)),
  ]
}

/** Returns `rest` of a hold to the owner and to each guarding allowance, and consumes `used`. */
function returnHold(terms: HoldTerms, rest: bigint, used = 0n): readonly Posting[] {
  return [
    ...move(HOLDS[holdableAsset(terms.asset)], terms.owner, terms.asset, rest),
    ...terms.guards.flatMap((guard) => [
      ...move(HOLDS.ALLOWANCE, guard, 'ALLOWANCE', rest),
      ...move(HOLDS.ALLOWANCE, ALLOWANCES_USED, 'ALLOWANCE', used),
    ]),
  ]
}

/** @throws RangeError for gas, which cannot be reserved */
function holdableAsset(asset: Asset): keyof typeof HOLDS {
  if (asset === 'GWEI') throw new RangeError('gas is never held')
  return asset
}
