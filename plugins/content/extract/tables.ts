import { type Element, isTag, type ParentNode } from 'domhandler'
import { INLINE } from './measure.ts'

const isCell = ({ name }: Element): boolean => name === 'td' || name === 'th'

const elementsOf = ({ children }: ParentNode): Element[] => children.filter((child) => isTag(child))

/** Rows of the table itself, not of tables within its cells. */
const trs = (table: ParentNode): Element[] =>
  elementsOf(table).flatMap((child) =>
    child.name === 'tr' ? [child] : /^t(head|body|foot)$/.test(child.name) ? trs(child) : [],
  )

const PLAIN: ReadonlySet<string> = new Set([...INLINE, 'p', 'div', 'br'])

/** A cell that a line can hold. */
const isPlain = (cell: ParentNode): boolean =>
  elementsOf(cell).every((child) => PLAIN.has(child.name) && isPlain(child))

/**
 * The cells of a table of data, row by row; undefined for a table that only lays a page out: of
 * one column, or with lists, headings and tables in its cells.
 */
export function rowsOf(table: ParentNode): Element[][] | undefined {
  const rows = trs(table)
    .map((row) => elementsOf(row).filter(isCell))
    .filter((row) => row.length > 0)
  const wide = rows.some((row) => row.length > 1)
  return wide && rows.flat().every(isPlain) ? rows : undefined
}
