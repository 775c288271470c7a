import { type Html, html, type Part } from './html.ts'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => Part
  /** Numbers stand below each other, at the right. */
  readonly number?: boolean
  /** What stands on one line, such as an instant. */
  readonly whole?: boolean
}

/**
 * A table of two columns, or of some more that are numbers: it fits a phone, where texts wrap.
 * @param label what it has, for those who hear it
 * @param totals rows at its foot, a cell for each column
 */
export const table = <Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  totals: readonly (readonly Part[])[] = [],
): Html => html`<div class="wide narrow" role="region" aria-label="${label}"
tabindex="0">${tableOf(columns, rows, totals)}</div>`

const namedTable =
  (kind: 'cards' | 'cards tiles' | 'books') =>
  <Row>(
    label: string,
    columns: readonly Column<Row>[],
    rows: readonly Row[],
    totals: readonly (readonly Part[])[] = [],
  ): Html => {
    const named = columns.map((column) => ({ ...column, named: html` data-head="${column.head}"` }))
    return html`<div class="wide ${kind}" role="region" aria-label="${label}"
tabindex="0">${tableOf(named, rows, totals)}</div>`
  }

/** A table whose rows are cards on a phone: there each cell says what it is. */
export const cardTable = namedTable('cards')

/** The same for many numbers of one thing: three of them stand beside each other. */
export const tileTable = namedTable('cards tiles')

/** Accounts with their debits and credits, which on a phone are lines with few words. */
export const bookTable = namedTable('books')

type NamedColumn<Row> = Column<Row> & { readonly named?: Html }

const tableOf = <Row>(
  columns: readonly NamedColumn<Row>[],
  rows: readonly Row[],
  totals: readonly (readonly Part[])[],
): Html =>
  html`<table>
<thead><tr>${columns.map(
    ({ head, number }) => html`<th scope="col"${number && NUMBER}>${head}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map(
        ({ cell, number, whole, named }) =>
          html`<td${named}${number ? NUMBER : whole && WHOLE}>${
            named ? boxed(cell(row)) : cell(row)
          }</td>`,
      )}</tr>`,
  )}</tbody>${totals.length > 0 && html`<tfoot>${totals.map(totalOf(columns))}</tfoot>`}</table>`

/** A cell of a card is one thing beside its name, whatever it is made of. */
const boxed = (content: Part): Html | false =>
  isShown(content) && content !== '' && html`<div>${content}</div>`

const totalOf =
  (columns: readonly NamedColumn<never>[]) =>
  (cells: readonly Part[]): Html =>
    html`<tr>${columns.map(({ number, named }, i) =>
      i === 0
        ? html`<th scope="row">${cells[i]}</th>`
        : html`<td${named}${number && NUMBER}>${named ? boxed(cells[i]) : cells[i]}</td>`,
    )}</tr>`

const NUMBER = html` class="number"`
const WHOLE = html` class="whole"`

/**
 * Leads on in a list, and back to its beginning.
 * @param next the cursor of the page after this one, if there is one
 */
export function pager(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  next: string | null,
): Html | undefined {
  const { cursor, ...kept } = query
  if (next === null && !cursor) return undefined
  return html`<nav class="pager" aria-label="Pages">${
    cursor && html`<a class="button plain" href="${address(path, kept)}">Back to the first</a>`
  }${
    next !== null &&
    html`<a class="button plain" rel="next" href="${address(path, { ...kept, cursor: next })}">
More</a>`
  }</nav>`
}

/** A path with what is set of a query. */
export function address(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(set as [string, string][]).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Terms and what they are, as a list of two columns. */
export const facts = (pairs: Readonly<Record<string, Part>>): Html =>
  html`<dl class="pairs">${Object.entries(pairs).map(
    ([term, value]) => isShown(value) && html`<div><dt>${term}</dt><dd>${value}</dd></div>`,
  )}</dl>`

const isShown = (value: Part): boolean => value !== undefined && value !== null && value !== false

/** A hash or an address: whole, and in two or three lines where one is too long. */
export const hex = (text: string): Html =>
  html`<code class="unbroken">${text
    .split(/(?<=^(?:.{22})+)/)
    .map((part, i) => html`${i > 0 && BREAK}${part}`)}</code>`

const BREAK = html`<wbr>`
