import { daysBefore } from '../../../../core/clock.ts'
import type { FreeCallsLeft } from '../../../../core/usage/free-calls-left.ts'
import { chart } from '../../chart.ts'
import { formatCount, formatDollars, lastDays, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { table } from '../../table.ts'

/** Days whose spending predicts when the credits run out. */
export const PACE_DAYS = 7
const MAX_RUN_OUT_DAYS = 365n
/** Days that the chart looks ahead. */
const CHART_DAYS = 30

/** Whole days until the credits run out; undefined if nothing was spent. */
const runOutDays = (credits: bigint, spent: bigint): bigint | undefined =>
  spent > 0n ? (credits * BigInt(PACE_DAYS)) / spent : undefined

/** Days until the credits run out, in words. @param spent microdollars of the last 7 days */
export function runOutText(credits: bigint, spent: bigint): string {
  const days = runOutDays(credits, spent)
  if (days === undefined) return '–'
  return days > MAX_RUN_OUT_DAYS ? 'over a year' : pluralize(days, 'day')
}

/** Credits of the next days, if as much is spent as in the last week. */
export function runOutChart(now: Date, credits: bigint, spent: bigint): Html {
  const days = lastDays(daysBefore(now, -CHART_DAYS), CHART_DAYS + 1)
  const after = (day: number) => credits - (spent * BigInt(day)) / BigInt(PACE_DAYS)
  const values = days.map((_, day) => (after(day) > 0n ? after(day) : 0n))
  const last = runOutDays(credits, spent)
  const statement =
    last !== undefined && last <= CHART_DAYS
      ? `The credits run out in ${pluralize(last, 'day')}`
      : `The credits last longer than ${CHART_DAYS} days`
  return html`<section><h2>When the credits run out</h2>${
    spent > 0n
      ? html`<p>${statement} at the pace of the last ${PACE_DAYS} days, ${formatDollars(
          spent / BigInt(PACE_DAYS),
        )} per day.</p>${chart({
          label: `${statement}: credits by day, from ${formatDollars(credits)}`,
          periods: days,
          series: [{ name: 'credits', values }],
          shape: 'lines',
          format: formatDollars,
          empty: 'No credits.',
        })}`
      : emptyState(`Nothing was spent in the last ${PACE_DAYS} days, so the credits last.`)
  }</section>`
}

/** Free calls and units that are left this month. */
export const freeCallsTable = (rows: readonly FreeCallsLeft[]): Html =>
  html`<section><h2>Free calls left this month</h2>${
    rows.length === 0
      ? emptyState('No service offers free calls.')
      : html`${table(
          'Free calls left this month',
          [
            {
              head: 'Service',
              cell: ({ slug, name, unit }: FreeCallsLeft) =>
                html`<a href="/services/${slug}">${name}</a>${
                  unit !== undefined && html` <span class="muted small">${unit}</span>`
                }`,
            },
            { head: 'Left', number: true, cell: ({ left }) => formatCount(left) },
            { head: 'Per month', number: true, cell: ({ perMonth }) => formatCount(perMonth) },
          ],
          rows,
        )}<p class="small muted">They are used before credits, and renewed at 00:00 UTC on the first
of the month.</p>`
  }</section>`
