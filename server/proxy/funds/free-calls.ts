import { deadlineOf } from '../../../core/catalog/services/deadline.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { FREE_CALLS_USED } from '../../../core/ledger/postings.ts'
import type { Micros } from '../../../core/money.ts'
import { coveredUnits } from '../../../core/plugin/metered.ts'
import { type MonthlyQuota, quotaAccount } from '../../../core/usage/free-quota.ts'
import type { CallDeps } from '../call-deps.ts'
import type { FundingForecast, Funds, PricedCall } from '../call-types.ts'
import { LedgerFunds } from './ledger-funds.ts'

/**
 * Reserves one of this month's free calls; for a metered price, the free units that its maximum
 * covers. Returns undefined if fewer are left.
 */
export function reserveFreeCall(
  deps: CallDeps,
  caller: Caller,
  priced: PricedCall,
): Promise<Funds | undefined> | undefined {
  const quota = quotaFor(priced)
  return quota.perMonth === 0 ? undefined : reserveFrom(deps, caller, priced, quota)
}

async function reserveFrom(
  { ledger, freeQuota, accountStatus, clock, holdMarginSeconds }: CallDeps,
  caller: Caller,
  priced: PricedCall,
  quota: ReturnType<typeof quotaFor>,
): Promise<Funds | undefined> {
  const { call, offering } = priced
  const owner = await freeQuota.account({
    principal: caller.principal,
    shard: caller.credits.shard,
    service: offering.service.slug,
    quota,
    now: clock.now(),
  })
  const { outcome } = await ledger.reserve({
    call,
    owner,
    amount: quota.needed,
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
    ({ charged, usage }) => (charged > 0n ? (usage?.quantity ?? 1n) : 0n),
    () => accountStatus.spendable(caller, clock.now()),
  )
}

/** Dry run of `reserveFreeCall`: returns the same result without using anything. */
export async function dryRunFreeCall(
  { accountStatus, clock }: CallDeps,
  { principal, credits }: Caller,
  priced: PricedCall,
): Promise<FundingForecast | undefined> {
  const quota = quotaFor(priced)
  if (quota.perMonth === 0) return undefined
  const account = quotaAccount(principal, priced.offering.service.slug, quota, clock.now())
  const known = await accountStatus.remainingUnits(account, credits.shard)
  const left = known ?? BigInt(quota.perMonth)
  if (left < quota.needed) return undefined
  return { source: 'free', charged: 0n as Micros, freeCallsLeft: left - quota.needed }
}

/** Monthly quota that may pay for a call, and how much of it the call needs. */
function quotaFor({
  offering: { service },
  metered,
  price,
}: PricedCall): MonthlyQuota & { readonly needed: bigint } {
  const { freeCallsPerMonth = 0, freeUnitsPerMonth = {} } = service
  if (!metered) return { perMonth: freeCallsPerMonth, unit: undefined, needed: 1n }
  const { unit, of } = metered
  const perMonth = Object.hasOwn(freeUnitsPerMonth, unit) ? freeUnitsPerMonth[unit]! : 0
  return { perMonth, unit, needed: coveredUnits(price, of) }
}

/** Returns true if the service has a quota from which such a call may be paid. */
export const hasFreeQuota = (priced: PricedCall): boolean => quotaFor(priced).perMonth > 0
