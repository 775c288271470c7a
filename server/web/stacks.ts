import { type Html, html } from './html.ts'

/** Something that came to an amount on a day. */
export interface Amount {
  readonly day: string
  readonly of: string
  readonly amount: bigint
}

const WIDTH = 600
const HEIGHT = 100
const GAP = 0.2
interface StackWords {
  readonly label: string
  readonly write: (amount: bigint) => string
  /** What a bar stands for. @defaultValue a day */
  readonly each?: string
}

/** So many have a colour of their own; the rest share one. */
const COLOURS = 5
const REST = 'others'

/**
 * A bar for each day, of the parts that each thing has in it, with a legend.
 * @param days all of them, in order
 * @param write an amount, as people read it
 */
export function stacks(
  days: readonly string[],
  amounts: readonly Amount[],
  { label, write, each = 'a day' }: StackWords,
): Html {
  const up = amounts.filter(({ amount }) => amount > 0n)
  const named = largest(up)
  const nameOf = ({ of }: Amount) => (named.includes(of) ? of : REST)
  const byDay = Map.groupBy(up, ({ day }) => day)
  const totals = days.map((day) => sum(byDay.get(day) ?? []))
  const top = totals.reduce((most, total) => (total > most ? total : most), 0n)
  const step = WIDTH / Math.max(1, days.length)
  const names = up.some((each) => nameOf(each) === REST) ? [...named, REST] : named
  const bars = days.flatMap((day, i) => {
    const parts = Map.groupBy(byDay.get(day) ?? [], nameOf)
    let from = HEIGHT
    return names.flatMap((name, colour) => {
      const amount = sum(parts.get(name) ?? [])
      if (amount === 0n) return []
      const height = (Number(amount) / Number(top)) * HEIGHT
      from -= height
      return html`<rect class="s${colour + 1}" x="${fixed(i * step)}" y="${fixed(from)}"
width="${fixed(
        step * (1 - GAP),
      )}" height="${fixed(height)}"><title>${day}, ${name}: ${write(amount)}</title></rect>`
    })
  })
  return html`<figure class="stacks"><svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}"
preserveAspectRatio="none" role="img" aria-label="${label}">${bars}<line class="axis" x1="0"
y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}"/></svg><figcaption><span>${days[0]}</span>
<span>at most ${write(top)} ${each}</span><span>${days.at(-1)}</span></figcaption>${
    names.length > 0 &&
    html`<ul class="legend">${names.map(
      (name, colour) => html`<li><i class="s${colour + 1}"></i>${name}</li>`,
    )}</ul>`
  }</figure>`
}

/** The names with the largest sums, the largest first. */
function largest(amounts: readonly Amount[]): readonly string[] {
  const sums = [...Map.groupBy(amounts, ({ of }) => of)].map(([of, all]) => [of, sum(all)] as const)
  return sums
    .toSorted(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
    .slice(0, COLOURS)
    .map(([of]) => of)
}

const sum = (amounts: readonly Amount[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n)

const fixed = (value: number): string => String(Math.round(value * 10) / 10)
