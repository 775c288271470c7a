import { type Element, isTag, type ParentNode } from 'domhandler'
import { INLINE } from './measure.ts'

const isCell = ({ name }: Element): boolean => name === 'td' || name === 'th'

const elementsOf = ({ children }: ParentNode): Element[] => children.filter((child) => isTag(child))

/** Returns the rows of the table itself, not of nested tables. */
const trs = (table: ParentNode): Element[] =>
  elementsOf(table).flatMap((child) =>
    child.name === 'tr' ? [child] : /^t(head|body|foot)$/.test(child.name) ? trs(child) : [],
  )

const PLAIN: ReadonlySet<string> = new Set([...INLINE, 'p', 'div', 'br'])

/** Returns true for a cell that fits on one line. */
const isPlain = (cell: ParentNode): boolean =>
  elementsOf(cell).every((child) => PLAIN.has(child.name) && isPlain(child))

/** Undefined for a layout table: one column, or lists, headings or tables in its cells. */
export function rowsOf(table: ParentNode): Element[][] | undefined {
  const rows = trs(table)
    .map((row) => elementsOf(row).filter(isCell))
    .filter((row) => row.length > 0)
  const wide = rows.some((row) => row.length > 1)
  return wide && rows.flat().every(isPlain) ? rows : undefined
}
