import { milliseconds, percent } from './format.ts'
import { type Html, html } from './html.ts'

/** A day of a chart; figures are null where nothing was measured. */
export interface ChartDay {
  readonly day: string
  readonly uptime: number | null
  readonly latency: number | null
}

const WIDTH = 600
const HEIGHT = 100
const GAP = 0.2
/** A day without a figure, or without an hour of work, is seen all the same. */
const LOWEST = 4

const FULL = 99.5
const FAIR = 95

const gradeOf = (uptime: number | null): string =>
  uptime === null ? 'none' : uptime >= FULL ? 'up' : uptime >= FAIR ? 'part' : 'down'

/** A bar for each day, as high as its uptime; the words that go with it are in the label. */
export function uptimeChart(days: readonly ChartDay[], label: string): Html {
  const step = WIDTH / Math.max(1, days.length)
  const bars = days.map(({ day, uptime }, i) => {
    const height = Math.max(LOWEST, uptime ?? 0)
    const said = uptime === null ? 'no traffic' : `${uptime} %`
    return html`<rect class="${gradeOf(uptime)}" x="${fixed(i * step)}" y="${fixed(
      HEIGHT - height,
    )}" width="${fixed(step * (1 - GAP))}" height="${fixed(height)}">
<title>${day}: ${said}</title></rect>`
  })
  return frame(label, html`${bars}`)
}

/** A line over the days on which something was measured, from zero up. */
function latencyChart(days: readonly ChartDay[], label: string): Html {
  const known = days.flatMap(({ latency }, i) => (latency === null ? [] : [{ latency, i }]))
  const top = Math.max(1, ...known.map(({ latency }) => latency))
  const step = WIDTH / Math.max(1, days.length)
  const points = known.flatMap(({ latency, i }) => {
    const y = fixed(HEIGHT - (latency / top) * (HEIGHT - 6))
    return [`${fixed(i * step)},${y}`, `${fixed((i + 1) * step)},${y}`]
  })
  return frame(
    label,
    html`<line class="axis" x1="0" y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}"/>
<polyline class="line" points="${points.join(' ')}"/>`,
  )
}

const frame = (label: string, drawing: Html): Html =>
  html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
aria-label="${label}">${drawing}</svg>`

const fixed = (value: number): string => String(Math.round(value * 10) / 10)

/**
 * Uptime and latency of the last days side by side, each with its worst; nothing where nothing was
 * measured.
 * @param by what the figures were measured by, such as `calls`
 */
export function charts(days: readonly ChartDay[], by: string, note: string): Html | undefined {
  const known = days.filter(({ uptime }) => uptime !== null)
  if (known.length === 0) return undefined
  const lowest = percent(Math.min(...known.map(({ uptime }) => uptime ?? 0)))
  const slowest = milliseconds(Math.max(...known.map(({ latency }) => latency ?? 0)))
  return html`<div class="columns"><section><h2>Uptime</h2>${uptimeChart(
    days,
    `Uptime by day: ${lowest} on the worst of ${known.length} days with ${by}`,
  )}<p class="small muted">${note} The worst day had ${lowest}.</p></section>
<section><h2>Latency</h2>${latencyChart(
    days,
    `Median latency by day: at most ${slowest}`,
  )}<p class="small muted">The median by day; the slowest had ${slowest}.</p></section></div>`
}
