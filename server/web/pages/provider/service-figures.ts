import { SEARCHED_CALLS } from '../../../../core/usage/call-list.ts'
import type { ServiceCallJson } from '../../../rest/provider/calls.ts'
import type { StatisticsJson } from '../../../rest/provider/statistics.ts'
import { formatCount } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { withQuery } from '../../table.ts'
import { serviceCallTable } from './calls.ts'
import { type EarningsFigures, earningsPart } from './earnings.ts'
import type { ServiceJson } from './services.ts'
import { failedPart, rowTable, totalsPart } from './statistics.ts'

/** Days of the figures of an API. */
export const DAYS = 30

/** Calls and earnings; calls, failures and latency of each endpoint. */
export function figuresPart(
  { slug, state }: ServiceJson,
  figures: StatisticsJson,
  earned: EarningsFigures,
): Html | undefined {
  const { data, totals } = figures
  if (state === 'draft' && data.length === 0) return undefined
  const statistics = withQuery('/provider/statistics', { service: slug })
  return html`<h2 id="figures">Last ${DAYS} days</h2>${
    totals.calls === 0 && earned.rows.length === 0
      ? emptyState('No calls in this period.')
      : html`${totalsPart(totals)}${failedPart(figures, slug)}<h3>Earnings</h3>${earningsPart(
          earned,
        )}<h3>Endpoints</h3>${rowTable(
          data.map((row) => ({ ...row, endpoint: row.endpoint?.replace(`${slug} `, '') })),
          'endpoint',
        )}<p><a href="${statistics}">Callers and
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
