import type { Pool } from 'pg'
import { dayName, daysBefore } from '../../../../core/clock.ts'
import type { KeyManager } from '../../../../core/identity/sub-keys.ts'
import { readServiceEarnings, type ServiceEarnings } from '../../../../core/usage/earnings.ts'
import { chart, compare } from '../../chart.ts'
import type { DayRange } from '../../chart-range.ts'
import { seriesOf } from '../../chart-series.ts'
import { alignedFormatter, formatDollars, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { table, withQuery } from '../../table.ts'

/** Earnings by API, after commission and refunds. */
export interface EarningsFigures {
  readonly range: DayRange
  readonly rows: readonly ServiceEarnings[]
  /** Microdollars earned in as many days before. */
  readonly before: bigint
}

/** Reads the earnings of an owner's APIs. */
export async function readEarningsFigures(
  pool: Pool,
  owner: KeyManager,
  range: DayRange,
  service?: string,
): Promise<EarningsFigures> {
  const { from, to, step, days } = range
  const since = dayName(daysBefore(new Date(from), days.length))
  const all = await readServiceEarnings(pool, { owner, service, since, from, to, step })
  const rows = all.filter(({ day }) => day >= from)
  return { range, rows, before: sumEarned(all) - sumEarned(rows) }
}

const sumEarned = (rows: readonly Pick<ServiceEarnings, 'earned'>[]): bigint =>
  rows.reduce((sum, { earned }) => sum + earned, 0n)

/** Chart of earnings, compared with the days before, with a table of the APIs that earned most. */
export function earningsPart({ range, rows, before }: EarningsFigures): Html {
  const sums = [...Map.groupBy(rows, ({ service }) => service)]
    .map(([service, all]) => ({ service, earned: sumEarned(all) }))
    .toSorted((a, b) => (a.earned < b.earned ? 1 : -1))
  return html`${
    rows.length > 0 &&
    compare(sumEarned(rows), before, formatDollars, pluralize(range.days.length, 'day'))
  }${earningsChart(range, rows)}${sums.length > 1 && serviceTable(sums, range)}`
}

/** Chart of earnings over time, in the colors of their APIs. */
export const earningsChart = (
  { starts, period }: Pick<DayRange, 'starts' | 'period'>,
  rows: readonly ServiceEarnings[],
): Html =>
  chart({
    label: `Earnings by ${period}, after commission and refunds`,
    periods: starts,
    period,
    series: seriesOf(
      starts,
      rows.map(({ day, service, earned }) => ({ period: day, series: service, amount: earned })),
    ),
    shape: 'bars',
    format: formatDollars,
    empty: 'No earnings in this period.',
  })

const MAX_ROWS = 10

function serviceTable(
  sums: readonly Pick<ServiceEarnings, 'service' | 'earned'>[],
  { from, to }: DayRange,
): Html {
  const format = alignedFormatter(sums.map(({ earned }) => earned))
  const statistics = (query: Readonly<Record<string, string>>) =>
    withQuery('/provider/statistics', { ...query, from, to })
  return html`${table(
    'Earnings by API',
    [
      {
        head: 'API',
        cell: ({ service }) => html`<a href="${statistics({ service })}">${service}</a>`,
      },
      { head: 'Earned', number: true, cell: ({ earned }) => format(earned) },
    ],
    sums.slice(0, MAX_ROWS),
  )}${
    sums.length > MAX_ROWS &&
    html`<p><a href="${statistics({ by: 'service' })}">All ${sums.length} APIs</a></p>`
  }`
}
