import { type Html, html } from './html.ts'

/** Size of the SVG view box; the chart is stretched to the available width. */
export const WIDTH = 600
export const HEIGHT = 100
/** Gap between bars, as a share of the width of a bar with its gap. */
const GAP = 0.2

export interface ChartAxes {
  /** Accessible name: the statement of the chart in words. */
  readonly label: string
  /** Labels of the vertical axis, from top to bottom, evenly spaced. */
  readonly ticks: readonly string[]
  /** Labels below the horizontal axis, such as its first and last day. */
  readonly captions: readonly string[]
}

/** Draws axes around bars (`bar`). */
export const barChart = ({ label, ticks, captions }: ChartAxes, bars: Html): Html =>
  html`<figure class="bar-chart"><div class="ticks" aria-hidden="true">${ticks.map(
    (tick) => html`<span>${tick}</span>`,
  )}</div><svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
aria-label="${label}"><path class="axis" d="${ticks
    .map((_, i) => `M0 ${roundToTenth((i * HEIGHT) / Math.max(1, ticks.length - 1))}h${WIDTH}`)
    .join('')}"/>${bars}</svg><figcaption>${captions.map(
    (caption) => html`<span>${caption}</span>`,
  )}</figcaption></figure>`

export interface ChartBar {
  /** CSS class, which sets the color. */
  readonly kind: string
  /** Position among `count` bars, from 0. */
  readonly index: number
  readonly count: number
  /** Lower end in view box units. @defaultValue 0 */
  readonly from?: number
  /** In view box units. */
  readonly height: number
  readonly title: string
}

export function bar({ kind, index, count, from = 0, height, title }: ChartBar): Html {
  const step = WIDTH / Math.max(1, count)
  return html`<rect class="${kind}" x="${roundToTenth(index * step)}" y="${roundToTenth(
    HEIGHT - from - height,
  )}" width="${roundToTenth(step * (1 - GAP))}" height="${roundToTenth(
    height,
  )}"><title>${title}</title></rect>`
}

const roundToTenth = (value: number): string => String(Math.round(value * 10) / 10)
