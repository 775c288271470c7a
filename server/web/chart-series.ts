import type { ChartSeries } from './chart-table.ts'

/** Amount of one series in one period; negative if refunds exceed it. */
export interface SeriesAmount {
  readonly period: string
  readonly series: string
  readonly amount: bigint
}

/** Number of series with a color of their own; all others share one. */
const MAX_COLORS = 5
const OTHERS = 'others'

/** Arranges amounts by series, those with the largest sums first. */
export function seriesOf(
  periods: readonly string[],
  amounts: readonly SeriesAmount[],
): readonly ChartSeries<bigint>[] {
  const present = amounts.filter(({ amount }) => amount !== 0n)
  const largest = largestSeries(present)
  const byName = Map.groupBy(present, ({ series }) => (largest.includes(series) ? series : OTHERS))
  return [...largest, OTHERS].flatMap((name) => {
    const byPeriod = Map.groupBy(byName.get(name) ?? [], ({ period }) => period)
    const values = periods.map((period) => sumAmounts(byPeriod.get(period) ?? []))
    return byName.has(name) ? [{ name, values }] : []
  })
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
