import { milliseconds, percent, roundAbove } from './format.ts'
import { type Html, html } from './html.ts'
import { bar, HEIGHT, plot, WIDTH } from './plot.ts'

/** A day of a chart; figures are null where nothing was measured. */
export interface ChartDay {
  readonly day: string
  readonly uptime: number | null
  readonly latency: number | null
}

const FULL = 99.5
const FAIR = 95

/** What is seen of a day by its uptime: not by the colour alone. */
const GRADES = { up: HEIGHT, part: 0.6 * HEIGHT, down: 0.3 * HEIGHT, none: 0.1 * HEIGHT } as const

const gradeOf = (uptime: number | null): keyof typeof GRADES =>
  uptime === null ? 'none' : uptime >= FULL ? 'up' : uptime >= FAIR ? 'part' : 'down'

const uptimeTitle = ({ day, uptime }: ChartDay): string =>
  `${day}: ${uptime === null ? 'no traffic' : percent(uptime)}`

/** A small bar for each day, that tells by colour and height how it went. */
export const uptimeStrip = (days: readonly ChartDay[], label: string): Html =>
  html`<svg class="strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
aria-label="${label}">${days.map((each, at) => {
    const kind = gradeOf(each.uptime)
    return bar({ kind, at, of: days.length, height: GRADES[kind], title: uptimeTitle(each) })
  })}</svg>`

/** A bar for each day, as high as its uptime. */
const uptimeChart = (days: readonly ChartDay[], label: string): Html =>
  plot(
    { label, scale: ['100 %', '50 %', '0 %'], below: rangeOf(days) },
    html`${days.map((each, at) => {
      const [kind, height] = [gradeOf(each.uptime), Math.max(LOWEST, each.uptime ?? 0)]
      return bar({ kind, at, of: days.length, height, title: uptimeTitle(each) })
    })}`,
  )

/** A day without a figure, or without an hour of work, is seen all the same. */
const LOWEST = 2

/** A bar for each day on which something was measured. */
function latencyChart(days: readonly ChartDay[], slowest: number): Html {
  const top = roundAbove(BigInt(Math.ceil(Math.max(1, slowest))))
  const scale = [milliseconds(Number(top)), milliseconds(Number(top) / 2), '0']
  const label = `Median latency by day: at most ${milliseconds(slowest)}`
  return plot(
    { label, scale, below: rangeOf(days) },
    html`${days.map(({ day, latency }, at) => {
      if (latency === null) return undefined
      const height = Math.max(LOWEST, (latency / Number(top)) * HEIGHT)
      const title = `${day}: ${milliseconds(latency)}`
      return bar({ kind: 's1', at, of: days.length, height, title })
    })}`,
  )
}

const rangeOf = (days: readonly ChartDay[]): readonly string[] =>
  [days[0], days.at(-1)].map((each) => each?.day ?? '')

/**
 * Uptime and latency of the last days side by side, each with its worst; nothing where nothing was
 * measured.
 * @param by what the figures were measured by, such as `calls`
 */
export function charts(days: readonly ChartDay[], by: string, note: string): Html | undefined {
  const known = days.filter(({ uptime }) => uptime !== null)
  if (known.length === 0) return undefined
  const lowest = percent(Math.min(...known.map(({ uptime }) => uptime ?? 0)))
  const slowest = Math.max(...known.map(({ latency }) => latency ?? 0))
  return html`<div class="columns"><section><h2>Uptime by day</h2>${uptimeChart(
    days,
    `Uptime by day: ${lowest} on the worst of ${known.length} days with ${by}`,
  )}<p class="small muted">${note} The worst day had ${lowest}.</p></section>
<section><h2>Latency by day</h2>${latencyChart(days, slowest)}<p class="small muted">The median of
each day; the slowest had ${milliseconds(slowest)}.</p></section></div>`
}
