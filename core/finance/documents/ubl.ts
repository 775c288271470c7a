import type { Invoice } from '@e-invoice-eu/core'
import { dayName } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import { decimal } from '../../money.ts'
import { visibleJson } from '../../text.ts'
import type { DocumentLine, IssuedDocument, Party, Tax } from './document.ts'
import { isVatId } from './party.ts'

type Ubl = Invoice['ubl:Invoice']

const CURRENCY = 'USD'
const TYPE_CODES = { invoice: '380', creditNote: '381' } as const
const VAT = { 'cac:TaxScheme': { 'cbc:ID': 'VAT' } } as const
/** UN/ECE Recommendation 20: one piece. */
const PIECE = 'C62'
const MICROS_PER_CENT = 10_000n
const BPS_PER_WHOLE = 10_000n

/**
 * Serializes a document as an EN 16931 invoice or credit note in UBL 2.1. The standard allows two
 * decimals: net amounts of lines are rounded half up, and the rounding amount (BT-114) makes up the
 * difference to what was paid. Each line names its exact amount and its journal entries.
 * @throws Fault `document_not_available` if tax is stated without a VAT identifier of the supplier
 */
export async function toUbl(document: IssuedDocument): Promise<string> {
  const { InvoiceService } = await import('@e-invoice-eu/core') // large, and rarely needed
  const logger = { log: ignore, warn: ignore, error: ignore }
  const service = new InvoiceService(logger)
  // XML cannot express most controls and two noncharacters.
  const content = visibleJson(document.content)
  const invoice = { 'ubl:Invoice': toInvoice({ ...document, content }) }
  return String(await service.generate(invoice, { format: 'UBL', lang: 'en', noWarnings: true }))
}

const ignore = (): void => {}

function toInvoice({ kind, number, issuedAt, content }: IssuedDocument): Ubl {
  const { supplier, customer, period, preceding, notes, day } = content
  const isTaxed = content.lines.some(({ tax }) => tax.category !== 'O')
  if (isTaxed && !isVatId(supplier.tax_id)) {
    throw new Fault(
      'document_not_available',
      'An electronic invoice with VAT requires a VAT identifier of the supplier: download the PDF.',
    )
  }
  const lines = content.lines.map(toLine)
  const { taxTotal, totals } = sumsOf(content.lines, content.totals.gross_microdollars)
  return {
    'cbc:CustomizationID': 'urn:cen.eu:en16931:2017',
    'cbc:ID': number,
    'cbc:IssueDate': dayName(issuedAt),
    'cbc:InvoiceTypeCode': kind === 'credit-note' ? TYPE_CODES.creditNote : TYPE_CODES.invoice,
    ...(notes.length > 0 && { 'cbc:Note': [notes.join(' ')] }),
    'cbc:DocumentCurrencyCode': CURRENCY,
    'cac:InvoicePeriod': {
      'cbc:StartDate': period?.from ?? day,
      'cbc:EndDate': period?.to ?? day,
    },
    ...(preceding !== null && {
      'cac:BillingReference': [{ 'cac:InvoiceDocumentReference': { 'cbc:ID': preceding } }],
    }),
    'cac:AccountingSupplierParty': { 'cac:Party': toSupplier(supplier, isTaxed) },
    'cac:AccountingCustomerParty': { 'cac:Party': toParty(customer, isTaxed) },
    'cac:TaxTotal': [taxTotal],
    'cac:LegalMonetaryTotal': totals,
    'cac:InvoiceLine': lines,
  } as unknown as Ubl // validated by the schema of the library
}

/** A party without VAT identifier if nothing is taxed (BR-O-02 to BR-O-04). */
const toParty = (party: Party, isTaxed: boolean) => {
  const { legal_name: name, email, address, country, registration, tax_id } = party
  return {
    'cbc:EndpointID': email,
    'cbc:EndpointID@schemeID': 'EM',
    'cac:PostalAddress': {
      ...(address !== null && { 'cbc:StreetName': address }),
      'cac:Country': { 'cbc:IdentificationCode': country },
    },
    ...(isTaxed &&
      isVatId(tax_id) && { 'cac:PartyTaxScheme': { 'cbc:CompanyID': tax_id, ...VAT } }),
    'cac:PartyLegalEntity': {
      'cbc:RegistrationName': name,
      ...(registration !== null && { 'cbc:CompanyID': registration }),
    },
  }
}

/** The supplier is identified by its VAT identifier, its registration or its address (BR-CO-26). */
function toSupplier(party: Party, isTaxed: boolean) {
  const { 'cac:PartyTaxScheme': vat, ...rest } = toParty(party, isTaxed)
  return {
    'cac:PartyIdentification': [{ 'cbc:ID': party.registration ?? party.email }],
    ...rest,
    ...(vat && { 'cac:PartyTaxScheme': [vat] }),
  }
}

function toLine(line: DocumentLine, index: number) {
  const net = toCents(line.net_microdollars)
  const count = line.quantity < 0 ? -line.quantity : line.quantity
  const isNegative = net < 0n
  const ranges = line.ledger.map(
    ({ shard, from_seq: from, to_seq: to }) => `${shard}/${from}${to === from ? '' : `-${to}`}`,
  )
  return {
    'cbc:ID': String(index + 1),
    'cbc:InvoicedQuantity': String(isNegative ? -count : count),
    'cbc:InvoicedQuantity@unitCode': PIECE,
    'cbc:LineExtensionAmount': cents(net),
    'cbc:LineExtensionAmount@currencyID': CURRENCY,
    'cac:Item': {
      'cbc:Name': line.description,
      'cac:ClassifiedTaxCategory': taxCategory(line.tax),
      'cac:AdditionalItemProperty': [
        { 'cbc:Name': 'Exact amount (USD)', 'cbc:Value': decimal(BigInt(line.gross_microdollars)) },
        { 'cbc:Name': 'Journal entries', 'cbc:Value': ranges.join(' ') },
      ],
    },
    'cac:Price': {
      'cbc:PriceAmount': cents(isNegative ? -net : net),
      'cbc:PriceAmount@currencyID': CURRENCY,
      'cbc:BaseQuantity': String(count),
      'cbc:BaseQuantity@unitCode': PIECE,
    },
  }
}

/** Category with its rate; outside the scope of VAT there is none (BR-O-05). */
const taxCategory = ({ category, rate_bps: rate }: Tax) => ({
  'cbc:ID': category,
  ...(category !== 'O' && { 'cbc:Percent': percent(rate) }),
  ...VAT,
})

const percent = (bps: number): string =>
  `${Math.trunc(bps / 100)}.${String(bps % 100).padStart(2, '0')}`

function sumsOf(lines: readonly DocumentLine[], paidMicros: number) {
  const groups = Map.groupBy(lines, ({ tax }) => `${tax.category} ${tax.rate_bps}`)
  const breakdown = [...groups.values()].map((some) => {
    const reasons = new Set(some.flatMap(({ tax: { reason } }) => reason ?? []))
    const tax = { ...some[0]!.tax, reason: reasons.size > 0 ? [...reasons].join('; ') : null }
    const taxable = some.reduce((sum, line) => sum + toCents(line.net_microdollars), 0n)
    return { tax, taxable, amount: roundHalfUp(taxable * BigInt(tax.rate_bps), BPS_PER_WHOLE) }
  })
  const net = breakdown.reduce((sum, { taxable }) => sum + taxable, 0n)
  const taxes = breakdown.reduce((sum, { amount }) => sum + amount, 0n)
  const paid = toCents(paidMicros)
  const rounding = paid - net - taxes
  const taxTotal = {
    ...amount('cbc:TaxAmount', taxes),
    'cac:TaxSubtotal': breakdown.map((each) => ({
      ...amount('cbc:TaxableAmount', each.taxable),
      ...amount('cbc:TaxAmount', each.amount),
      'cac:TaxCategory': {
        ...taxCategory(each.tax),
        ...(each.tax.reason !== null && { 'cbc:TaxExemptionReason': each.tax.reason }),
      },
    })),
  }
  const totals = {
    ...amount('cbc:LineExtensionAmount', net),
    ...amount('cbc:TaxExclusiveAmount', net),
    ...amount('cbc:TaxInclusiveAmount', net + taxes),
    ...amount('cbc:PrepaidAmount', paid),
    ...(rounding !== 0n && amount('cbc:PayableRoundingAmount', rounding)),
    ...amount('cbc:PayableAmount', 0n),
  }
  return { taxTotal, totals }
}

const amount = (name: string, value: bigint): Record<string, string> => ({
  [name]: cents(value),
  [`${name}@currencyID`]: CURRENCY,
})

const toCents = (micros: number): bigint => roundHalfUp(BigInt(micros), MICROS_PER_CENT)

/** Divides and rounds half away from zero. */
function roundHalfUp(value: bigint, divisor: bigint): bigint {
  const absolute = value < 0n ? -value : value
  const rounded = (2n * absolute + divisor) / (2n * divisor)
  return value < 0n ? -rounded : rounded
}

/** Formats cents: `cents(-5n)` is `-0.05`. */
const cents = (value: bigint): string => decimal(value * MICROS_PER_CENT).slice(0, -4)
