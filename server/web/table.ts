import { dayName, systemClock } from '../../core/clock.ts'
import { formatTime } from './format.ts'
import { type Html, type HtmlPart, html } from './html.ts'
import { icon } from './icons.ts'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => HtmlPart
  /** True for numbers: right-aligned. */
  readonly number?: boolean
  /** True to keep the cell on one line, such as a timestamp. */
  readonly noWrap?: boolean
}

/**
 * Plain table. Fits a phone with two columns, or a few more if they are numbers.
 * @param label accessible name
 */
export const table = <Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html => html`<div class="table-box narrow" role="region" aria-label="${label}"
tabindex="0">${tableOf(columns, rows)}</div>`

/** @param totals rows of the footer, one part per column */
const labeledTable =
  (kind: 'cards' | 'cards tiles' | 'ledger') =>
  <Row>(
    label: string,
    columns: readonly Column<Row>[],
    rows: readonly Row[],
    totals: readonly (readonly HtmlPart[])[] = [],
  ): Html => {
    const labeled = columns.map((column) => ({
      ...column,
      label: html` data-head="${column.head}"`,
    }))
    return html`<div class="table-box ${kind}" role="region" aria-label="${label}"
tabindex="0">${tableOf(labeled, rows, totals)}</div>`
  }

/** Table whose rows become cards on a phone, each cell with its column head as label. */
export const cardTable = labeledTable('cards')

/** Card table for many numbers per row: a card shows three of them side by side. */
export const tileTable = labeledTable('cards tiles')

/** Table of accounts with debits and credits, compact on a phone. */
export const ledgerTable = labeledTable('ledger')

type LabeledColumn<Row> = Column<Row> & { readonly label?: Html }

const tableOf = <Row>(
  columns: readonly LabeledColumn<Row>[],
  rows: readonly Row[],
  totals: readonly (readonly HtmlPart[])[] = [],
): Html => {
  const cells = columns.map(({ cell, number, noWrap, label }) => {
    const start = html`<td${label}${number ? NUMBER : noWrap && NO_WRAP}>`
    return (row: Row) => html`${start}${label ? cellBox(cell(row)) : cell(row)}</td>`
  })
  return html`<table>
<thead><tr>${columns.map(
    ({ head, number }) => html`<th scope="col"${number && NUMBER}>${head}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) => html`<tr>${cells.map((cell) => cell(row))}</tr>`,
  )}</tbody>${totals.length > 0 && html`<tfoot>${totals.map(totalRow(columns))}</tfoot>`}</table>`
}

/** Wraps the content, so that label and content are the two grid items of a cell in a card. */
const cellBox = (content: HtmlPart): Html | false =>
  isPresent(content) && content !== '' && html`<div>${content}</div>`

const totalRow =
  (columns: readonly LabeledColumn<never>[]) =>
  (cells: readonly HtmlPart[]): Html =>
    html`<tr>${columns.map(({ number, label }, i) =>
      i === 0
        ? html`<th scope="row">${cells[i]}</th>`
        : html`<td${label}${number && NUMBER}>${label ? cellBox(cells[i]) : cells[i]}</td>`,
    )}</tr>`

const NUMBER = html` class="number"`
const NO_WRAP = html` class="nowrap"`

/** Links to the first and next page. @param next cursor; null on the last one */
export function pager(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  next: string | null,
  parameter = 'cursor',
): Html | undefined {
  const { [parameter]: cursor, ...filters } = query
  if (next === null && !cursor) return undefined
  return html`<nav class="pager" aria-label="Pages">${
    cursor && html`<a class="button plain" href="${withQuery(path, filters)}">First page</a>`
  }${
    next !== null &&
    html`<a class="button plain" rel="next"
href="${withQuery(path, { ...filters, [parameter]: next })}">
Next page</a>`
  }</nav>`
}

/** Path with a query; undefined and empty parameters are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(set as [string, string][]).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Terms and values; terms without a value are left out. */
export const definitionList = (pairs: Readonly<Record<string, HtmlPart>>): Html =>
  html`<dl class="definitions">${Object.entries(pairs).map(
    ([term, value]) => isPresent(value) && html`<div><dt>${term}</dt><dd>${value}</dd></div>`,
  )}</dl>`

/** Key figures of a page, in large type. @param kind `amounts` for long amounts */
export const metrics = (figures: Readonly<Record<string, HtmlPart>>, kind?: 'amounts'): Html =>
  html`<dl class="metrics${kind && ` ${kind}`}">${Object.entries(figures).map(
    ([term, figure]) => html`<div><dt>${term}</dt><dd>${figure}</dd></div>`,
  )}</dl>`

const isPresent = (value: HtmlPart): boolean =>
  value !== undefined && value !== null && value !== false

/** Characters of a hash or address that are shown at its beginning and end. */
const HASH_START = 6
const HASH_END = 4

/**
 * Hash or address whose middle is cut off, with a copy button and the whole text as tooltip. It
 * prints and reads as a whole. Where people compare or pay to an address, use `breakableHex`.
 * @param path page about it
 */
export const shortHash = (text: string, path?: string): Html => {
  const [start, end] = [text.slice(0, HASH_START), text.slice(-HASH_END)]
  const middle = text.slice(HASH_START, -HASH_END)
  if (middle.length <= 2) return html`<code>${text}</code>`
  const code = html`<code>${start}<span>${middle}</span>${end}</code>`
  return html`<span class="hash" title="${text}">${
    path === undefined ? code : html`<a href="${path}">${code}</a>`
  }<button type="button" class="plain" data-copy="${text}"
aria-label="Copy ${start}…${end}" hidden>${icon('clipboard-document')}</button></span>`
}

const RELATIVE_TIME = new Intl.RelativeTimeFormat('en', { numeric: 'always' })
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
const RELATIVE_MAX_SECONDS = 7 * 86_400

/** `3 hours ago`, with the UTC time as tooltip and in print; a day for times of other weeks. */
export function timeAgo(at: Date | string | null, now = systemClock.now()): Html | string {
  if (at === null) return '–'
  const seconds = Math.round((new Date(at).getTime() - now.getTime()) / 1_000)
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? [undefined, 1]
  const text =
    Math.abs(seconds) > RELATIVE_MAX_SECONDS
      ? dayName(new Date(at))
      : unit
        ? RELATIVE_TIME.format(Math.trunc(seconds / size), unit)
        : 'just now'
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}" title="${formatTime(at)}">${text}</time>`
}

/** Hash or address with a possible line break every 22 characters. */
export const breakableHex = (text: string): Html => {
  const parts = text.match(/.{1,22}/gs) ?? []
  return html`<code class="soft-breaks">${parts.map(
    (part, i) => html`${i > 0 && WORD_BREAK}${part}`,
  )}</code>`
}

export const WORD_BREAK = html`<wbr>`
