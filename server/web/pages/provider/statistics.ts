import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import { FAULTS, type FaultCode } from '../../../../core/errors.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { CustomerJson, StatisticsJson } from '../../../rest/provider/statistics.ts'
import { dayFilter, filterBar, selectFilter, textFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import {
  alignedColumn,
  formatCount,
  formatDollars,
  formatDuration,
  formatMicrodollars,
  formatPercent,
  formatTimestamp,
  pluralize,
} from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { stackedBars } from '../../stacked-bars.ts'
import { cardTable, pager, table, tileTable } from '../../table.ts'

export type StatisticsRow = StatisticsJson['data'][number]

const GROUPS = {
  day: 'Day',
  service: 'Service',
  endpoint: 'Endpoint',
  outcome: 'Outcome',
} as const

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
  page({
    path: PATH,
    requiresSession: true,
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
        tab: 'Statistics',
        main: html`<h1>Statistics</h1>${filterBar(PATH, [
          selectFilter('by', 'Group by', GROUPS, by),
          textFilter('service', 'Service', service, 14),
          dayFilter('from', 'From', from),
          dayFilter('to', 'To', to),
        ])}${
          figures.totals.calls === 0
            ? emptyState('No calls in this period.')
            : html`${totalsPart(figures.totals)}${by !== 'outcome' && failedPart(figures.totals)}${
                by === 'day' && earnedChart(figures)
              }${
                by === 'outcome'
                  ? outcomeTable(figures.data, figures.totals.calls)
                  : rowTable(figures.data, by)
              }<h2>Callers</h2><p>Callers are shown under pseudonyms. The same
caller always has the same one.</p>${customerTable(customers.data)}${pager(PATH, query, customers.next_cursor)}`
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
  html`<dl class="metrics"><div><dt>Calls</dt><dd>${formatCount(totals.calls)}</dd></div>
<div><dt>Delivered</dt><dd>${formatRate(totals.success_rate)}</dd></div>
<div><dt>Latency, p95</dt><dd>${formatLatency(totals.latency_ms.p95)}</dd></div>
<div><dt>Callers paid</dt><dd>${formatMicrodollars(totals.gross_microdollars)}</dd></div>
<div><dt>Earned</dt><dd>${formatMicrodollars(totals.earned_microdollars)}</dd></div></dl>`

/** Number of failed calls with a link to the reasons. */
export const failedPart = ({ calls, delivered }: StatisticsJson['totals']): Html | undefined =>
  calls === delivered
    ? undefined
    : html`<p>${pluralize(calls - delivered, 'call')} failed and ${
        calls - delivered === 1 ? 'was' : 'were'
      } not charged: <a href="${PATH}?by=outcome">see why</a>.</p>`

/** Chart of the earnings per day. */
export function earnedChart({ from, to, data }: StatisticsJson): Html {
  const length = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  const days = Array.from({ length }, (_, i) => dayName(daysBefore(new Date(from), -i)))
  const amounts = data.map(({ day = '', earned_microdollars: earned = 0 }) => {
    return { day, series: 'earned', amount: BigInt(earned) }
  })
  return html`<h2>Earnings by day</h2>${stackedBars(days, amounts, {
    label: 'Earnings by day, after commission',
    format: formatDollars,
    legend: false,
  })}`
}

const DAY_MS = 86_400_000

const rowTable = (rows: readonly StatisticsRow[], by: Query['by']): Html =>
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
      {
        head: 'Share',
        number: true,
        cell: ({ calls }) => formatPercent((calls / total) * 100),
      },
    ],
    rows,
  )

const OUTCOME_TEXTS: Readonly<Record<string, string>> = {
  delivered: 'Delivered',
  taken: 'Paid but not delivered',
  unresolved: 'Pending',
}

const outcomeOf = (code: string): Html =>
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
      { head: 'First', noWrap: true, cell: ({ first_at: at }) => formatTimestamp(at) },
      { head: 'Last', noWrap: true, cell: ({ last_at: at }) => formatTimestamp(at) },
    ],
    customers,
  )
