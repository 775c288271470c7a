import { expect } from 'chai'
import { readConfig } from '../../../core/config.ts'

describe('the settings of documents', () => {
  it('state the VAT identifier by which a sandbox charges VAT, and no real address', () => {
    const vat = { HUB_TAX_CATEGORY: 'S', HUB_TAX_RATE: '19', HUB_LEGAL_TAX_ID: 'DE136695976' }
    const place = { HUB_LEGAL_ADDRESS: 'Main Street 1, Bonn', HUB_LEGAL_REGISTRATION: 'HRB 1' }
    const { supplier, tax } = readConfig({ ...vat, ...place }).documents
    expect(supplier).to.deep.equal({
      legal_name: 'AgentHub sandbox (test money)',
      email: 'sandbox@agenthub.example',
      country: 'US',
      address: null,
      registration: null,
      tax_id: 'DE136695976',
    })
    expect(tax).to.deep.equal({ category: 'S', rate_bps: 1_900, reason: null })
  })
})
