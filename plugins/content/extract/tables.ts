import type { Element, ParentNode } from 'domhandler'
import { elementsOf } from './elements.ts'
import { INLINE } from './measure.ts'

const isCell = ({ name }: Element): boolean => name === 'td' || name === 'th'

/** Returns the rows of the table itself, not of nested tables. */
const trs = (table: ParentNode): Element[] =>
  elementsOf(table).flatMap((child) =>
    child.name === 'tr' ? [child] : /^t(head|body|foot)$/.test(child.name) ? trs(child) : [],
  )

const PLAIN: ReadonlySet<string> = new Set([...INLINE, 'p', 'div', 'br'])

const RICH: ReadonlySet<string> = new Set(
  [...PLAIN].concat('ul ol li dl dt dd pre blockquote'.split(' ')),
)

const holdsOnly = (cell: ParentNode, names: ReadonlySet<string>): boolean =>
  elementsOf(cell).every((child) => names.has(child.name) && holdsOnly(child, names))

/** Returns true for a cell that fits on one line. */
export const isPlain = (cell: ParentNode): boolean => holdsOnly(cell, PLAIN)

/** Returns the caption of the table itself. */
export const captionOf = (table: ParentNode): Element | undefined =>
  elementsOf(table).find(({ name }) => name === 'caption')

/**
 * Undefined for a layout table: one column, or headings or tables in its cells, or lists if no
 * cell is a header.
 */
export function rowsOf(table: ParentNode): Element[][] | undefined {
  const rows = trs(table)
    .map((row) => elementsOf(row).filter(isCell))
    .filter((row) => row.length > 0)
  const wide = rows.some((row) => row.length > 1)
  const cells = rows.flat()
  const allowed = cells.some(({ name }) => name === 'th') ? RICH : PLAIN
  return wide && cells.every((cell) => holdsOnly(cell, allowed)) ? rows : undefined
}
