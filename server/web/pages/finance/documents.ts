import { z } from 'zod'
import type { DocumentJson } from '../../../rest/account/documents.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { documentTable } from '../../documents-table.ts'
import { html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { pager } from '../../table.ts'

const PATH = '/finance/documents'

/** `/finance/documents`: all issued receipts, statements and credit notes. */
export const financeDocumentsPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ cursor: z.string().max(500).optional() }),
    render: async ({ api, query: { cursor } }) => {
      const found = await api<ListPage<DocumentJson>>('GET /v1/finance/documents', {
        query: { cursor },
      })
      return {
        title: 'Documents',
        tabs: FINANCE_TABS,
        main: html`<h1>Documents</h1><p class="lead">Receipts, statements and credit notes, numbered
without gaps in each series. <code>npm run ledger -- documents --check</code> compares them with the
journal.</p>${
          found.data.length === 0
            ? emptyState('No documents issued yet.')
            : html`${documentTable(found.data, '/v1/finance/documents')}${pager(
                PATH,
                { cursor },
                found.next_cursor,
              )}`
        }`,
      }
    },
  })
