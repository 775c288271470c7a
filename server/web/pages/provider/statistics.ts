import type { Pool } from 'pg'
import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import { FAULTS, type FaultCode } from '../../../../core/errors.ts'
import { findSoldServices } from '../../../../core/usage/provider-statistics.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { CustomerJson, StatisticsJson } from '../../../rest/provider/statistics.ts'
import { chart } from '../../chart.ts'
import { dayRangeOf } from '../../chart-range.ts'
import { filterBar, periodFilters, selectFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import {
  alignedColumn,
  formatCount,
  formatDollars,
  formatDuration,
  formatPercent,
  lastDays,
  pluralize,
} from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, type PageRequest, page, requireSession } from '../../page.ts'
import { cardTable, metrics, pager, table, tileTable, timeAgo, withQuery } from '../../table.ts'
import { apiFilter } from './api-filter.ts'
import { type EarningsFigures, earningsPart, readEarningsFigures } from './earnings.ts'

export type StatisticsRow = StatisticsJson['data'][number]

const GROUPS = { day: 'Day', service: 'Service', endpoint: 'Endpoint', outcome: 'Outcome' } as const

const Query = z.object({
  by: z.enum(['day', 'service', 'endpoint', 'outcome']).default('day'),
  service: z.string().trim().max(40).default(''),
  from: optionalDay,
  to: optionalDay,
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

const PATH = '/provider/statistics'
const DAYS = 30

interface StatisticsPageDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** `/provider/statistics`: calls, latency, earnings and callers of a provider's services. */
export const statisticsPage = ({ pool, clock }: StatisticsPageDeps): AnyPage =>
  page(PATH, {
    query: Query,
    render: async (request) => {
      const { api, query } = request
      const { cursor, by, service } = query
      const now = clock.now()
      const to = query.to || dayName(now)
      const from = query.from || dayName(daysBefore(new Date(to), DAYS - 1))
      const days = { from, to, service }
      const { principals } = requireSession(request)
      const [{ services }, figures, customers] = await Promise.all([
        findSoldServices(pool, principals, undefined),
        api<StatisticsJson>('GET /v1/provider/statistics', { query: { ...days, by } }),
        api<ListPage<CustomerJson>>('GET /v1/provider/customers', { query: { ...days, cursor } }),
      ])
      const earned = by === 'day' && (await dailyEarnings(pool, request, figures))
      return {
        title: 'Statistics',
        tabs: SELLING_TABS,
        main: html`<h1>Statistics</h1>${filterBar(PATH, [
          selectFilter('by', 'Group by', GROUPS, by),
          apiFilter(services, service, 'All'),
          periodFilters(from, to),
        ])}${
          isEmpty(figures.totals)
            ? emptyState('No calls in this period.')
            : html`${totalsPart(figures.totals)}${
                by !== 'outcome' && failedPart(figures, service)
              }${earned && dailyCharts(figures, earned)}${
                by === 'outcome'
                  ? outcomeTable(figures.data, figures.totals.calls)
                  : rowTable(figures.data, by)
              }<h2>Callers</h2><p>Callers are shown under pseudonyms. The same
caller always has the same one.</p>
${customerTable(customers.data)}${pager(PATH, query, customers.next_cursor)}`
        }`,
      }
    },
  })

/** True without calls, and without refunds of earlier ones. */
const isEmpty = (totals: StatisticsJson['totals']): boolean =>
  totals.calls + totals.gross_microdollars + totals.refunded_microdollars === 0

/** Earnings by API over the days of the statistics, which the API has checked. */
const dailyEarnings = (
  pool: Pool,
  request: PageRequest<Query>,
  { from, to }: StatisticsJson,
): Promise<EarningsFigures> => {
  const { principals } = requireSession(request)
  const service = request.query.service || undefined
  return readEarningsFigures(pool, principals, dayRangeOf(daysOf(from, to)), service)
}

const dailyCharts = ({ data }: StatisticsJson, earned: EarningsFigures): Html =>
  html`<h2>Earnings by API</h2>${earningsPart(earned)}${callCharts(earned.range.days, data)}`

const formatRate = (value: number | null): string =>
  value === null ? '–' : formatPercent(value * 100)
const formatLatency = (value: number | null): string =>
  value === null ? '–' : formatDuration(value)

/** Totals of the period. */
export const totalsPart = (totals: StatisticsJson['totals']): Html =>
  metrics({
    Calls: formatCount(totals.calls),
    Delivered: formatRate(totals.success_rate),
    'Latency, p95': formatLatency(totals.latency_ms.p95),
    'Callers paid': formatDollars(totals.gross_microdollars),
    Earned: formatDollars(totals.earned_microdollars),
  })

/** Number of failed calls with a link to the reasons. */
export function failedPart(
  { from, to, totals: { calls, delivered } }: StatisticsJson,
  service = '',
): Html | undefined {
  if (calls === delivered) return undefined
  const reasons = withQuery(PATH, { by: 'outcome', service, from, to })
  return html`<p>${pluralize(calls - delivered, 'call')} failed and ${
    calls - delivered === 1 ? 'was' : 'were'
  } not charged: <a href="${reasons}">see why</a>.</p>`
}

/** Charts of calls by outcome, and of latency, per day. */
export function callCharts(days: readonly string[], rows: readonly StatisticsRow[]): Html {
  const byDay = new Map(rows.map((row) => [row.day, row]))
  const valuesOf = (read: (row: StatisticsRow) => number | null) =>
    days.map((day) => {
      const row = byDay.get(day)
      return row ? read(row) : null
    })
  return html`<div class="columns"><section><h2>Calls by day</h2>${chart<number>({
    label: 'Calls by day: delivered and failed',
    periods: days,
    series: [
      { name: 'delivered', values: valuesOf(({ delivered }) => delivered) },
      { name: 'failed', values: valuesOf(({ calls, delivered }) => calls - delivered) },
    ],
    shape: 'bars',
    format: formatCount,
    empty: 'No calls in this period.',
  })}</section><section><h2>Latency by day</h2>${chart({
    label: 'Latency by day: p50, p95, p99',
    periods: days,
    series: (['p50', 'p95', 'p99'] as const).map((name) => ({
      name,
      values: valuesOf(({ latency_ms: latency }) => latency[name]),
    })),
    shape: 'lines',
    format: formatDuration,
    empty: 'No delivered calls in this period.',
  })}</section></div>`
}

const DAY_MS = 86_400_000

/** UTC days from the first to the last, both included. */
const daysOf = (from: string, to: string): readonly string[] =>
  lastDays(new Date(to), Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1)

/** Table of calls, latency and earnings by one group. */
export const rowTable = (rows: readonly StatisticsRow[], by: Query['by']): Html =>
  tileTable(
    `By ${by}`,
    [
      { head: GROUPS[by], noWrap: by === 'day', cell: (row) => row[by] },
      { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
      { head: 'Delivered', number: true, cell: (row) => formatRate(row.success_rate) },
      { head: 'Refused', number: true, cell: ({ refused }) => formatCount(refused) },
      { head: 'Latency p50', number: true, cell: (row) => formatLatency(row.latency_ms.p50) },
      { head: 'p95', number: true, cell: (row) => formatLatency(row.latency_ms.p95) },
      { head: 'p99', number: true, cell: (row) => formatLatency(row.latency_ms.p99) },
      ...(by === 'day' || by === 'service'
        ? [
            {
              head: 'Commission',
              number: true,
              cell: alignedColumn(rows, (row) => row.commission_microdollars ?? 0),
            },
            {
              head: 'Refunded',
              number: true,
              cell: alignedColumn(rows, (row) => row.refunded_microdollars ?? 0),
            },
            {
              head: 'Earned',
              number: true,
              cell: alignedColumn(rows, (row) => row.earned_microdollars ?? 0),
            },
          ]
        : []),
    ],
    rows,
  )

/** Calls by outcome; error codes link to their explanation. */
const outcomeTable = (rows: readonly StatisticsRow[], total: number): Html =>
  table(
    'By outcome',
    [
      { head: 'Outcome', cell: ({ outcome = '' }) => outcomeOf(outcome) },
      { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
      { head: 'Share', number: true, cell: ({ calls }) => formatPercent((calls / total) * 100) },
    ],
    rows,
  )

const OUTCOME_TEXTS: Readonly<Record<string, string>> = {
  delivered: 'Delivered',
  taken: 'Paid but not delivered',
  unresolved: 'Pending',
  upstream_error: 'Your server returned an error',
  upstream_unreachable: 'Your server was unreachable',
  upstream_timeout: 'Your server timed out',
}

/** Text of the outcome of calls, as its provider sees it. */
export function outcomeOf(code: string): Html {
  const text = OUTCOME_TEXTS[code]
  return Object.hasOwn(FAULTS, code)
    ? html`${text ?? FAULTS[code as FaultCode][1]}:
<a href="/docs/problems/${code}"><code>${code}</code></a>`
    : html`${text ?? code.replaceAll('_', ' ')}`
}

/** Callers under pseudonyms. */
export const customerTable = (customers: readonly CustomerJson[]): Html =>
  cardTable(
    'Callers',
    [
      { head: 'Caller', cell: ({ customer }) => html`<code>${customer}</code>` },
      { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
      { head: 'Delivered', number: true, cell: ({ delivered }) => formatCount(delivered) },
      {
        head: 'Paid',
        number: true,
        cell: alignedColumn(customers, (each) => each.charged_microdollars),
      },
      { head: 'First', noWrap: true, cell: ({ first_at: at }) => timeAgo(at) },
      { head: 'Last', noWrap: true, cell: ({ last_at: at }) => timeAgo(at) },
    ],
    customers,
  )
