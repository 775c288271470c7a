import { json, type Micros } from '../../core/money.ts'
import { showMetered } from '../../core/usage/usage-view.ts'
import type { HttpResponse } from '../http/http-response.ts'
import type { CallDeps } from './call-deps.ts'
import type { FundingForecast, PricedCall } from './call-types.ts'
import { type FundingSources, firstFundingSource } from './fund.ts'
import { dryRunCredits } from './funds/credits.ts'
import { dryRunFreeCall } from './funds/free-calls.ts'
import { dryRunX402 } from './funds/x402.ts'
import { assertCallable, paymentRequired } from './payment-required.ts'

/** Content type of a dry run; an endpoint declares `application/json` for its own response. */
export const DRY_RUN_TYPE = 'application/vnd.agenthub.dry-run+json'

/** Reports price, funding source and balance. No money moves, but refusals are the same. */
export async function dryRun(deps: CallDeps, priced: PricedCall): Promise<HttpResponse> {
  const { caller, price } = priced
  await assertCallable(deps, priced)
  const forecast = price === 0n ? NO_CHARGE : await firstFundingSource(DRY_RUN, deps, priced)
  if (!forecast) throw await paymentRequired(deps, priced)
  const balance =
    caller.keyId === null ? undefined : await deps.accountStatus.spendable(caller, deps.clock.now())
  return responseOf(priced, forecast, balance)
}

const DRY_RUN: FundingSources<FundingForecast> = {
  freeCall: dryRunFreeCall,
  credits: dryRunCredits,
  x402: dryRunX402,
}

const NO_CHARGE: FundingForecast = { source: 'none', charged: 0n as Micros, freeCallsLeft: 0n }

function responseOf(
  { offering, price, metered, cautions }: PricedCall,
  { source, charged, freeCallsLeft }: FundingForecast,
  balance: Micros | undefined,
): HttpResponse {
  const fromCredits = source === 'credits' ? price : 0n
  return {
    status: 200,
    headers: {
      'Content-Type': DRY_RUN_TYPE,
      'Cache-Control': 'no-store',
      'X-Charged-Microdollars': '0',
    },
    body: {
      dry_run: true,
      endpoint: `${offering.method} ${offering.path}`,
      price_microdollars: json(price),
      ...(metered && { metered: showMetered(metered, price) }),
      price_version: offering.priceVersion,
      source,
      charge_microdollars: json(charged),
      balance_microdollars: balance === undefined ? null : json(balance),
      balance_after_microdollars: balance === undefined ? null : json(balance - fromCredits),
      free_calls_after: json(freeCallsLeft),
      ...(cautions !== undefined && { cautions }),
    },
  }
}
