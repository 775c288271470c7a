import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import { monthName } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { FREE_CALLS_USED, freeCallsOf } from '../../../core/ledger/postings.ts'
import type { Micros } from '../../../core/money.ts'
import type { CallDeps } from '../call-deps.ts'
import type { FundingForecast, Funds, PricedCall } from '../call-types.ts'
import { LedgerFunds } from './ledger-funds.ts'

/** Reserves one of this month's free calls. Returns undefined if the service or caller has none. */
export async function reserveFreeCall(
  { ledger, freeQuota, accountStatus, clock, holdMarginSeconds }: CallDeps,
  caller: Caller,
  { call, offering }: PricedCall,
): Promise<Funds | undefined> {
  const callsPerMonth = offering.service.freeCallsPerMonth ?? 0
  if (callsPerMonth === 0) return undefined
  const owner = await freeQuota.account({
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
  // Call ids are unique: `replayed` means that our first attempt was applied and its reply lost.
  if (outcome !== 'applied' && outcome !== 'replayed') return undefined
  return new LedgerFunds(
    'free',
    caller.keyId,
    ledger,
    { call, owner },
    (charged) => (charged > 0n ? 1n : 0n),
    () => accountStatus.spendable(caller, clock.now()),
  )
}

/** Dry run of `reserveFreeCall`: returns the same result without using a free call. */
export async function dryRunFreeCall(
  { accountStatus, clock }: CallDeps,
  { principal }: Caller,
  { offering }: PricedCall,
): Promise<FundingForecast | undefined> {
  const { slug, freeCallsPerMonth = 0 } = offering.service
  if (freeCallsPerMonth === 0) return undefined
  const account = freeCallsOf(principal, slug, monthName(clock.now()))
  const left = (await accountStatus.remainingUnits(account)) ?? BigInt(freeCallsPerMonth)
  if (left === 0n) return undefined
  return { source: 'free', charged: 0n as Micros, freeCallsLeft: left - 1n }
}
