import { bar, barChart, HEIGHT } from './bar-chart.ts'
import { axisMaximum } from './format.ts'
import { type Html, html } from './html.ts'

/** Amount of one series on one day. */
export interface SeriesAmount {
  readonly day: string
  readonly series: string
  readonly amount: bigint
}

interface StackedBarOptions {
  /** Accessible name of the chart. */
  readonly label: string
  readonly format: (amount: bigint) => string
  /** Period of one bar. @defaultValue 'day' */
  readonly period?: string
  /** True to show which color is which series. @defaultValue true */
  readonly legend?: boolean
}

/** Number of series with a color of their own; all others share one. */
const MAX_COLORS = 5
const OTHERS = 'others'
/** Top of the axis if all amounts are 0: $1, in microdollars. */
const EMPTY_AXIS_MAXIMUM = 1_000_000n

/**
 * Draws one bar per day, stacked by series, with a legend.
 * @param days all days of the axis, in order
 */
export function stackedBars(
  days: readonly string[],
  amounts: readonly SeriesAmount[],
  { label, format, period = 'day', legend = true }: StackedBarOptions,
): Html {
  const positive = amounts.filter(({ amount }) => amount > 0n)
  const largest = largestSeries(positive)
  const nameOf = ({ series }: SeriesAmount) => (largest.includes(series) ? series : OTHERS)
  const byDay = Map.groupBy(positive, ({ day }) => day)
  const totals = days.map((day) => sumAmounts(byDay.get(day) ?? []))
  const highest = totals.reduce((high, total) => (total > high ? total : high), 0n)
  const top = highest > 0n ? axisMaximum(highest) : EMPTY_AXIS_MAXIMUM
  const names = positive.some((each) => nameOf(each) === OTHERS) ? [...largest, OTHERS] : largest
  const bars = days.flatMap((day, index) => {
    const parts = Map.groupBy(byDay.get(day) ?? [], nameOf)
    let from = 0
    return names.flatMap((name, color) => {
      const amount = sumAmounts(parts.get(name) ?? [])
      if (amount === 0n) return []
      const height = (Number(amount) / Number(top)) * HEIGHT
      const title = `${day}, ${name}: ${format(amount)}`
      const part = bar({ kind: `s${color + 1}`, index, count: days.length, from, height, title })
      from += height
      return part
    })
  })
  const axes = {
    label,
    ticks: [format(top), format(top / 2n), '0'],
    captions: [days[0] ?? '', `one bar per ${period}`, days.at(-1) ?? ''],
  }
  return html`<div class="stacked-bars">${barChart(axes, html`${bars}`)}${
    legend &&
    names.length > 0 &&
    html`<ul class="legend">${names.map(
      (name, color) => html`<li><i class="s${color + 1}"></i>${name}</li>`,
    )}</ul>`
  }</div>`
}

/** Names of the series with the largest sums, in descending order. */
function largestSeries(amounts: readonly SeriesAmount[]): readonly string[] {
  const sums = [...Map.groupBy(amounts, ({ series }) => series)].map(
    ([series, all]) => [series, sumAmounts(all)] as const,
  )
  return sums
    .toSorted(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
    .slice(0, MAX_COLORS)
    .map(([series]) => series)
}

const sumAmounts = (amounts: readonly SeriesAmount[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n)
