import { SEARCHED_CALLS } from '../../../../core/usage/call-list.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { ServiceCallJson } from '../../../rest/provider/calls.ts'
import type { CustomerJson, StatisticsJson } from '../../../rest/provider/statistics.ts'
import { formatCount } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { withQuery } from '../../table.ts'
import { servicePayout } from './balance.ts'
import { serviceCallTable } from './calls.ts'
import { type EarningsFigures, earningsPart } from './earnings.ts'
import type { ServiceJson } from './services.ts'
import { customerTable, failedPart, rowTable, totalsPart } from './statistics.ts'

/** Days of the figures of an API. */
export const DAYS = 30

interface ServiceFigures {
  readonly figures: StatisticsJson
  readonly earned: EarningsFigures
  /** Callers with the highest payments. */
  readonly customers: readonly CustomerJson[]
  readonly balance: ProviderBalanceJson
}

/** Calls, earnings and the next payout; calls, failures and latency of each endpoint; callers. */
export function figuresPart(
  { slug, state }: ServiceJson,
  { figures, earned, customers, balance }: ServiceFigures,
): Html | undefined {
  const { data, totals } = figures
  if (state === 'draft' && data.length === 0) return undefined
  const statistics = withQuery('/provider/statistics', { service: slug })
  return html`<h2 id="figures">Last ${DAYS} days</h2>${
    totals.calls === 0 && earned.rows.length === 0
      ? emptyState('No calls in this period.')
      : html`${totalsPart(totals)}${failedPart(figures, slug)}<h3>Earnings</h3>${earningsPart(
          earned,
        )}${servicePayout(balance, slug)}<h3>Endpoints</h3>${rowTable(
          data.map((row) => ({ ...row, endpoint: row.endpoint?.replace(`${slug} `, '') })),
          'endpoint',
        )}<h3>Callers</h3>${customerTable(customers)}<p><a href="${statistics}">All callers, and
statistics by day</a></p>`
  }`
}

/** Latest failed calls, without their inputs, which are not stored. */
export function failuresPart({ slug }: ServiceJson, failures: readonly ServiceCallJson[]): Html {
  const searched = `newest ${formatCount(SEARCHED_CALLS)} calls`
  const all = withQuery('/provider/calls', { service: slug })
  return html`<h2 id="failures">Latest failures</h2>${
    failures.length === 0
      ? emptyState(`None of the ${searched} failed.`)
      : html`<p>Among the ${searched}. Callers were not charged. We store no
inputs.</p>${serviceCallTable('Latest failures', failures)}`
  }<p><a href="${all}">All calls</a></p>`
}
