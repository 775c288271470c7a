import { expect } from 'chai'
import type { DocumentContent, Party, Tax } from '../../../core/finance/documents/document.ts'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { createStaff, type Json } from '../staff/fixture.ts'
import { createAdmin } from './finance/fixture.ts'

const CUSTOMER: Party = {
  legal_name: 'Ada Ltd',
  email: 'invoices@ada.example',
  address: null,
  country: 'DE',
  registration: null,
  tax_id: null,
}
const supplier: Party = { ...CUSTOMER, country: 'PL', tax_id: 'PL5260001246' }
const tax: Tax = { category: 'S', rate_bps: 2_300, reason: null }

type Document = DocumentContent & { readonly number: string }

describe('documents of a platform in the EU', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], documents: { supplier, tax } } })

  it('state reverse charge to EU businesses abroad, no VAT outside the EU, else VAT', async () => {
    const fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    const { apiKey: key, client, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const send = (path: string, body: Json, method = 'POST') =>
      ask(hub().url, path, { key, body, method })
    const issue = async (kind: string, id: string): Promise<Document> => {
      const { status, body, text } = await send('/v1/documents', { kind, id })
      expect(status, text).to.equal(201)
      return body as unknown as Document
    }
    const receipts: (Document & { readonly id: string })[] = []
    for (const [country, tax_id, category, amount] of [
      ['DE', 'DE136695976', 'AE', 0],
      ['DE', null, 'S', 19],
      ['DE', 'FR40303265045', 'S', 19],
      ['PL', 'PL8567346215', 'S', 19],
      ['MC', 'FR40303265045', 'AE', 0],
      ['MC', null, 'S', 19],
      ['US', '12-3456789', 'O', 0],
    ] as const) {
      const { callId: id = '' } = await client.call('echo', '/say', { words: 'hi' })
      await send('/v1/billing', { ...CUSTOMER, country, tax_id }, 'PUT')
      const receipt = await issue('call', id)
      const { tax_microdollars, gross_microdollars } = receipt.totals
      expect([tax_microdollars, gross_microdollars]).to.deep.equal([amount, 100])
      expect(receipt.lines[0]!.tax.category, `${country} ${tax_id}`).to.equal(category)
      receipts.push({ ...receipt, id })
    }
    const [{ id, customer, lines }] = receipts as [(typeof receipts)[number]]
    const body = { amount_microdollars: 40, reason: 'a test' }
    expect((await fay.ask(`/v1/finance/calls/${id}/refund`, { body })).status).to.equal(200)
    const note = await issue('credit-note', id)
    expect(note.customer, 'as in its receipt').to.deep.equal(customer)
    expect(note.lines[0]!.tax).to.deep.equal(lines[0]!.tax)
    const xml = (await ask(hub().url, `/v1/documents/${note.number}/ubl`, { key })).text
    for (const text of ['>AE<', '>Reverse charge', '>PL5260001246<', '>DE136695976<'])
      expect(xml).to.include(text)
  })
})
