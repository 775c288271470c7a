import { chart, HEIGHT, WIDTH } from './chart.ts'
import { formatDuration, formatPercent } from './format.ts'
import { type Html, html } from './html.ts'

/** One day of a chart; null means no measurement. */
export interface ChartDay {
  readonly day: string
  /** Percent. */
  readonly uptime: number | null
  /** Latency percentiles by name, such as `p50`, in milliseconds. */
  readonly latency: Readonly<Record<string, number | null>>
}

/** Uptime thresholds, in percent. */
const GOOD_UPTIME = 99.5
const FAIR_UPTIME = 95

/** Bar heights of the strip by grade, so that color is not the only cue. */
const HEIGHTS = { up: HEIGHT, part: 0.6 * HEIGHT, down: 0.3 * HEIGHT, none: 0.1 * HEIGHT } as const

export const uptimeGrade = (uptime: number | null): keyof typeof HEIGHTS =>
  uptime === null ? 'none' : uptime >= GOOD_UPTIME ? 'up' : uptime >= FAIR_UPTIME ? 'part' : 'down'

/** Compact uptime chart without axes: one bar per day, in the color and height of its grade. */
export const uptimeStrip = (days: readonly Omit<ChartDay, 'latency'>[], label: string): Html => {
  const step = WIDTH / Math.max(1, days.length)
  return html`<svg class="uptime-strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none"
role="img" aria-label="${label}">${days.map(({ day, uptime }, i) => {
    const grade = uptimeGrade(uptime)
    return html`<rect class="${grade}" x="${i * step}" y="${HEIGHT - HEIGHTS[grade]}"
width="${step * 0.8}" height="${HEIGHTS[grade]}"><title>${day}: ${
      uptime === null ? 'no traffic' : formatPercent(uptime)
    }</title></rect>`
  })}</svg>`
}

/** Texts of the charts of a service. */
interface ChartTexts {
  /** Basis, such as `calls`. */
  readonly source: string
  readonly note?: string
  /** Endpoint whose latency is drawn. @defaultValue all endpoints */
  readonly endpoint?: string | undefined
}

/** Uptime and latency; undefined if not measured. */
export function serviceCharts(
  days: readonly ChartDay[],
  { source, note, endpoint }: ChartTexts,
): Html | undefined {
  const measured = days.filter(({ uptime }) => uptime !== null)
  if (measured.length === 0) return undefined
  const periods = days.map(({ day }) => day)
  const lowest = formatPercent(Math.min(...measured.map(({ uptime }) => uptime ?? 0)))
  const names = [...new Set(days.flatMap(({ latency }) => Object.keys(latency)))]
  const latencies = names.map((name) => ({
    name,
    values: days.map(({ latency }) => latency[name] ?? null),
  }))
  const last = latencies.at(-1)
  const slowest = Math.max(0, ...(last?.values ?? []).map((value) => value ?? 0))
  const slowestDay = slowest > 0 ? `Slowest day: ${last?.name} ${formatDuration(slowest)}.` : ''
  return html`<div class="columns"><section><h2>Uptime by day</h2>${chart({
    label: `Uptime by day: ${lowest} on the worst of ${measured.length} days with ${source}`,
    periods,
    series: [{ name: 'up', values: days.map(({ uptime }) => uptime) }],
    shape: 'bars',
    format: formatPercent,
    max: 100,
    classOf: uptimeGrade,
    empty: 'Never up in this period.',
  })}<p class="small muted">${note && `${note} `}Worst day: ${lowest}.</p></section>
<section><h2>Latency by day</h2>${chart({
    label: `Latency${endpoint === undefined ? '' : ` of ${endpoint}`} by day, ${names.join(
      ', ',
    )}. ${slowestDay}`,
    periods,
    series: latencies,
    shape: 'lines',
    format: formatDuration,
    empty: 'No latency measured in this period.',
  })}<p class="small muted">${
    endpoint !== undefined && html`<code>${endpoint}</code>. `
  }${slowestDay}</p></section></div>`
}
