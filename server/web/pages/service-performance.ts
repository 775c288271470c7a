import type { Pool } from 'pg'
import { z } from 'zod'
import type { ServiceEndpoint } from '../../../core/catalog/services/published-services.ts'
import {
  readCallsBefore,
  readServiceDays,
  readServiceFailures,
  type ServiceFailures,
} from '../../../core/catalog/services/service-days.ts'
import { FAULTS, type FaultCode } from '../../../core/errors.ts'
import { compare } from '../chart.ts'
import { filterBar, selectFilter } from '../form.ts'
import { formatCount, formatPercent, pluralize } from '../format.ts'
import { type Html, html } from '../html.ts'
import { serviceCharts } from '../service-charts.ts'
import { table } from '../table.ts'

const RANGES = { '7': '7 days', '30': '30 days', '90': '90 days' } as const

/** Query of the page of a service: what its charts show. */
export const PerformanceQuery = z.object({
  days: z.enum(['7', '30', '90']).default('30'),
  /** Endpoint whose latency is drawn, as `METHOD /path`. @defaultValue all of them */
  endpoint: z.string().max(310).default(''),
})
export type PerformanceQuery = z.infer<typeof PerformanceQuery>

/** Reads uptime, latency and failures of a service in the days that a visitor chose. */
export async function readPerformance(
  pool: Pool,
  slug: string,
  { days: range, endpoint }: PerformanceQuery,
) {
  const count = Number(range)
  const [days, failures, before] = await Promise.all([
    readServiceDays(pool, slug, count, endpoint || undefined),
    readServiceFailures(pool, slug, count),
    readCallsBefore(pool, slug, count),
  ])
  return { days, failures, before }
}

/** Charts of uptime and latency, and why calls failed; undefined without calls. */
export function performancePart(
  path: string,
  endpoints: readonly ServiceEndpoint[],
  query: PerformanceQuery,
  { days, failures, before }: Awaited<ReturnType<typeof readPerformance>>,
): Html | undefined {
  const calls = days.reduce((sum, each) => sum + each.calls, 0)
  if (calls + before === 0) return undefined
  const range = RANGES[query.days]
  const charts = serviceCharts(days, { source: 'calls', endpoint: query.endpoint || undefined })
  return html`<section id="performance">${filterBar(`${path}#performance`, [
    selectFilter('days', 'Period', RANGES, query.days),
    endpoints.length > 1 &&
      selectFilter('endpoint', 'Latency of', endpointOptions(endpoints), query.endpoint),
  ])}${compare(calls, before, (count) => pluralize(count, 'call'), range)}${
    charts ?? html`<p class="muted">No calls in the last ${range}.</p>`
  }${failureTable(failures, calls, range)}</section>`
}

const endpointOptions = (endpoints: readonly ServiceEndpoint[]) => ({
  '': 'All endpoints',
  ...Object.fromEntries(
    endpoints.map(({ method, path }) => [`${method} ${path}`, `${method} ${path}`]),
  ),
})

/** Errors of a period, the most frequent first. */
const failureTable = (failures: readonly ServiceFailures[], calls: number, range: string): Html =>
  html`<h2>Errors</h2>${
    failures.length === 0
      ? html`<p>No call failed in the last ${range}.</p>`
      : table(
          'Errors',
          [
            { head: 'Error', cell: errorCell },
            { head: 'Calls', number: true, cell: (each) => formatCount(each.calls) },
            {
              head: 'Share',
              number: true,
              cell: (each) => formatPercent((100 * Number(each.calls)) / Math.max(1, calls)),
            },
          ],
          failures,
        )
  }<p class="small muted">Failed calls are not charged. Errors of the caller, such as an invalid
input, do not count against the uptime. <a href="/docs/problems">All error codes</a></p>`

const errorCell = ({ code, byCaller }: ServiceFailures): Html => {
  const isKnown = Object.hasOwn(FAULTS, code)
  const title = isKnown ? FAULTS[code as FaultCode][1] : code.replaceAll('_', ' ')
  return html`${isKnown ? html`<a href="/docs/problems/${code}">${title}</a>` : title} <span
class="small muted">${byCaller ? 'of the caller' : 'of the service'}</span>`
}
