import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { type Clock, dayName } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { allowanceOf } from '../../../core/ledger/postings.ts'
import type { Micros } from '../../../core/money.ts'
import type { Standing } from '../../../core/usage/account-status.ts'
import { type Allowances, limitReached } from '../../../core/usage/allowances.ts'
import type { Funds, Offer } from '../call.ts'
import type { Foreseen, Source } from '../fund.ts'
import { holdOf, LedgerFunds } from './ledger-funds.ts'

export interface CreditsPorts {
  readonly ledger: Ledger
  readonly standing: Standing
  readonly allowances: Allowances
  readonly clock: Clock
  /** Seconds that a hold outlives its call's deadline. */
  readonly holdMarginSeconds: number
}

/** The price out of the key's credits, if there are enough, and its limits allow it. */
export const createCredits = (ports: CreditsPorts): Source<Caller> => ({
  take: (caller, offer) => take(ports, caller, offer),
  foresee: (caller, offer) => foresee(ports, caller, offer),
})

async function take(
  { ledger, standing, allowances, clock, holdMarginSeconds }: CreditsPorts,
  caller: Caller,
  { call, offering, price }: Offer,
): Promise<Funds | undefined> {
  const guards = await allowances.guards(caller, clock.now())
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
  // Call ids are fresh: a replayed reserve is our own, whose first answer was lost.
  if (outcome !== 'applied' && outcome !== 'replayed') {
    const enough = guards.length > 0 && (await standing.balance(caller.credits)) >= price
    if (enough) throw limitReached(caller.keyId, 'allowance')
    return undefined
  }
  return new LedgerFunds(
    'credits',
    caller.keyId,
    ledger,
    holdOf(call, caller.credits),
    (charged) => charged,
    (balance) => {
      standing.remember(caller.credits.id, balance)
      return balance as Micros
    },
  )
}

async function foresee(
  { standing, clock }: CreditsPorts,
  { credits, keyId, limits }: Caller,
  { price }: Offer,
): Promise<Foreseen | undefined> {
  if ((await standing.balance(credits)) < price) return undefined
  const today = dayName(clock.now())
  for (const limit of limits) {
    const caps = { total: limit.maxTotal, [today]: limit.maxDay }
    for (const [span, most] of Object.entries(caps)) {
      if (most === null) continue
      const left = (await standing.units(allowanceOf(limit.keyId, span))) ?? most
      if (left < price) throw limitReached(keyId, 'allowance')
    }
  }
  return { source: 'credits', charged: price, freeCalls: 0n }
}
