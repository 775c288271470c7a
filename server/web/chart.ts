import { scaleLinear } from 'd3-scale'
import { line, stack } from 'd3-shape'
import { type ChartData, collapsibleTable, hasValue } from './chart-table.ts'
import { type Html, html } from './html.ts'
import { emptyState } from './messages.ts'

/** Size of the SVG view box; a chart is stretched to the available width. */
export const WIDTH = 600
export const HEIGHT = 100

export interface ChartOptions<Value extends bigint | number> extends ChartData<Value> {
  /**
   * `bars` are stacked, without negative values; `lines` connect values; `steps` hold each value
   * until the next.
   */
  readonly shape: 'bars' | 'lines' | 'steps'
  /** End of the vertical axis. @defaultValue a round number at or above the highest value */
  readonly max?: number
  /** CSS class of a bar by its value. @defaultValue the color of the series */
  readonly classOf?: (value: Value) => string
  /** Text without values. */
  readonly empty: string
}

type Options = ChartOptions<bigint | number>
type Y = (value: number) => number

/** Draws a chart with tooltips, a legend and a table of its values, without scripts. */
export function chart<Value extends bigint | number>(options: ChartOptions<Value>): Html {
  const drawn = options as unknown as Options
  const { label, periods, period = 'day', series } = drawn
  if (!series.some(({ values }) => values.some(hasValue))) return emptyState(drawn.empty)
  const y = scaleLinear([0, drawn.max ?? highest(drawn)], [HEIGHT, 0])
  if (drawn.max === undefined) y.nice(TICKS)
  const ticks = y.ticks(TICKS)
  return html`<figure class="chart-box"><div class="ticks" aria-hidden="true">${ticks
    .toReversed()
    .map((tick) => html`<span>${drawn.format(tick)}</span>`)}</div>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
aria-label="${label}"><path class="axis" d="${ticks
    .map((tick) => `M0 ${rounded(y(tick))}h${WIDTH}`)
    .join('')}"/>${drawn.shape === 'bars' ? bars(drawn, y) : lines(drawn, y)}${tooltips(
    drawn,
  )}</svg><figcaption><span>${periods[0]}</span><span>by ${period}</span><span>${periods.at(
    -1,
  )}</span></figcaption>${legend(series)}${collapsibleTable(drawn)}</figure>`
}

/** Approximate number of intervals of the vertical axis. */
const TICKS = 2
/** Lowest end of the vertical axis, so that its ticks are whole numbers. */
const TOP_MIN = 2

/** Highest value, of stacked bars the highest sum. */
function highest({ shape, periods, series }: Options): number {
  const tops = periods.map((_, i) => {
    const values = series.map(({ values }) => Math.max(0, Number(values[i] ?? 0)))
    return shape === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values)
  })
  return Math.max(TOP_MIN, ...tops)
}

/** Gap between bars, as a share of the width of a bar with its gap. */
const GAP = 0.2
/** Keeps bars of very low values visible. */
const MIN_HEIGHT = 1.5

function bars({ periods, series, classOf }: Options, y: Y): Html {
  const layers = stack<number, number>()
    .keys(series.map((_, key) => key))
    .value((period, key) => Math.max(0, Number(series[key]!.values[period] ?? 0)))(
    periods.map((_, period) => period),
  )
  const step = WIDTH / Math.max(1, periods.length)
  return html`${layers.map((layer, key) =>
    layer.map(([from, to], period) => {
      const value = series[key]!.values[period]
      if (value === null || value === undefined || (to === from && !classOf)) return undefined
      const height = Math.max(MIN_HEIGHT, y(from) - y(to))
      return html`<rect class="${classOf?.(value) ?? seriesClass(key)}" x="${rounded(
        period * step,
      )}" y="${rounded(Math.min(y(to), HEIGHT - height))}" width="${rounded(
        step * (1 - GAP),
      )}" height="${rounded(height)}"/>`
    }),
  )}`
}

function lines({ periods, series, shape }: Options, y: Y): Html {
  const step = WIDTH / Math.max(1, periods.length)
  return html`${series.map(({ values }, key) => {
    const points = values.flatMap((value, period): readonly Point[] => {
      if (value === null) return [[period * step + step / 2, null]]
      const height = y(Number(value))
      return shape === 'lines'
        ? [[period * step + step / 2, height]]
        : [
            [period * step, height],
            [(period + 1) * step, height],
          ]
    })
    const path = line<Point>(
      ([x]) => rounded(x),
      ([, height]) => rounded(height!),
    ).defined(([, height]) => height !== null)(points)
    const dots = shape === 'lines' && dotsOf(points)
    return html`<path class="line ${seriesClass(key)}" d="${path}"/>${
      dots && html`<path class="dots ${seriesClass(key)}" d="${dots}"/>`
    }`
  })}`
}

type Point = readonly [x: number, y: number | null]

/** Lines without length, which are drawn as dots: circles would be stretched. */
const dotsOf = (points: readonly Point[]): string =>
  points.map(([x, y]) => (y === null ? '' : `M${rounded(x)} ${rounded(y)}h0`)).join('')

/** Transparent areas over each period, which show its values as tooltips. */
function tooltips({ periods, series, format }: Options): Html {
  const step = WIDTH / Math.max(1, periods.length)
  return html`${periods.map((period, i) => {
    const texts = series.flatMap(({ name, values }) => {
      const value = values[i]
      return value === null || value === undefined ? [] : [`${name} ${format(value)}`]
    })
    return html`<rect class="hit" x="${rounded(i * step)}" y="0" width="${rounded(
      step,
    )}" height="${HEIGHT}"><title>${period}: ${texts.join(', ') || 'no data'}</title></rect>`
  })}`
}

const legend = (series: Options['series']): Html | false =>
  series.length > 1 &&
  html`<ul class="legend">${series.map(
    ({ name }, key) => html`<li><i class="${seriesClass(key)}"></i>${name}</li>`,
  )}</ul>`

const seriesClass = (key: number): string => `s${key + 1}`

const rounded = (value: number): number => Math.round(value * 10) / 10

/** Compares the total of a period with that of the previous one. */
export function compare<Value extends bigint | number>(
  current: Value,
  previous: Value,
  format: (value: Value) => string,
  period: string,
): Html {
  const [now, before] = [Number(current), Number(previous)]
  const change = before > 0 ? Math.round((100 * (now - before)) / before) : undefined
  const text =
    change === undefined
      ? `nothing in the previous ${period}`
      : `${change >= 0 ? '+' : '−'}${Math.abs(change)} % from ${format(previous)} in the previous ${
          period
        }`
  return html`<p class="comparison"><strong>${format(current)}</strong> <span class="muted">${text}
</span></p>`
}
