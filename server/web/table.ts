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
 * A table that scrolls sideways where it is too wide, with the keyboard too.
 * @param label what it has, for those who hear it
 */
export const table = <Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html =>
  html`<div class="wide" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${columns.map(
    ({ head, number }) => html`<th scope="col"${number && NUMBER}>${head}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map(
        ({ cell, number, whole }) => html`<td${number ? NUMBER : whole && WHOLE}>${cell(row)}</td>`,
      )}</tr>`,
  )}</tbody></table></div>`

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
