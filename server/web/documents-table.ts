import type { DocumentJson } from '../rest/account/documents.ts'
import { alignedColumn, formatTime } from './format.ts'
import { type Html, html } from './html.ts'
import { cardTable, withQuery } from './table.ts'

const KIND_TEXTS: Readonly<Record<DocumentJson['kind'], string>> = {
  purchase: 'receipt for credits',
  call: 'receipt for a call',
  statement: 'monthly statement',
  commission: 'commission statement',
  'credit-note': 'credit note',
}

export const DOCUMENTS_PATH = '/account/documents'
export type SingleKind = Exclude<DocumentJson['kind'], 'statement'>

/** Path of the page with a button that issues the document of a purchase, call or payout. */
export const documentPath = (kind: SingleKind, id: string): string =>
  withQuery(DOCUMENTS_PATH, { kind, id })

/** Table of issued documents with their downloads. @param root path of the REST routes */
export const documentTable = (documents: readonly DocumentJson[], root: string): Html =>
  cardTable(
    'Documents',
    [
      { head: 'Number', noWrap: true, cell: ({ number }) => html`<code>${number}</code>` },
      { head: 'Kind', cell: ({ kind }) => KIND_TEXTS[kind] },
      { head: 'Customer', cell: ({ customer }) => customer.legal_name },
      { head: 'For', cell: ({ period, day }) => period?.from.slice(0, 7) ?? day },
      { head: 'Issued', noWrap: true, cell: (each) => formatTime(each.issued_at) },
      {
        head: 'Total',
        number: true,
        cell: alignedColumn(documents, ({ totals }) => totals.gross_microdollars),
      },
      { head: 'Download', noWrap: true, cell: ({ number }) => downloads(`${root}/${number}`) },
    ],
    documents,
  )

const downloads = (path: string): Html =>
  html`<a href="${path}/pdf">PDF</a> <a href="${path}/ubl">UBL</a> <a href="${path}">JSON</a>`
