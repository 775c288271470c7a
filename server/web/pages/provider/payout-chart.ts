import { monthName, monthStart } from '../../../../core/clock.ts'
import { chart, compare } from '../../chart.ts'
import { formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'

const MONTHS = 12

/** First of the months that the chart shows. */
export const firstMonth = (now: Date): Date => monthStart(now, 1 - MONTHS)

/** Chart of what was paid out in the last months; undefined for nothing. */
export function payoutChart(now: Date, paid: ReadonlyMap<string, bigint>): Html | undefined {
  if (paid.size === 0) return undefined
  const months = Array.from({ length: MONTHS }, (_, i) => monthName(monthStart(firstMonth(now), i)))
  const values = months.map((month) => paid.get(month) ?? 0n)
  const [before = 0n, current = 0n] = values.slice(-2)
  return html`${compare(current, before, formatDollars, 'month')}${chart({
    label: `Payouts by month: ${formatDollars(current)} in the current one`,
    periods: months,
    period: 'month',
    series: [{ name: 'paid out', values }],
    shape: 'bars',
    format: formatDollars,
    empty: 'No payouts yet.',
  })}`
}
