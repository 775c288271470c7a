import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { openTestSites, type TestSites } from '../../core/catalog/fixture.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { WAIVER } from './fixture.ts'

const SIGNATURE = ['signature', 'signature-input', 'signature-agent'] as const

describe('an imported API on the internet', () => {
  let sites: TestSites
  const hub = useHub(async () => {
    sites = await openTestSites()
    return { config: { sandboxHosts: sites.sandboxHosts } }
  })
  after(() => sites.close())

  it('receives signed calls, which share a signature for its host', async () => {
    const { apiKey: key, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const send = async (method: string, path: string, body: unknown) => {
      const { status, text } = await ask(hub().url, `/v1/provider/services${path}`, {
        method,
        key,
        body,
      })
      expect(status, text).to.be.below(300)
    }
    const signaturesOf = async (host: string, slug: string) => {
      sites.at(host, (_, response) => void response.end('{}'))
      const about = { name: 'Acme', category: 'data', summary: 'Made by a test.' }
      await send('POST', '', { slug, ...about, base_url: `http://${host}` })
      const priced = { summary: 'Does it.', price_microdollars: 1_000 }
      const endpoints = ['/a', '/b'].map((path) => ({ method: 'GET', path, ...priced }))
      await send('PUT', `/${slug}/endpoints`, { endpoints })
      await send('POST', `/${slug}/activate`, WAIVER)
      const signatures: unknown[] = []
      for (const path of ['/a', '/b']) {
        const { status, text } = await ask(hub().url, `/proxy/${slug}${path}`, { key })
        expect(status, text).to.equal(200)
        const { headers } = sites.last
        signatures.push(SIGNATURE.map((name) => headers[name]))
        expect(headers['signature-agent']).to.equal(`sig1="${hub().url}"`)
      }
      return signatures
    }
    const [first, second] = await signaturesOf('shop.test', 'first')
    expect(second).to.deep.equal(first)
    const [other] = await signaturesOf('other.test', 'other')
    expect(other).not.to.deep.equal(first)
  })
})
