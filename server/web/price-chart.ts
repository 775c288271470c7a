import { dayName } from '../../core/clock.ts'
import { chart } from './chart.ts'
import { formatDollars } from './format.ts'
import { type Html, html } from './html.ts'

/** Price from a time on. */
export interface PriceStep {
  readonly name: string
  readonly amount: bigint
  readonly at: Date
}

/** Series with a color of their own. */
const SERIES_MAX = 5

/** Draws prices by day, each until the next one; undefined if none has changed in these days. */
export function priceChart(days: readonly string[], steps: readonly PriceStep[]): Html | undefined {
  const [first = ''] = days
  const byName = [...Map.groupBy(steps, ({ name }) => name)]
  const changed = byName.filter(([, all]) => all.some(({ at }) => dayName(at) >= first))
  const series = changed.slice(0, SERIES_MAX).map(([name, all]) => {
    const sorted = all.toSorted((a, b) => a.at.getTime() - b.at.getTime())
    const priceOn = (day: string) => sorted.findLast(({ at }) => dayName(at) <= day)?.amount ?? null
    return { name, values: days.map(priceOn) }
  })
  if (!series.some(({ values }) => new Set(values.filter((each) => each !== null)).size > 1)) {
    return undefined
  }
  return html`<section><h2>Price history</h2>${chart({
    label: `Price per call over ${days.length} days: ${series.map(({ name }) => name).join(', ')}`,
    periods: days,
    series,
    shape: 'steps',
    format: formatDollars,
    empty: 'No price in this period.',
  })}</section>`
}
