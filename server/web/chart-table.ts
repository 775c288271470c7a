import { type Html, html } from './html.ts'
import { tileTable } from './table.ts'

/** Values of one color, by period; null means no measurement. */
export interface ChartSeries<Value extends bigint | number> {
  readonly name: string
  readonly values: readonly (Value | null)[]
}

/** Values of a chart. */
export interface ChartData<Value extends bigint | number> {
  /** Accessible name: the statement of the chart in words. */
  readonly label: string
  /** Periods of the horizontal axis, in order, such as days. */
  readonly periods: readonly string[]
  /** @defaultValue 'day' */
  readonly period?: string
  readonly series: readonly ChartSeries<Value>[]
  readonly format: (value: Value | number) => string
}

/** Returns true for a measurement, 0 included, and for a sum of something. */
export const hasValue = (value: bigint | number | null): boolean => value !== null && value !== 0n

/** Table of the values of a chart; periods without any value are left out. */
export function collapsibleTable({
  label,
  periods,
  period = 'day',
  series,
  format,
}: ChartData<bigint | number>): Html {
  const rows = periods
    .map((name, i) => ({ name, values: series.map(({ values }) => values[i] ?? null) }))
    .filter(({ values }) => values.some(hasValue))
  return html`<details class="chart-table"><summary>Values</summary>${tileTable(
    label,
    [
      { head: `${period.slice(0, 1).toUpperCase()}${period.slice(1)}`, cell: ({ name }) => name },
      ...series.map(({ name }, key) => ({
        head: name,
        number: true,
        cell: ({ values }: (typeof rows)[number]) => {
          const value = values[key] ?? null
          return value === null ? '–' : format(value)
        },
      })),
    ],
    rows,
  )}</details>`
}
