import { KeyRing } from '../../core/identity/keys.ts'
import { AccountStatus } from '../../core/usage/account-status.ts'
import { Allowances } from '../../core/usage/allowances.ts'
import { FreeQuota } from '../../core/usage/free-quota.ts'
import { Idempotency } from '../../core/usage/idempotency.ts'
import { Quotes } from '../../core/usage/quotes.ts'
import { RateLimits } from '../../core/usage/rate-limit.ts'
import { Receipts } from '../../core/usage/receipts.ts'
import { StoredResponses } from '../../core/usage/stored-responses.ts'
import type { CallDeps } from '../proxy/call-deps.ts'
import { MIN_PURCHASE_MICROS } from '../rest/account/credits.ts'
import { type Core, CREDITS_ONLY, type HubOptions } from './options.ts'

export function createSharedServices({ pool, windows, meters }: Core, options: HubOptions) {
  const { signingKey, baseUrl, cacheNow } = options
  return {
    accountStatus: new AccountStatus(pool, cacheNow),
    limits: new RateLimits(windows, (policy) => meters.recordRateLimited(policy)),
    keys: new KeyRing(pool, cacheNow),
    responses: new StoredResponses(pool, signingKey.deriveSecret('kept-answers')),
    receipts: new Receipts(pool, signingKey, baseUrl),
    quotes: new Quotes(pool),
  }
}
export type SharedServices = ReturnType<typeof createSharedServices>

export const createCallDeps = (
  core: Core,
  options: HubOptions,
  services: SharedServices,
): CallDeps => ({
  ...services,
  catalog: core.catalog,
  idempotency: new Idempotency(core.pool, services.responses),
  ledger: core.ledger,
  freeQuota: new FreeQuota(core.ledger),
  allowances: new Allowances(core.ledger),
  claims: core.claims,
  offers: core.offers,
  calls: core.calls,
  pendingTasks: core.pendingTasks,
  creditsOnly: CREDITS_ONLY,
  minTopUp: MIN_PURCHASE_MICROS,
  minX402: options.minX402,
  holdMarginSeconds: options.holdMarginSeconds,
  clock: core.clock,
  log: core.log,
})
