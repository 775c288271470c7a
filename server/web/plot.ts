import { type Html, html } from './html.ts'

/** Units of the drawing: it is stretched to the room that there is. */
export const WIDTH = 600
export const HEIGHT = 100
const GAP = 0.2

export interface Axes {
  /** What the drawing tells, for those who do not see it. */
  readonly label: string
  /** The figures at the left, from the top down, evenly spread. */
  readonly scale: readonly string[]
  /** What stands below it: where it begins, what it is of, and where it ends. */
  readonly below: readonly string[]
}

/** A drawing between its axes. */
export const plot = ({ label, scale, below }: Axes, drawing: Html): Html =>
  html`<figure class="plot"><div class="scale" aria-hidden="true">${scale.map(
    (figure) => html`<span>${figure}</span>`,
  )}</div><svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
aria-label="${label}"><path class="axis" d="${scale
    .map((_, i) => `M0 ${fixed((i * HEIGHT) / Math.max(1, scale.length - 1))}h${WIDTH}`)
    .join('')}"/>${drawing}</svg><figcaption>${below.map(
    (text) => html`<span>${text}</span>`,
  )}</figcaption></figure>`

export interface Bar {
  readonly kind: string
  /** Which of them it is, and of how many. */
  readonly at: number
  readonly of: number
  /** In units of the drawing, from the bottom up. */
  readonly from?: number
  readonly height: number
  /** What it says when it is pointed at. */
  readonly title: string
}

/** One of the bars that stand beside each other. */
export function bar({ kind, at, of, from = 0, height, title }: Bar): Html {
  const step = WIDTH / Math.max(1, of)
  return html`<rect class="${kind}" x="${fixed(at * step)}" y="${fixed(
    HEIGHT - from - height,
  )}" width="${fixed(step * (1 - GAP))}" height="${fixed(height)}"><title>${title}</title></rect>`
}

const fixed = (value: number): string => String(Math.round(value * 10) / 10)
