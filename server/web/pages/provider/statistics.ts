import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import { FAULTS, type FaultCode } from '../../../../core/errors.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { CustomerJson, StatisticsJson } from '../../../rest/provider/statistics.ts'
import { chart } from '../../chart.ts'
import { seriesOf } from '../../chart-series.ts'
import { filterBar, periodFilters, selectFilter, textFilter } from '../../form.ts'
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
import { type AnyPage, page } from '../../page.ts'
import { cardTable, metrics, pager, table, tileTable, timeAgo } from '../../table.ts'

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

/** `/provider/statistics`: calls, latency, earnings and callers of a provider's services. */
export const statisticsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    query: Query,
    render: async ({ api, query }) => {
      const { cursor, by, service } = query
      const now = clock.now()
      const to = query.to || dayName(now)
      const from = query.from || dayName(daysBefore(new Date(to), DAYS - 1))
      const days = { from, to, service }
      const [figures, customers] = await Promise.all([
        api<StatisticsJson>('GET /v1/provider/statistics', { query: { ...days, by } }),
        api<ListPage<CustomerJson>>('GET /v1/provider/customers', { query: { ...days, cursor } }),
      ])
      return {
        title: 'Statistics',
        tabs: SELLING_TABS,
        main: html`<h1>Statistics</h1>${filterBar(PATH, [
          selectFilter('by', 'Group by', GROUPS, by),
          textFilter('service', 'Service', service, 14),
          periodFilters(from, to),
        ])}${
          figures.totals.calls === 0
            ? emptyState('No calls in this period.')
            : html`${totalsPart(figures.totals)}${by !== 'outcome' && failedPart(figures.totals)}${
                by === 'day' && earningsPart(figures)
              }${
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
export const failedPart = ({ calls, delivered }: StatisticsJson['totals']): Html | undefined =>
  calls === delivered
    ? undefined
    : html`<p>${pluralize(calls - delivered, 'call')} failed and ${
        calls - delivered === 1 ? 'was' : 'were'
      } not charged: <a href="${PATH}?by=outcome">see why</a>.</p>`

/** Chart of the earnings per day, after commission. */
export const earningsChart = (
  days: readonly string[],
  rows: readonly Pick<StatisticsRow, 'day' | 'earned_microdollars'>[],
): Html =>
  chart({
    label: 'Earnings by day, after commission',
    periods: days,
    series: seriesOf(
      days,
      rows.map(({ day: period = '', earned_microdollars: earned = 0 }) => {
        return { period, series: 'earned', amount: BigInt(earned) }
      }),
    ),
    shape: 'bars',
    format: formatDollars,
    empty: 'No earnings in this period.',
  })

/** Charts of calls by outcome, and of latency, per day. */
function callCharts(days: readonly string[], rows: readonly StatisticsRow[]): Html {
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

export const earningsPart = ({ from, to, data }: StatisticsJson): Html => {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  const days = lastDays(new Date(to), count)
  return html`<h2>Earnings by day</h2>${earningsChart(days, data)}${callCharts(days, data)}`
}

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
}

/** Text of the outcome of calls. */
export const outcomeOf = (code: string): Html =>
  Object.hasOwn(FAULTS, code)
    ? html`${FAULTS[code as FaultCode][1]}:
<a href="/docs/problems/${code}"><code>${code}</code></a>`
    : html`${OUTCOME_TEXTS[code] ?? code.replaceAll('_', ' ')}`

const customerTable = (customers: readonly CustomerJson[]): Html =>
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
