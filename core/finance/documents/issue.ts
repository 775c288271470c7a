import type { Pool } from 'pg'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { findBillingParty } from './billing.ts'
import { taxOfCustomer } from './customer-tax.ts'
import {
  type DocumentContent,
  type DocumentKind,
  documentLine,
  documentNumber,
  type IssuedDocument,
  type Party,
  SERIES_PREFIXES,
  type Tax,
  totalsOf,
} from './document.ts'
import type { SourceDeps } from './source.ts'
import { SOURCES } from './sources.ts'

export interface DocumentDeps extends SourceDeps {
  /** Legal name of the platform; undefined: no documents are issued. */
  readonly supplier: Party | undefined
  /** Tax that is included in the prices of the platform. */
  readonly tax: Tax
}

/**
 * Issues the document of a subject once; later requests return the same one. A credit note has the
 * customer and tax of the receipt for its call, which is issued before it if there is none.
 * @param principals those who may see it; the billing details of the first one that has any apply
 * @throws Fault `documents_not_configured`, `billing_details_required`, `document_not_available`,
 *   `not_found`
 */
export async function issueDocument(
  deps: DocumentDeps,
  principals: KeyManager,
  kind: DocumentKind,
  subject: string,
): Promise<IssuedDocument> {
  const { pool, supplier } = deps
  const issued = await findBySubject(pool, principals, kind, subject)
  if (issued) return issued
  if (!supplier) throw new Fault('documents_not_configured')
  const { principal, ...source } = await SOURCES[kind](deps, principals, subject)
  const receipt =
    kind === 'credit-note' ? await issueDocument(deps, principals, 'call', subject) : undefined
  const customer =
    receipt?.content.customer ?? (await findBillingParty(pool, [principal, ...principals]))
  if (!customer) throw new Fault('billing_details_required')
  const tax = receipt?.content.lines[0]!.tax ?? (await taxOfCustomer(deps.tax, supplier, customer))
  const lines = source.lines.map(({ gross, taxFor, ...line }) =>
    documentLine({ ...line, tax: taxFor(tax) }, gross),
  )
  const content: DocumentContent = {
    ...source,
    supplier,
    customer,
    preceding: receipt?.number ?? null,
    lines,
    totals: totalsOf(lines),
  }
  const { rows } = await pool.query<Row>(
    `SELECT ${COLUMNS} FROM hub.issue_document($1, $2, $3, $4, $5) d`,
    [SERIES_PREFIXES[kind], kind, subject, principal, JSON.stringify(content)],
  )
  const document = toDocument(rows[0]!)
  if ([principal, ...principals].includes(document.principal)) return document
  throw new Fault('document_not_available', 'It was issued to the previous owner.')
}

interface Row extends Omit<IssuedDocument, 'number'> {
  readonly series: string
  readonly number: bigint
}

const COLUMNS =
  'd.series, d.number, d.kind, d.subject, d.principal, d.issued_at AS "issuedAt", d.content'

const toDocument = ({ series, number, ...rest }: Row): IssuedDocument => ({
  ...rest,
  number: documentNumber(series, number),
})

async function findBySubject(
  pool: Pool,
  principals: KeyManager,
  kind: DocumentKind,
  subject: string,
): Promise<IssuedDocument | undefined> {
  const { rows } = await pool.query<Row>(
    `SELECT ${COLUMNS} FROM hub.document d
     WHERE d.kind = $1 AND d.subject = $2 AND d.principal = ANY ($3)`,
    [kind, subject, principals],
  )
  return rows[0] && toDocument(rows[0])
}

/** Splits the number of a document; undefined if it is malformed. */
function parseNumber(number: string): readonly [series: string, number: string] | undefined {
  const [, series, digits] = /^([A-Z]{3}-20\d\d)-(\d{6,15})$/.exec(number) ?? []
  return series === undefined ? undefined : [series, digits!]
}

/** Finds a document by its number. @param principals undefined: of anybody @throws `not_found` */
export async function findDocument(
  pool: Pool,
  number: string,
  principals?: KeyManager,
): Promise<IssuedDocument> {
  const place = parseNumber(number)
  const { rows } = await pool.query<Row>(
    `SELECT ${COLUMNS} FROM hub.document d WHERE d.series = $1 AND d.number = $2
       AND ($3::text[] IS NULL OR d.principal = ANY ($3))`,
    [place?.[0] ?? '', place?.[1] ?? 0, principals ?? null],
  )
  if (!rows[0]) throw new Fault('not_found', 'There is no document with this number.')
  return toDocument(rows[0])
}

export interface DocumentFilter {
  /** Undefined: documents of everybody. */
  readonly principals?: KeyManager | undefined
  readonly limit: number
  /** Number of the last document on the previous page. */
  readonly after?: string | undefined
}

/** Lists documents, the newest first. */
export async function listDocuments(
  pool: Pool,
  { principals, limit, after }: DocumentFilter,
): Promise<readonly IssuedDocument[]> {
  const place = after === undefined ? undefined : parseNumber(after)
  const { rows } = await pool.query<Row>(
    `SELECT ${COLUMNS} FROM hub.document d
     WHERE ($1::text[] IS NULL OR d.principal = ANY ($1)) AND ($3::text IS NULL
       OR (d.issued_at, d.series, d.number) < (SELECT l.issued_at, l.series, l.number
         FROM hub.document l WHERE l.series = $3 AND l.number = $4))
     ORDER BY d.issued_at DESC, d.series DESC, d.number DESC LIMIT $2`,
    [principals ?? null, limit, place?.[0] ?? null, place?.[1] ?? null],
  )
  return rows.map(toDocument)
}
