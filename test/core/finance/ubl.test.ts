import { invoiceSchema } from '@e-invoice-eu/core'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { Fault } from '../../../core/errors.ts'
import {
  type DocumentLine,
  type IssuedDocument,
  type Party,
  TAX_CATEGORIES,
  type Tax,
} from '../../../core/finance/documents/document.ts'
import { isCountry, isVatId } from '../../../core/finance/documents/party.ts'
import { taxOfCall } from '../../../core/finance/documents/statement-content.ts'
import { toUbl } from '../../../core/finance/documents/ubl.ts'

const PARTY = { email: 'a@house.example', address: null, country: 'DE', registration: null }
const SUPPLIER: Party = { ...PARTY, legal_name: 'Platform', tax_id: 'DE123456789' }
const CUSTOMER: Party = { ...PARTY, legal_name: 'Ada', tax_id: 'EL123456789' }
const DAY = '2026-10-15'

type Amounts = Pick<DocumentLine, 'net_microdollars' | 'tax_microdollars' | 'gross_microdollars'>

const split = (gross: number, { rate_bps: rate }: Tax): Amounts => {
  const net = Math.round((gross * 10_000) / (10_000 + rate))
  return { net_microdollars: net, tax_microdollars: gross - net, gross_microdollars: gross }
}

function documentOf(
  lines: readonly DocumentLine[],
  { kind = 'statement', supplier = SUPPLIER, customer = CUSTOMER }: Changes = {},
): IssuedDocument {
  const total = (name: keyof Amounts) => lines.reduce((sum, line) => sum + line[name], 0)
  return {
    kind,
    number: 'STM-2026-000001',
    subject: 'subject',
    principal: 'principal',
    issuedAt: new Date(`${DAY}T00:00:00Z`),
    content: {
      supplier,
      customer,
      currency: 'USD',
      period: null,
      day: DAY,
      preceding: kind === 'credit-note' ? 'CAL-2026-000001' : null,
      transaction: null,
      lines,
      totals: {
        net_microdollars: total('net_microdollars'),
        tax_microdollars: total('tax_microdollars'),
        gross_microdollars: total('gross_microdollars'),
      },
      tables: [],
      notes: [],
    },
  }
}

interface Changes {
  readonly kind?: IssuedDocument['kind']
  readonly supplier?: Party
  readonly customer?: Party
}

const lineOf = (gross: number, tax: Tax, quantity = 1): DocumentLine => ({
  description: 'echo: calls',
  quantity,
  ...split(gross, tax),
  tax,
  ledger: [{ shard: 0, from_seq: 1, to_seq: 9, entry_id: null }],
})

const taxOf = (category: Tax['category'], rate = 2_300): Tax => ({
  category,
  rate_bps: category === 'S' ? rate : 0,
  reason: category === 'S' || category === 'Z' ? null : 'a reason',
})

/** Texts of all elements by path from the root, such as `LegalMonetaryTotal/PayableAmount`. */
function readXml(xml: string): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, string[]>()
  const path: string[] = []
  const parser = new SaxesParser()
  let text = ''
  parser.on('opentag', ({ name }) => {
    path.push(name.replace(/^[a-z]+:/, ''))
    text = ''
  })
  parser.on('text', (part) => (text += part))
  parser.on('closetag', () => {
    const name = path.slice(1).join('/')
    texts.set(name, [...(texts.get(name) ?? []), text])
    path.pop()
    text = ''
  })
  parser.on('error', (error) => {
    throw error
  })
  parser.write(xml).close()
  return texts
}

describe('an electronic invoice', () => {
  const cents = (amount: string | undefined) => BigInt((amount ?? '0.00').replace('.', ''))
  const sum = (amounts: readonly string[] = []) =>
    amounts.reduce((total, amount) => total + cents(amount), 0n)

  it('adds up by the rules of EN 16931 for any lines, rates and kinds', async () => {
    const gross = fc.integer({ min: -10_000_000, max: 10_000_000 })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...TAX_CATEGORIES),
        fc.integer({ min: 1, max: 10_000 }),
        fc.array(fc.tuple(gross, fc.boolean()), { minLength: 1, maxLength: 5 }),
        fc.constantFrom('statement', 'credit-note', 'call', 'purchase', 'commission'),
        async (category, rate, amounts, kind) => {
          const tax = taxOf(category, rate)
          const lines = amounts.map(([amount, isExternal]) =>
            lineOf(amount, isExternal ? taxOfCall('external')(tax) : tax, amount < 0 ? -2 : 3),
          )
          const document = documentOf(lines, { kind })
          const texts = readXml(await toUbl(document))
          const root = kind === 'credit-note' ? 'CreditNoteLine' : 'InvoiceLine'
          const total = (name: string) => cents(texts.get(`LegalMonetaryTotal/${name}`)?.[0])
          const net = total('LineExtensionAmount')
          expect(sum(texts.get(`${root}/LineExtensionAmount`)), 'BR-CO-10').to.equal(net)
          expect(total('TaxExclusiveAmount'), 'BR-CO-13').to.equal(net)
          const subtotal = (name: string) => texts.get(`TaxTotal/TaxSubtotal/${name}`)
          const taxes = cents(texts.get('TaxTotal/TaxAmount')?.[0])
          expect(sum(subtotal('TaxAmount')), 'BR-CO-14').to.equal(taxes)
          expect(sum(subtotal('TaxableAmount')), 'BR-S-08').to.equal(net)
          expect(total('TaxInclusiveAmount'), 'BR-CO-15').to.equal(net + taxes)
          const due = net + taxes - total('PrepaidAmount') + total('PayableRoundingAmount')
          expect(total('PayableAmount'), 'BR-CO-16').to.equal(due)
          const paid = document.content.totals.gross_microdollars
          expect(Number(total('PrepaidAmount')), 'paid').to.be.closeTo(paid / 10_000, 0.5)
          const categories = new Set(subtotal('TaxCategory/ID'))
          expect(categories.has('O') && categories.size > 1, 'BR-O-11').to.equal(false)
          const percents = subtotal('TaxCategory/Percent')
          expect(percents === undefined, 'BR-O-05').to.equal(categories.has('O'))
          const reasons = subtotal('TaxCategory/TaxExemptionReason') ?? []
          const exempt = [...categories].filter((each) => each !== 'S' && each !== 'Z')
          expect(reasons, 'BR-AE-10, BR-E-10, BR-O-10').to.have.length(exempt.length)
          const vatIds = ['Supplier', 'Customer'].flatMap(
            (role) => texts.get(`Accounting${role}Party/Party/PartyTaxScheme/CompanyID`) ?? [],
          )
          const expected = category === 'O' ? [] : [SUPPLIER.tax_id, CUSTOMER.tax_id]
          expect(vatIds, 'BR-O-02, BR-S-02').to.deep.equal(expected)
        },
      ),
      { numRuns: 15 },
    )
  })

  it('states countries and VAT identifiers that EN 16931 knows, and no others', () => {
    const schema = invoiceSchema as unknown as {
      readonly $defs: {
        readonly codeLists: { readonly ISO3166: { readonly enum: readonly string[] } }
      }
    }
    const known = schema.$defs.codeLists.ISO3166.enum
    const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i))
    const codes = letters.flatMap((a) => letters.map((b) => a + b))
    const countries = codes.filter(isCountry)
    expect(countries).to.deep.equal(known.filter((code) => !['1A', 'XI'].includes(code)).toSorted())
    const prefixes = codes.filter((code) => isVatId(`${code}123`))
    expect(prefixes).to.have.members([...countries, 'EL', 'XI'])
    for (const id of ['DE', 'de123', '12-345', 'XX123', null]) expect(isVatId(id)).to.equal(false)
  })

  it('is well-formed for details with characters that XML cannot express', async () => {
    const names = { legal_name: 'A\u0001d\u000ba <&>', address: '\ufffe1\ud800' }
    const customer = { ...CUSTOMER, ...names, registration: '2\uffff', tax_id: 'US3\ufffe\uffff' }
    const xml = await toUbl(documentOf([lineOf(100, taxOf('S'))], { customer }))
    expect(xml).to.not.match(/[^\P{Cc}\n\r\t]|\p{NChar}/u)
    const texts = readXml(xml)
    const party = 'AccountingCustomerParty/Party'
    const name = texts.get(`${party}/PartyLegalEntity/RegistrationName`)
    expect(name).to.deep.equal(['A d a <&>'])
    expect(texts.get(`${party}/PartyTaxScheme/CompanyID`)).to.deep.equal(['US3'])
  })

  it('is refused if it states tax without a VAT identifier of the supplier', async () => {
    for (const id of [null, '12-3456789']) {
      const supplier = { ...SUPPLIER, tax_id: id }
      const error = await toUbl(documentOf([lineOf(100, taxOf('Z'))], { supplier })).catch(
        (reason: unknown) => reason,
      )
      expect(error).to.be.instanceOf(Fault).and.to.include({ code: 'document_not_available' })
      await toUbl(documentOf([lineOf(100, taxOf('O'))], { supplier }))
    }
  })
})
