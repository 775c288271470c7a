import { expect } from 'chai'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'

const OFFER = {
  scheme: 'exact',
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  amount: '1000',
  payTo: '0x52E29e0d2Aa49bfBfC548C0A9F2196F4aa51f3ea',
}

function categoryOf(path: string, description: string, more: object = {}): string {
  const resource = `https://pipework.com${path}`
  const result = normalizeRow({ resource, description, accepts: [OFFER], ...more }, {})
  return 'candidate' in result ? result.candidate.category : result.reason
}

describe('categories of listings', () => {
  for (const [path, description, category] of [
    ['/api/v1/7', 'Rainfall and temperatures for the coming week', 'weather'],
    ['/api/tax', 'VAT rates by state for accountants', 'finance'],
    ['/v2/pools', 'Liquidity and swaps of a decentralized exchange', 'crypto'],
    ['/api/lookup', 'Exploited vulnerabilities with patches', 'security'],
    ['/api/portrait', 'Photographs retouched', 'media'],
    ['/api/opinion', 'Sentiment of a paragraph', 'ai'],
    ['/api/stay', 'Hotels and restaurants close to a street', 'location'],
    ['/api/dose', 'Side effects of medicines for patients', 'health'],
    ['/api/send', 'Delivers an email or a text message', 'communication'],
    ['/api/uuid', 'Random identifiers', 'developer'],
  ] as const) {
    it(`is ${category} for "${description}"`, () => {
      expect(categoryOf(path, description)).to.equal(category)
    })
  }

  it('does not follow from api, a version or the host in an address', () => {
    expect(categoryOf('/api/v1/q', 'Xqzt zzzq')).to.equal('other')
  })

  it('does not follow from words for how a service is called', () => {
    const description = 'MCP server with a JSON API, for AI agents: guitar chords'
    expect(categoryOf('/docs/api', description)).to.equal('media')
  })

  it('follows the category in the index rather than a word of the description', () => {
    const metadata = { category: 'Sports & Fitness' }
    const description = 'Connect with the community'
    expect(categoryOf('/api/x9', description, { metadata })).to.equal('health')
  })

  it('follows from the fields of the schema if the texts say nothing', () => {
    const schema = { properties: { input: { properties: { latitude: {}, longitude: {} } } } }
    const extensions = { bazaar: { schema } }
    expect(categoryOf('/api/x9', 'Zzyzx quux', { extensions })).to.equal('location')
  })

  it('is not decided by repeating a word', () => {
    const stuffed = `Currency exchange rates of a bank ${'weather '.repeat(50)}`
    expect(categoryOf('/api/x9', stuffed)).to.equal('finance')
  })
})
