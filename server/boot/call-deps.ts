import { AgentVerifier } from '../../core/agents/agent-verifier.ts'
import { KeyRing } from '../../core/identity/keys.ts'
import { type Micros, micros } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { trackMinimumSale } from '../../core/payments/facilitators/minimum-sale.ts'
import { SignInChallenges } from '../../core/payments/receiving/sign-in-challenges.ts'
import { Slots } from '../../core/runtime/slots.ts'
import { AccountStatus } from '../../core/usage/account-status.ts'
import { Allowances } from '../../core/usage/allowances.ts'
import { CallCharges } from '../../core/usage/call-charges.ts'
import { FreeQuota } from '../../core/usage/free-quota.ts'
import { Idempotency } from '../../core/usage/idempotency.ts'
import { Quotes } from '../../core/usage/quotes.ts'
import { RateLimits } from '../../core/usage/rate-limit.ts'
import { Receipts } from '../../core/usage/receipts.ts'
import { StoredResponses } from '../../core/usage/stored-responses.ts'
import type { CallDeps } from '../proxy/call-deps.ts'
import { ExpectedLengths } from '../proxy/expected-lengths.ts'
import { KEYLESS_CALLS } from '../proxy/funds/no-charge.ts'
import { type Core, CREDITS_ONLY, type HubOptions } from './options.ts'

export function createSharedServices(
  { pool, gates, secretKeys, windows, meters }: Core,
  options: HubOptions,
) {
  const { baseUrl, cacheNow } = options
  return {
    accountStatus: new AccountStatus(pool, cacheNow),
    limits: new RateLimits(windows, (policy) => meters.recordRateLimited(policy)),
    ...gates,
    keys: new KeyRing(pool, { gate: gates.keyGate, now: cacheNow }),
    responses: new StoredResponses(pool, secretKeys.of('stored-responses')),
    receipts: new Receipts(pool, () => secretKeys.signingKey(), baseUrl),
    quotes: new Quotes(pool),
  }
}
export type SharedServices = ReturnType<typeof createSharedServices>

/** Minimum x402 price: as configured, or enough to cover gas that the hub pays with real money. */
function minimumOf({ minX402, sandbox, money, gas, cacheNow }: HubOptions): () => Micros {
  const { gas: wallet } = money
  if (minX402 === undefined && wallet && !sandbox) {
    const gasPrice = () => wallet.gasPrice()
    return trackMinimumSale({ gasPrice, ethPrice: gas.ethPrice, now: cacheNow })
  }
  const minimum = minX402 ?? micros(0)
  return () => minimum
}

export const createCallDeps = (
  core: Core,
  options: HubOptions,
  services: SharedServices,
): CallDeps => ({
  ...services,
  agents: new AgentVerifier({ ...core, http: core.egress }),
  catalog: core.catalog,
  idempotency: new Idempotency(core, services.responses),
  lease: core.lease,
  ledger: core.ledger,
  freeQuota: new FreeQuota(core.ledger),
  allowances: new Allowances(core),
  claims: core.claims,
  offers: core.offers,
  signIns: {
    pool: core.pool,
    challenges: new SignInChallenges(
      core.secretKeys.of('sign-in-challenges'),
      USDC_BASE.network,
      core.clock,
    ),
  },
  chain: options.money.chain,
  networks: options.money.networks,
  calls: core.calls,
  charges: new CallCharges(core.pool, core.ledger),
  pendingTasks: core.pendingTasks,
  keylessCalls: new Slots(KEYLESS_CALLS),
  expectedLengths: new ExpectedLengths(),
  creditsOnly: CREDITS_ONLY,
  minX402: minimumOf(options),
  prepaidAbove: options.prepaidAbove,
  holdMarginSeconds: options.holdMarginSeconds,
  clock: core.clock,
  log: core.log,
})
