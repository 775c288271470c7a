import { bar, barChart, HEIGHT, WIDTH } from './bar-chart.ts'
import { axisMaximum, formatDuration, formatPercent } from './format.ts'
import { type Html, html } from './html.ts'

/** One day of a chart; null means no measurement. */
export interface ChartDay {
  readonly day: string
  /** Percent. */
  readonly uptime: number | null
  /** Median, in milliseconds. */
  readonly latency: number | null
}

/** Uptime thresholds, in percent. */
const GOOD_UPTIME = 99.5
const FAIR_UPTIME = 95

/** Bar heights by grade, so that color is not the only cue. */
const HEIGHTS = { up: HEIGHT, part: 0.6 * HEIGHT, down: 0.3 * HEIGHT, none: 0.1 * HEIGHT } as const

const uptimeGrade = (uptime: number | null): keyof typeof HEIGHTS =>
  uptime === null ? 'none' : uptime >= GOOD_UPTIME ? 'up' : uptime >= FAIR_UPTIME ? 'part' : 'down'

const uptimeTitle = ({ day, uptime }: ChartDay): string =>
  `${day}: ${uptime === null ? 'no traffic' : formatPercent(uptime)}`

/** Compact uptime chart without axes: one bar per day, in the color and height of its grade. */
export const uptimeStrip = (days: readonly ChartDay[], label: string): Html =>
  html`<svg class="uptime-strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none"
role="img" aria-label="${label}">${days.map((each, index) => {
    const kind = uptimeGrade(each.uptime)
    return bar({ kind, index, count: days.length, height: HEIGHTS[kind], title: uptimeTitle(each) })
  })}</svg>`

/** Draws one bar per day, as high as the uptime. */
const uptimeChart = (days: readonly ChartDay[], label: string): Html =>
  barChart(
    { label, ticks: ['100 %', '50 %', '0 %'], captions: dayRange(days) },
    html`${days.map((each, index) => {
      const [kind, height] = [uptimeGrade(each.uptime), Math.max(MIN_HEIGHT, each.uptime ?? 0)]
      return bar({ kind, index, count: days.length, height, title: uptimeTitle(each) })
    })}`,
  )

/** Keeps bars visible on days without a measurement or with a very low value. */
const MIN_HEIGHT = 2

/** Draws one bar per day with a measurement. */
function latencyChart(days: readonly ChartDay[], slowest: number): Html {
  const top = axisMaximum(BigInt(Math.ceil(Math.max(1, slowest))))
  const ticks = [formatDuration(Number(top)), formatDuration(Number(top) / 2), '0']
  const label = `Median latency by day: at most ${formatDuration(slowest)}`
  return barChart(
    { label, ticks, captions: dayRange(days) },
    html`${days.map(({ day, latency }, index) => {
      if (latency === null) return undefined
      const height = Math.max(MIN_HEIGHT, (latency / Number(top)) * HEIGHT)
      const title = `${day}: ${formatDuration(latency)}`
      return bar({ kind: 's1', index, count: days.length, height, title })
    })}`,
  )
}

const dayRange = (days: readonly ChartDay[]): readonly string[] =>
  [days[0], days.at(-1)].map((each) => each?.day ?? '')

/** Uptime and latency; undefined if not measured. @param source basis, such as `calls` */
export function serviceCharts(
  days: readonly ChartDay[],
  source: string,
  note: string,
): Html | undefined {
  const measured = days.filter(({ uptime }) => uptime !== null)
  if (measured.length === 0) return undefined
  const lowest = formatPercent(Math.min(...measured.map(({ uptime }) => uptime ?? 0)))
  const slowest = Math.max(...measured.map(({ latency }) => latency ?? 0))
  return html`<div class="columns"><section><h2>Uptime by day</h2>${uptimeChart(
    days,
    `Uptime by day: ${lowest} on the worst of ${measured.length} days with ${source}`,
  )}<p class="small muted">${note} Worst day: ${lowest}.</p></section>
<section><h2>Latency by day</h2>${latencyChart(days, slowest)}<p class="small muted">Daily median.
Slowest day: ${formatDuration(slowest)}.</p></section></div>`
}
