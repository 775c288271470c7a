import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { findBillingParty, saveBillingParty } from '../../../core/finance/documents/billing.ts'
import {
  DOCUMENT_KINDS,
  type IssuedDocument,
  type Party,
  TAX_CATEGORIES,
} from '../../../core/finance/documents/document.ts'
import {
  findDocument,
  type DocumentDeps as IssueDeps,
  issueDocument,
  listDocuments,
} from '../../../core/finance/documents/issue.ts'
import { toPdf } from '../../../core/finance/documents/pdf.ts'
import { normalizeTaxId } from '../../../core/finance/documents/tax-id.ts'
import { toUbl } from '../../../core/finance/documents/ubl.ts'
import type { CallLog } from '../../../core/usage/calls.ts'
import { month } from '../fields.ts'
import { inputFault } from '../input-errors.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, ownerOf, type RestReply, route } from '../route.ts'
import { Billing, type BillingJson, PartyView } from './party-fields.ts'

const amounts = {
  net_microdollars: z.int(),
  tax_microdollars: z.int(),
  gross_microdollars: z.int(),
}

const Line = z.object({
  description: z.string(),
  quantity: z.int(),
  ...amounts,
  tax: z.object({
    category: z.enum(TAX_CATEGORIES).meta({ description: 'VAT category of EN 16931.' }),
    rate_bps: z.int(),
    reason: z.string().nullable(),
  }),
  ledger: z
    .array(
      z.object({
        shard: z.int(),
        from_seq: z.int(),
        to_seq: z.int(),
        entry_id: z.string().nullable(),
      }),
    )
    .meta({ description: 'Ranges of journal entries from which the amount is summed.' }),
})

export const DocumentView = z.object({
  number: z.string(),
  kind: z.enum(DOCUMENT_KINDS),
  issued_at: z.iso.datetime(),
  supplier: PartyView,
  customer: PartyView,
  currency: z.literal('USD'),
  period: z.object({ from: z.string(), to: z.string() }).nullable(),
  day: z.string(),
  preceding: z.string().nullable().meta({ description: 'Receipt that a credit note corrects.' }),
  transaction: z.string().nullable(),
  lines: z.array(Line),
  totals: z.object(amounts),
  tables: z.array(
    z.object({
      title: z.string(),
      rows: z.array(z.object({ name: z.string(), amount_microdollars: z.int() })),
    }),
  ),
  notes: z.array(z.string()),
})

export type DocumentJson = z.infer<typeof DocumentView>

interface DocumentDeps extends IssueDeps {
  readonly calls: Pick<CallLog, 'flush'>
}

/** Receipts, statements and credit notes; see `issueDocument`. */
export const documentRoutes = (deps: DocumentDeps): readonly AnyRoute[] => [
  ...billingRoutes(deps),
  listRoute(deps),
  issueRoute(deps),
  ...singleRoutes(deps),
]

const faults = ['root_key_required', 'not_found'] as const
const downloadFaults = [...faults, 'document_not_available'] as const

const billingRoutes = ({ pool }: DocumentDeps): readonly AnyRoute[] => [
  route('GET /v1/billing', {
    summary: 'Returns your billing details, as new documents state them.',
    auth: 'owner',
    response: { status: 200, schema: PartyView },
    faults,
    handle: async (request) => {
      const party = await findBillingParty(pool, ownerOf(request))
      if (!party) throw new Fault('not_found', 'You have no billing details yet: PUT /v1/billing.')
      return { body: party }
    },
  }),
  route('PUT /v1/billing', {
    summary: 'Stores your billing details. Documents that were issued keep theirs.',
    auth: 'owner',
    body: Billing,
    response: { status: 200, schema: PartyView },
    faults: ['root_key_required'],
    handle: async (request) => {
      const party = await withTaxId(request.body)
      await saveBillingParty(pool, ownerOf(request)[0]!, party)
      return { body: party }
    },
  }),
]

/** Normalizes the tax identifier of billing details. @throws Fault `validation_failed` */
async function withTaxId(party: BillingJson): Promise<Party> {
  if (party.tax_id === null) return party
  const tax_id = await normalizeTaxId(party.tax_id)
  if (tax_id !== undefined) return { ...party, tax_id }
  const prefix = party.tax_id.slice(0, 2).toUpperCase()
  throw inputFault('/tax_id', `must be a valid VAT identifier of ${prefix}: check its digits`)
}

export const documentCursor = z.tuple([z.string().max(40)])

const listRoute = ({ pool }: DocumentDeps): AnyRoute =>
  route('GET /v1/documents', {
    summary: 'Lists your receipts, statements and credit notes, newest first.',
    auth: 'owner',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(DocumentView) },
    faults: ['root_key_required'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const [after] = readCursor(cursor, documentCursor) ?? []
      const principals = ownerOf(request)
      const rows = await listDocuments(pool, { principals, limit: limit + 1, after })
      return toPage(rows, limit, request.url, ({ number }) => [number], showDocument)
    },
  })

const issueRoute = (deps: DocumentDeps): AnyRoute =>
  route('POST /v1/documents', {
    summary: 'Issues a receipt, statement or credit note; the same one if it exists already.',
    auth: 'owner',
    body: z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.enum(['purchase', 'call', 'credit-note', 'commission']).meta({
          description: 'credit-note: for the refund of a call. commission: for a payout to you.',
        }),
        id: z.uuid().toLowerCase().meta({
          description: 'Id of the purchase in your history, of the call, or of the payout.',
        }),
      }),
      z.strictObject({
        kind: z.literal('earnings').meta({ description: 'Statement of your provider.' }),
        month,
      }),
      z.strictObject({
        kind: z.literal('statement'),
        month: month.meta({ description: 'UTC month that is over.' }),
        wallet: z
          .string()
          .regex(/^0x[\da-fA-F]{40}$/, 'must be a wallet address')
          .optional()
          .meta({ description: 'One of your linked wallets. Default: the account itself.' }),
      }),
    ]),
    response: { status: 201, location: '/v1/documents/{number}', schema: DocumentView },
    faults: [
      ...faults,
      'billing_details_required',
      'document_not_available',
      'documents_not_configured',
    ],
    handle: async (request) => {
      const { body } = request
      const principals = ownerOf(request)
      await deps.calls.flush() // records of calls just served by this process
      const subject =
        body.kind === 'statement'
          ? `${await principalOf(deps, principals, body.wallet)}:${body.month}`
          : body.kind === 'earnings'
            ? `${await providerOf(deps, principals)}:${body.month}`
            : body.id
      const issued = await issueDocument(deps, principals, body.kind, subject)
      return { status: 201, body: showDocument(issued) }
    },
  })

/** Principal of a linked wallet; by default that of the caller. Empty if it is not the caller's. */
async function principalOf(
  { pool }: DocumentDeps,
  principals: readonly string[],
  wallet: string | undefined,
): Promise<string> {
  if (wallet === undefined) return principals[0]!
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM hub.principal WHERE wallet_address = $1 AND id = ANY ($2)',
    [wallet.toLowerCase(), principals],
  )
  return rows[0]?.id ?? ''
}

/** Provider of the caller; empty if there is none. */
async function providerOf({ pool }: DocumentDeps, principals: readonly string[]): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM hub.provider WHERE owner = ANY ($1) ORDER BY array_position($1, owner) LIMIT 1',
    [principals],
  )
  return rows[0]?.id ?? ''
}

const singleRoutes = ({ pool }: DocumentDeps): readonly AnyRoute[] => [
  route('GET /v1/documents/{number}', {
    summary: 'Returns a document as structured data.',
    auth: 'owner',
    response: { status: 200, schema: DocumentView },
    faults,
    handle: async (request) => ({
      body: showDocument(await findDocument(pool, request.params.number, ownerOf(request))),
    }),
  }),
  route('GET /v1/documents/{number}/pdf', {
    summary: 'Downloads a document as PDF.',
    auth: 'owner',
    response: { status: 200, type: 'application/pdf', schema: z.string() },
    faults: downloadFaults,
    handle: async (request) =>
      pdfReply(await findDocument(pool, request.params.number, ownerOf(request))),
  }),
  route('GET /v1/documents/{number}/ubl', {
    summary: 'Downloads a document as an electronic invoice (EN 16931, UBL 2.1).',
    auth: 'owner',
    response: { status: 200, type: 'application/xml', schema: z.string() },
    faults: downloadFaults,
    handle: async (request) =>
      ublReply(await findDocument(pool, request.params.number, ownerOf(request))),
  }),
]

/** Download of a document as PDF. */
export const pdfReply = async (document: IssuedDocument): Promise<RestReply> =>
  fileReply(document, 'pdf', 'application/pdf', await toPdf(document))

/** Download of a document as UBL. @throws Fault `document_not_available` if it is no invoice */
export async function ublReply(document: IssuedDocument): Promise<RestReply> {
  if (document.kind === 'earnings') {
    throw new Fault(
      'document_not_available',
      'A statement of earnings is no invoice: download the PDF. Commission is invoiced per payout.',
    )
  }
  return fileReply(document, 'xml', 'application/xml', Buffer.from(await toUbl(document)))
}

const fileReply = (
  { number }: IssuedDocument,
  suffix: string,
  type: string,
  body: Buffer,
): RestReply => ({
  headers: {
    'Content-Type': type,
    'Content-Disposition': `attachment; filename="${number}.${suffix}"`,
  },
  body,
})

export const showDocument = ({
  number,
  kind,
  issuedAt,
  content,
}: IssuedDocument): DocumentJson => ({
  number,
  kind,
  issued_at: issuedAt.toISOString(),
  ...(content as unknown as Omit<DocumentJson, 'number' | 'kind' | 'issued_at'>),
})
