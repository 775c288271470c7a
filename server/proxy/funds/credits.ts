import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { dayName } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { allowanceOf } from '../../../core/ledger/postings.ts'
import type { Micros } from '../../../core/money.ts'
import { limitReached } from '../../../core/usage/allowances.ts'
import type { CallDeps } from '../call-deps.ts'
import type { FundingForecast, Funds, PricedCall } from '../call-types.ts'
import { LedgerFunds } from './ledger-funds.ts'

/** Reserves credits; undefined if they do not suffice. @throws Fault `key_limit_reached` */
export async function reserveCredits(
  deps: CallDeps,
  caller: Caller,
  { call, offering, price }: PricedCall,
): Promise<Funds | undefined> {
  const { ledger, accountStatus, allowances, clock, holdMarginSeconds } = deps
  const guards = await allowances.accountsFor(caller, clock.now())
  const { outcome } = await ledger.reserve({
    call,
    owner: caller.credits,
    amount: price,
    payee: offering.payee,
    commissionBps: offering.commissionBps,
    ttlSeconds: deadlineOf(offering.endpoint) + holdMarginSeconds,
    endpoint: offering.endpointId,
    priceVersion: offering.priceVersion,
    guards,
  })
  // Call ids are unique: `replayed` means that our first attempt was applied and its reply lost.
  if (outcome !== 'applied' && outcome !== 'replayed') {
    const enough = guards.length > 0 && (await accountStatus.balance(caller.credits)) >= price
    if (enough) throw limitReached(caller.keyId, 'allowance')
    return undefined
  }
  return fundsOf(deps, caller, call)
}

/** Funds of an interrupted call whose payment to a seller may have been sent. */
export function resumeCredits(deps: CallDeps, caller: Caller, call: string): Funds {
  const funds = fundsOf(deps, caller, call)
  funds.park(true)
  return funds
}

const fundsOf = (
  { ledger, accountStatus, clock }: CallDeps,
  caller: Caller,
  call: string,
): LedgerFunds =>
  new LedgerFunds(
    'credits',
    caller.keyId,
    ledger,
    { call, owner: caller.credits },
    (charged) => charged,
    (balance) => {
      accountStatus.noteBalance(caller.credits.id, balance)
      return accountStatus.cap(caller, balance as Micros, clock.now())
    },
  )

/** Dry run of `reserveCredits`: returns the same result without moving money. */
export async function dryRunCredits(
  { accountStatus, clock }: CallDeps,
  { credits, keyId, limits }: Caller,
  { price }: PricedCall,
): Promise<FundingForecast | undefined> {
  if ((await accountStatus.balance(credits)) < price) return undefined
  const today = dayName(clock.now())
  for (const limit of limits) {
    const caps = { total: limit.maxTotal, [today]: limit.maxDay }
    for (const [span, cap] of Object.entries(caps)) {
      if (cap === null) continue
      const left = (await accountStatus.remainingUnits(allowanceOf(limit.keyId, span))) ?? cap
      if (left < price) throw limitReached(keyId, 'allowance')
    }
  }
  return { source: 'credits', charged: price, freeCallsLeft: 0n }
}
