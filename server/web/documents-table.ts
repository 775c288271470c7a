import type { DocumentJson } from '../rest/account/documents.ts'
import { alignedColumn } from './format.ts'
import { type Html, html } from './html.ts'
import { cardTable, timeAgo, withQuery } from './table.ts'

const KIND_TEXTS: Readonly<Record<DocumentJson['kind'], string>> = {
  purchase: 'receipt for credits',
  call: 'receipt for a call',
  statement: 'monthly statement',
  commission: 'commission statement',
  earnings: 'statement of earnings',
  'credit-note': 'credit note',
}

export const DOCUMENTS_PATH = '/account/documents'
export type SingleKind = Exclude<DocumentJson['kind'], 'statement' | 'earnings'>

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
      { head: 'Issued', noWrap: true, cell: (each) => timeAgo(each.issued_at) },
      {
        head: 'Total',
        number: true,
        cell: alignedColumn(documents, ({ totals }) => totals.gross_microdollars),
      },
      { head: 'Download', noWrap: true, cell: (each) => downloads(root, each) },
    ],
    documents,
  )

/** A statement of earnings is no invoice. */
const downloads = (root: string, { number, kind }: DocumentJson): Html => {
  const path = `${root}/${number}`
  const invoice = kind !== 'earnings' && html` <a href="${path}/ubl">UBL</a>`
  return html`<a href="${path}/pdf">PDF</a>${invoice} <a href="${path}">JSON</a>`
}
