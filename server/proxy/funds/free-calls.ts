import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { type Clock, monthName } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { FREE_CALLS_USED, freeCallsOf } from '../../../core/ledger/postings.ts'
import type { Micros } from '../../../core/money.ts'
import type { Standing } from '../../../core/usage/account-status.ts'
import type { FreeQuota } from '../../../core/usage/free-quota.ts'
import type { Funds, Offer } from '../call.ts'
import type { Foreseen, Source } from '../fund.ts'
import { holdOf, LedgerFunds } from './ledger-funds.ts'

export interface FreeCallsPorts {
  readonly ledger: Ledger
  readonly quota: FreeQuota
  readonly standing: Standing
  readonly clock: Clock
  /** Seconds that a hold outlives its call's deadline. */
  readonly holdMarginSeconds: number
}

/** One free call of this month, if the service gives any and the caller has one left. */
export const createFreeCalls = (ports: FreeCallsPorts): Source<Caller> => ({
  take: (caller, offer) => take(ports, caller, offer),
  foresee: (caller, offer) => foresee(ports, caller, offer),
})

async function take(
  { ledger, quota, standing, clock, holdMarginSeconds }: FreeCallsPorts,
  caller: Caller,
  { call, offering }: Offer,
): Promise<Funds | undefined> {
  const callsPerMonth = offering.service.freeCallsPerMonth ?? 0
  if (callsPerMonth === 0) return undefined
  const owner = await quota.account({
    principal: caller.principal,
    shard: caller.credits.shard,
    service: offering.service.slug,
    callsPerMonth,
    now: clock.now(),
  })
  const { outcome } = await ledger.reserve({
    call,
    owner,
    amount: 1n,
    payee: await ledger.account(FREE_CALLS_USED),
    commissionBps: 0,
    ttlSeconds: deadlineOf(offering.endpoint) + holdMarginSeconds,
    endpoint: offering.endpointId,
    priceVersion: offering.priceVersion,
  })
  // Call ids are fresh: a replayed reserve is our own, whose first answer was lost.
  if (outcome !== 'applied' && outcome !== 'replayed') return undefined
  return new LedgerFunds(
    'free',
    caller.keyId,
    ledger,
    holdOf(call, owner),
    (charged) => (charged > 0n ? 1n : 0n),
    () => standing.balance(caller.credits),
  )
}

async function foresee(
  { standing, clock }: FreeCallsPorts,
  { principal }: Caller,
  { offering }: Offer,
): Promise<Foreseen | undefined> {
  const { slug, freeCallsPerMonth = 0 } = offering.service
  if (freeCallsPerMonth === 0) return undefined
  const account = freeCallsOf(principal, slug, monthName(clock.now()))
  const left = (await standing.units(account)) ?? BigInt(freeCallsPerMonth)
  if (left === 0n) return undefined
  return { source: 'free', charged: 0n as Micros, freeCalls: left - 1n }
}
