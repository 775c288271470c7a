import { roundAbove } from './format.ts'
import { type Html, html } from './html.ts'
import { bar, HEIGHT, plot } from './plot.ts'

/** Something that came to an amount on a day. */
export interface Amount {
  readonly day: string
  readonly of: string
  readonly amount: bigint
}

interface StackWords {
  readonly label: string
  readonly write: (amount: bigint) => string
  /** What a bar stands for. @defaultValue a day */
  readonly each?: string
  /** Whether it says what each colour is. @defaultValue true */
  readonly legend?: boolean
}

/** So many have a colour of their own; the rest share one. */
const COLOURS = 5
const REST = 'others'
/** How high the axis is of days on which nothing came to anything: a dollar. */
const NOTHING = 1_000_000n

/**
 * A bar for each day, of the parts that each thing has in it, with a legend.
 * @param days all of them, in order
 * @param write an amount, as people read it
 */
export function stacks(
  days: readonly string[],
  amounts: readonly Amount[],
  { label, write, each = 'a day', legend = true }: StackWords,
): Html {
  const up = amounts.filter(({ amount }) => amount > 0n)
  const named = largest(up)
  const nameOf = ({ of }: Amount) => (named.includes(of) ? of : REST)
  const byDay = Map.groupBy(up, ({ day }) => day)
  const totals = days.map((day) => sum(byDay.get(day) ?? []))
  const most = totals.reduce((high, total) => (total > high ? total : high), 0n)
  const top = most > 0n ? roundAbove(most) : NOTHING
  const names = up.some((each) => nameOf(each) === REST) ? [...named, REST] : named
  const bars = days.flatMap((day, at) => {
    const parts = Map.groupBy(byDay.get(day) ?? [], nameOf)
    let from = 0
    return names.flatMap((name, colour) => {
      const amount = sum(parts.get(name) ?? [])
      if (amount === 0n) return []
      const height = (Number(amount) / Number(top)) * HEIGHT
      const title = `${day}, ${name}: ${write(amount)}`
      const drawn = bar({ kind: `s${colour + 1}`, at, of: days.length, from, height, title })
      from += height
      return drawn
    })
  })
  const axes = {
    label,
    scale: [write(top), write(top / 2n), '0'],
    below: [days[0] ?? '', `one bar ${each}`, days.at(-1) ?? ''],
  }
  return html`<div class="stacks">${plot(axes, html`${bars}`)}${
    legend &&
    names.length > 0 &&
    html`<ul class="legend">${names.map(
      (name, colour) => html`<li><i class="s${colour + 1}"></i>${name}</li>`,
    )}</ul>`
  }</div>`
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
