import { json } from '../../money.ts'

export const DOCUMENT_KINDS = [
  'purchase',
  'call',
  'statement',
  'commission',
  'earnings',
  'credit-note',
] as const
export type DocumentKind = (typeof DOCUMENT_KINDS)[number]

/** Prefix of the series of each kind; each year has a series of its own. */
export const SERIES_PREFIXES: Readonly<Record<DocumentKind, string>> = {
  purchase: 'PUR',
  call: 'CAL',
  statement: 'STM',
  commission: 'COM',
  earnings: 'ERN',
  'credit-note': 'CRN',
}

/** Supplier or customer of a document, with its legal name. */
export interface Party {
  readonly legal_name: string
  /** Electronic address for invoices. */
  readonly email: string
  readonly address: string | null
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  /** Number in the register of companies. */
  readonly registration: string | null
  /** VAT identifier, or another one. */
  readonly tax_id: string | null
}

/**
 * VAT categories of EN 16931 (UNCL5305) that an operator may set: standard rate, zero rate, exempt,
 * export, and outside the scope.
 */
export const OWN_TAX_CATEGORIES = ['S', 'Z', 'E', 'G', 'O'] as const
/** VAT categories of documents, with reverse charge. */
export const TAX_CATEGORIES = [...OWN_TAX_CATEGORIES, 'AE'] as const

/** Tax that is included in the price of a line. */
export interface Tax {
  readonly category: (typeof TAX_CATEGORIES)[number]
  readonly rate_bps: number
  /** Reason that no tax is due; null for categories S and Z. */
  readonly reason: string | null
}

/** Range of journal entries of one shard, inclusive. */
export interface LedgerRange {
  readonly shard: number
  readonly from_seq: number
  readonly to_seq: number
  /** Id of the entry, if the range is a single one. */
  readonly entry_id: string | null
}

/** Range of all entries of a shard from one sequence number to another, inclusive. */
export const ledgerRange = (shard: number, from: bigint, to: bigint): LedgerRange => ({
  shard,
  from_seq: json(from),
  to_seq: json(to),
  entry_id: null,
})

export interface DocumentLine {
  readonly description: string
  readonly quantity: number
  readonly net_microdollars: number
  readonly tax_microdollars: number
  readonly gross_microdollars: number
  readonly tax: Tax
  /** Journal entries from which the amount is summed. */
  readonly ledger: readonly LedgerRange[]
}

/** Amounts beside the lines, such as the balances of a statement. */
export interface DocumentTable {
  readonly title: string
  readonly rows: readonly { readonly name: string; readonly amount_microdollars: number }[]
}

/** Content of a document, as it is stored and shown. */
export interface DocumentContent {
  readonly supplier: Party
  readonly customer: Party
  readonly currency: 'USD'
  /** UTC days, inclusive; null if the document is about a single entry. */
  readonly period: { readonly from: string; readonly to: string } | null
  /** Day of the supply or payment. */
  readonly day: string
  /** Number of the receipt that a credit note corrects. */
  readonly preceding: string | null
  /** Transaction on chain that paid it. */
  readonly transaction: string | null
  readonly lines: readonly DocumentLine[]
  readonly totals: Pick<
    DocumentLine,
    'net_microdollars' | 'tax_microdollars' | 'gross_microdollars'
  >
  readonly tables: readonly DocumentTable[]
  readonly notes: readonly string[]
}

export interface IssuedDocument {
  readonly kind: DocumentKind
  /** Number with its series, such as `PUR-2026-000001`. */
  readonly number: string
  readonly subject: string
  readonly principal: string
  readonly issuedAt: Date
  readonly content: DocumentContent
}

/** Formats the number of a document: `documentNumber('PUR-2026', 1n)` is `PUR-2026-000001`. */
export const documentNumber = (series: string, number: bigint): string =>
  `${series}-${String(number).padStart(6, '0')}`

const BPS_PER_WHOLE = 10_000n

/** Line for an amount that includes tax. The net amount is rounded half up. */
export function documentLine(
  line: Pick<DocumentLine, 'description' | 'quantity' | 'tax' | 'ledger'>,
  gross: bigint,
): DocumentLine {
  const whole = BPS_PER_WHOLE + BigInt(line.tax.rate_bps)
  const absolute = gross < 0n ? -gross : gross
  const rounded = (2n * absolute * BPS_PER_WHOLE + whole) / (2n * whole)
  const net = gross < 0n ? -rounded : rounded
  return {
    ...line,
    net_microdollars: json(net),
    tax_microdollars: json(gross - net),
    gross_microdollars: json(gross),
  }
}

const AMOUNTS = ['net_microdollars', 'tax_microdollars', 'gross_microdollars'] as const

/** Sums the lines of a document. */
export const totalsOf = (lines: readonly DocumentLine[]): DocumentContent['totals'] => {
  const [net, tax, gross] = AMOUNTS.map((name) =>
    json(lines.reduce((sum, line) => sum + BigInt(line[name]), 0n)),
  ) as [number, number, number]
  return { net_microdollars: net, tax_microdollars: tax, gross_microdollars: gross }
}
