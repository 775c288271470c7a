import type { Pool } from 'pg'
import { z } from 'zod'
import { findDocument, listDocuments } from '../../../core/finance/documents/issue.ts'
import {
  DocumentView,
  documentCursor,
  pdfReply,
  showDocument,
  ublReply,
} from '../account/documents.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'

const faults = ['not_found'] as const
const downloadFaults = [...faults, 'document_not_available'] as const

/** Receipts, statements and credit notes of all customers and providers. */
export const financeDocumentRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/finance/documents', {
    summary: 'Lists all issued receipts, statements and credit notes, newest first.',
    auth: 'finance',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(DocumentView) },
    handle: async ({ query: { limit, cursor }, url }) => {
      const [after] = readCursor(cursor, documentCursor) ?? []
      const rows = await listDocuments(pool, { limit: limit + 1, after })
      return toPage(rows, limit, url, ({ number }) => [number], showDocument)
    },
  }),
  route('GET /v1/finance/documents/{number}', {
    summary: 'Returns a document as structured data.',
    auth: 'finance',
    response: { status: 200, schema: DocumentView },
    faults,
    handle: async ({ params }) => ({ body: showDocument(await findDocument(pool, params.number)) }),
  }),
  route('GET /v1/finance/documents/{number}/pdf', {
    summary: 'Downloads a document as PDF.',
    auth: 'finance',
    response: { status: 200, type: 'application/pdf', schema: z.string() },
    faults: downloadFaults,
    handle: async ({ params }) => pdfReply(await findDocument(pool, params.number)),
  }),
  route('GET /v1/finance/documents/{number}/ubl', {
    summary: 'Downloads a document as an electronic invoice (EN 16931, UBL 2.1).',
    auth: 'finance',
    response: { status: 200, type: 'application/xml', schema: z.string() },
    faults: downloadFaults,
    handle: async ({ params }) => ublReply(await findDocument(pool, params.number)),
  }),
]
