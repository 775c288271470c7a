import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import { FAULTS, type FaultCode } from '../../../../core/errors.ts'
import type { Listed } from '../../../rest/paging.ts'
import type { CustomerJson, StatisticsJson } from '../../../rest/provider/statistics.ts'
import { SELLING } from '../../areas.ts'
import { filterField, filters, optionsOf } from '../../form.ts'
import {
  aligned,
  count,
  counted,
  inDollars,
  instantText,
  milliseconds,
  money,
  percent,
} from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { stacks } from '../../stacks.ts'
import { cardTable, pager, table, tileTable } from '../../table.ts'

export type StatisticsRow = StatisticsJson['data'][number]

const BY = { day: 'day', service: 'service', endpoint: 'endpoint', outcome: 'outcome' } as const
const dayText = z.union([z.iso.date(), z.literal('')]).default('')

const Query = z.object({
  by: z.enum(['day', 'service', 'endpoint', 'outcome']).default('day'),
  service: z.string().trim().max(40).default(''),
  from: dayText,
  to: dayText,
  cursor: z.string().max(500).optional(),
})
type Query = z.infer<typeof Query>

const PATH = '/provider/statistics'
const DAYS = 30

/** `/provider/statistics`: how what is sold does, and who calls it. */
export const statisticsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: Query,
    show: async ({ ask, query }) => {
      const { cursor, by, service } = query
      const now = clock.now()
      const to = query.to || dayName(now)
      const from = query.from || dayName(daysBefore(new Date(to), DAYS - 1))
      const days = { from, to, service }
      const [figures, customers] = await Promise.all([
        ask<StatisticsJson>('GET /v1/provider/statistics', { query: { ...days, by } }),
        ask<Listed<CustomerJson>>('GET /v1/provider/customers', { query: { ...days, cursor } }),
      ])
      return {
        title: 'Statistics',
        area: SELLING,
        tab: 'Statistics',
        main: html`<h1>Statistics</h1>${filterForm({ ...query, from, to })}${
          figures.totals.calls === 0
            ? empty('Nothing of yours was called in these days.')
            : html`${totalsPart(figures.totals)}${by !== 'outcome' && failedPart(figures.totals)}${
                by === 'day' && earnedChart(figures)
              }${
                by === 'outcome'
                  ? outcomeTable(figures.data, figures.totals.calls)
                  : rowTable(figures.data, by)
              }<h2>Callers</h2><p>Under pseudonyms: the same for the same
caller.</p>${customerTable(customers.data)}${pager(PATH, query, customers.next_cursor)}`
        }`,
      }
    },
  })

const filterForm = ({ by, service, from, to }: Query): Html =>
  filters(PATH, [
    filterField('by', 'By', html`<select id="filter-by" name="by">${optionsOf(BY, by)}</select>`),
    filterField(
      'service',
      'Service',
      html`<input id="filter-service" name="service" value="${service}" size="14">`,
    ),
    filterField(
      'from',
      'From',
      html`<input type="date" id="filter-from" name="from" value="${from}">`,
    ),
    filterField('to', 'To', html`<input type="date" id="filter-to" name="to" value="${to}">`),
  ])

const rate = (value: number | null): string => (value === null ? '–' : percent(value * 100))
const latency = (value: number | null): string => (value === null ? '–' : milliseconds(value))

/** The sums of a range of days. */
export const totalsPart = (totals: StatisticsJson['totals']): Html =>
  html`<dl class="figures"><div><dt>Calls</dt><dd>${count(totals.calls)}</dd></div>
<div><dt>Delivered</dt><dd>${rate(totals.success_rate)}</dd></div>
<div><dt>Latency, p95</dt><dd>${latency(totals.latency_ms.p95)}</dd></div>
<div><dt>Callers paid</dt><dd>${money(totals.gross_microdollars)}</dd></div>
<div><dt>Earned</dt><dd>${money(totals.earned_microdollars)}</dd></div></dl>`

/** Calls that were not delivered cost nothing; where it is told why. */
export const failedPart = ({ calls, delivered }: StatisticsJson['totals']): Html | undefined =>
  calls === delivered
    ? undefined
    : html`<p>${counted(calls - delivered, 'call')} came to nothing and ${
        calls - delivered === 1 ? 'was' : 'were'
      } not charged: <a href="${PATH}?by=outcome">see why</a>.</p>`

/** What was earned on each day of the range. */
export function earnedChart({ from, to, data }: StatisticsJson): Html {
  const length = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  const days = Array.from({ length }, (_, i) => dayName(daysBefore(new Date(from), -i)))
  const amounts = data.map(({ day = '', earned_microdollars: earned = 0 }) => {
    return { day, of: 'earned', amount: BigInt(earned) }
  })
  return html`<h2>Earned by day</h2>${stacks(days, amounts, {
    label: 'Earnings by day, after commission',
    write: inDollars,
    legend: false,
  })}`
}

const DAY_MS = 86_400_000

const HEADS: Readonly<Record<Query['by'], string>> = {
  day: 'Day',
  service: 'Service',
  endpoint: 'Endpoint',
  outcome: 'Outcome',
}

const rowTable = (rows: readonly StatisticsRow[], by: Query['by']): Html =>
  tileTable(
    `By ${by}`,
    [
      { head: HEADS[by], whole: by === 'day', cell: (row) => row[by] },
      { head: 'Calls', number: true, cell: ({ calls }) => count(calls) },
      { head: 'Delivered', number: true, cell: (row) => rate(row.success_rate) },
      { head: 'Refused', number: true, cell: ({ refused }) => count(refused) },
      { head: 'Latency p50', number: true, cell: (row) => latency(row.latency_ms.p50) },
      { head: 'p95', number: true, cell: (row) => latency(row.latency_ms.p95) },
      { head: 'p99', number: true, cell: (row) => latency(row.latency_ms.p99) },
      ...(by === 'day' || by === 'service'
        ? [
            {
              head: 'Commission',
              number: true,
              cell: aligned(rows, (row) => row.commission_microdollars ?? 0),
            },
            {
              head: 'Refunded',
              number: true,
              cell: aligned(rows, (row) => row.refunded_microdollars ?? 0),
            },
            {
              head: 'Earned',
              number: true,
              cell: aligned(rows, (row) => row.earned_microdollars ?? 0),
            },
          ]
        : []),
    ],
    rows,
  )

/** What became of calls, each with the page that says why. */
const outcomeTable = (rows: readonly StatisticsRow[], total: number): Html =>
  table(
    'By outcome',
    [
      { head: 'Outcome', cell: ({ outcome = '' }) => outcomeOf(outcome) },
      { head: 'Calls', number: true, cell: ({ calls }) => count(calls) },
      { head: 'Of all calls', number: true, cell: ({ calls }) => percent((calls / total) * 100) },
    ],
    rows,
  )

const OUTCOMES: Readonly<Record<string, string>> = {
  delivered: 'Delivered',
  taken: 'Paid, and not delivered',
  unresolved: 'Not known yet',
}

const outcomeOf = (code: string): Html =>
  Object.hasOwn(FAULTS, code)
    ? html`${FAULTS[code as FaultCode][1]}:
<a href="/docs/problems/${code}"><code>${code}</code></a>`
    : html`${OUTCOMES[code] ?? code.replaceAll('_', ' ')}`

const customerTable = (customers: readonly CustomerJson[]): Html =>
  cardTable(
    'Callers',
    [
      { head: 'Caller', cell: ({ customer }) => html`<code>${customer}</code>` },
      { head: 'Calls', number: true, cell: ({ calls }) => count(calls) },
      { head: 'Delivered', number: true, cell: ({ delivered }) => count(delivered) },
      { head: 'Paid', number: true, cell: aligned(customers, (each) => each.charged_microdollars) },
      { head: 'First', whole: true, cell: ({ first_at: at }) => instantText(at) },
      { head: 'Last', whole: true, cell: ({ last_at: at }) => instantText(at) },
    ],
    customers,
  )
