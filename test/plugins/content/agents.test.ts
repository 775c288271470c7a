import { expect } from 'chai'
import { verifySignature, webcrypto } from 'http-message-sig'
import { paths } from '../../core/catalog/fixture.ts'
import { AGENT, directory, newAgentKey, signatureOf } from '../../stories/agent-keys.ts'
import { ask } from '../../support/ask.ts'
import { article, HOST, html, TEXT, useOwner } from './fixture.ts'

const DIRECTORY = '/.well-known/http-message-signatures-directory'
const OTHER = 'index.test'
const LICENSOR = 'shop.test'
const LICENSE = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>
  <payment type="use"/></license></content></rsl>`
const FAST = { fast: true, max_age_seconds: 0 }
const RULES = [
  { path: '/**', price_microdollars: 5_000, ...FAST },
  { path: '/**', agents: [AGENT], price_microdollars: 1_000, ...FAST },
  { path: '/**', agents: [OTHER], action: 'deny' },
  { path: '/members/**', action: 'deny' },
  { path: '/signed/**', action: 'deny', agents: [] },
  { path: '/signed/**', agents: ['*'], price_microdollars: 2_000, ...FAST },
  { path: '/app', price_microdollars: 3_000, max_age_seconds: 0 },
  { path: '/two words/*', price_microdollars: 0, ...FAST },
]

describe('pages sold by agent', () => {
  const world = useOwner()
  const key = newAgentKey()
  let slug = ''
  let id = ''
  const received: Request[] = []
  before(async () => {
    const page = html(article('The frozen harbour', TEXT))
    const pages = ['/', '/members/letter', '/signed/page', '/app', '/two%20words/page']
    const serve: typeof page = (request, response) => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
      received.push(new Request(`http://${HOST}${request.url}`, { headers: headers as [] }))
      page(request, response)
    }
    const sold = await world.sell(RULES, {
      ...Object.fromEntries(pages.map((path) => [path, serve])),
      '/robots.txt': (_, response) => response.end(`License: http://${LICENSOR}/license.xml`),
    })
    slug = sold.slug
    id = sold.id
    world.sites.at(LICENSOR, (_, response) => response.end(LICENSE))
    for (const name of [AGENT, OTHER]) {
      world.sites.at(name, paths({ [DIRECTORY]: directory(key) }))
    }
  })

  const read = (path: string, agent?: string) => {
    const { host } = new URL(world.hub.url)
    const headers = agent ? signatureOf({ key, host, agent: `"http://${agent}"` }) : {}
    return world.read(slug, `http://${HOST}${path}`, { headers })
  }
  const costs = async (path: string, agent?: string) => {
    const { status, headers, body } = await read(path, agent)
    return status === 200 ? headers['x-charged-microdollars'] : body['code']
  }

  it('cost what the rule for the agent says, or that for everyone', async () => {
    expect(await costs('/', AGENT)).to.equal('1000')
    expect(await costs('/')).to.equal('5000')
  })

  it('A313 are refused to an agent that a rule denies, also where others buy them', async () => {
    expect(await costs('/', OTHER)).to.equal('page_denied')
    expect(await costs('/app', OTHER)).to.equal('page_denied')
  })

  it('stay closed to agents with a price for less specific pages', async () => {
    expect(await costs('/members/letter', AGENT)).to.equal('page_denied')
  })

  it('may be for verified agents alone', async () => {
    expect(await costs('/signed/page', AGENT)).to.equal('2000')
    expect(await costs('/signed/page')).to.equal('page_denied')
  })

  it('cost what everyone pays if the signature is a repetition', async () => {
    const { host } = new URL(world.hub.url)
    const headers = signatureOf({ key, host })
    const buy = () => world.read(slug, `http://${HOST}/`, { headers })
    const charged = (await Promise.all([buy(), buy(), buy()])).map(
      (response) => response.headers['x-charged-microdollars'],
    )
    expect(charged).to.have.members(['1000', '5000', '5000'])
  })

  it('are shown to their owner with the rule of an agent', async () => {
    const tried = (agent?: string) =>
      world.send('POST', `/v1/domains/${id}/rules/try`, { url: `http://${HOST}/`, agent })
    expect((await tried(AGENT)).body['rule']).to.include({ price_microdollars: 1_000 })
    expect((await tried()).body['rule']).to.include({ price_microdollars: 5_000 })
    expect((await tried(OTHER)).body['outcome']).to.equal('page_denied')
  })

  it('refuse duplicate rules and agents that are not hosts', async () => {
    const put = (...rules: object[]) => world.send('PUT', `/v1/domains/${id}/rules`, { rules })
    const one = { path: '/**', agents: ['B.example', 'a.example'], action: 'deny' }
    const same = { path: '/**', agents: ['a.example', 'b.example'], action: 'deny' }
    const twice = await put(one, same)
    expect([twice.status, twice.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 422 && text.includes('is a duplicate'),
    )
    for (const agent of ['http://a.example', 'a', 'a.example:8080', '**', 'a b.example']) {
      expect((await put({ path: '/**', agents: [agent], action: 'deny' })).status).to.equal(422)
    }
  })

  it('have their terms for everyone as RSL, to which delivered pages refer', async () => {
    const { headers } = await read('/')
    const link = `${world.hub.url}/proxy/${slug}/license.xml`
    expect(headers['link']).to.equal(`<${link}>; rel="license"; type="application/rsl+xml"`)
    const license = await ask(world.hub.url, `/proxy/${slug}/license.xml`)
    expect(license.status, license.text).to.equal(200)
    expect(license.headers).to.include({ 'content-type': 'application/rsl+xml' })
    expect(license.headers['x-charged-microdollars']).to.equal('0')
    const contents = license.text.match(/<content [^]*?<\/content>/g)!
    const of = (path: string) =>
      contents.find((each) => each.includes(`url="http://${HOST}${path}"`))
    expect(contents).to.have.length(5)
    expect(of('/*')).to.include('<amount currency="USD">0.005000</amount>')
    expect(of('/members/*')).to.include('<prohibits type="usage">all</prohibits>')
    expect(of('/app$')).to.include('<payment type="crawl">')
    expect(of('/two%20words/*')).to.include('<payment type="free"/>')
    expect(license.text).not.to.include(AGENT)
  })

  it('are not given away if the site names a license that wants a payment', async () => {
    received.length = 0
    const { status, body } = await read('/two%20words/page')
    expect([status, body['reason'], received.length]).to.deep.equal([422, 'page_reserved', 0])
    expect(await costs('/')).to.equal('5000')
  })

  it('are read by requests that the hub signs, with and without a browser', async () => {
    const { body, headers } = await ask(world.hub.url, DIRECTORY)
    expect(headers['content-type']).to.include('http-message-signatures-directory+json')
    const [jwk] = body['keys'] as import('node:crypto').webcrypto.JsonWebKey[]
    const key = await crypto.subtle.importKey('jwk', jwk!, 'Ed25519', true, ['verify'])
    for (const path of ['/', '/app']) {
      received.length = 0
      expect((await read(path)).status).to.equal(200)
      expect(received[0]!.headers.get('signature-agent')).to.equal(`sig1="${world.hub.url}"`)
      await verifySignature(received[0]!, {
        policy: {
          algorithms: ['ed25519'],
          requiredComponents: ['@authority'],
          requiredParameters: ['created', 'expires', 'keyid', 'nonce', 'tag'],
        },
        resolveVerifier: () => webcrypto.verifier(key),
      })
    }
  })
})
