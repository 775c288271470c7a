import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { dayStart, daysBefore } from '../../../core/clock.ts'
import type { Fault } from '../../../core/errors.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import type { Micros } from '../../../core/money.ts'
import { allowancesOf } from '../../../core/usage/account-status.ts'
import { limitReached, type ReachedLimit } from '../../../core/usage/allowances.ts'
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
    const least = enough ? await leastAllowance(deps, caller) : undefined
    if (least) throw allowanceReached(deps, least, price)
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
    ({ charged }) => charged,
    (balance) => {
      accountStatus.noteBalance(caller.credits.id, balance)
      return accountStatus.cap(caller, balance as Micros, clock.now())
    },
  )

/** Dry run of `reserveCredits`: returns the same result without moving money. */
export async function dryRunCredits(
  deps: CallDeps,
  caller: Caller,
  { price }: PricedCall,
): Promise<FundingForecast | undefined> {
  if ((await deps.accountStatus.balance(caller.credits)) < price) return undefined
  const least = await leastAllowance(deps, caller)
  if (least && least.left < price) throw allowanceReached(deps, least, price)
  return { source: 'credits', charged: price, freeCallsLeft: 0n }
}

/** Finds the allowance that has the least left; undefined without allowances. */
async function leastAllowance(deps: CallDeps, { credits, limits }: Caller) {
  const caps = allowancesOf(limits, deps.clock.now())
  const { shard } = credits
  const left = caps.length === 0 ? [] : await deps.accountStatus.remainingAllowances(caps, shard)
  const allowances = caps.map((cap, i) => ({ ...cap, left: left[i]! }))
  return allowances.toSorted((a, b) => Number(a.left - b.left))[0]
}

function allowanceReached({ clock }: CallDeps, reached: ReachedLimit, price: bigint): Fault {
  const tomorrow = daysBefore(dayStart(clock.now()), -1)
  return limitReached(reached, price, reached.scope === 'day' ? tomorrow : undefined)
}
