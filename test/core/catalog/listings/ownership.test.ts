import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import nock from 'nock'
import { findProof, PROOF_FILE } from '../../../../core/catalog/listings/find-proof.ts'
import { proofToken } from '../../../../core/catalog/listings/ownership.ts'
import { createEgress } from '../../../../core/egress/egress.ts'
import type { Egress } from '../../../../core/egress/http.ts'
import { singleKey } from '../../../../core/secret-keys/purpose-keys.ts'
import { openNameServer } from '../../../support/name-server.ts'
import { openTestSites, type SiteHandler, type TestSites } from '../fixture.ts'

const SECRET = Buffer.alloc(32, 7)
const ORIGIN = 'http://shop.test'
const NAME = '_agenthub.shop.test'
const TOKEN = proofToken(SECRET, 'ada', 'shop.test')
const RECORD = `agenthub-verification=${TOKEN}`

describe('the proof of ownership of a host by DNS', () => {
  let names: Awaited<ReturnType<typeof openNameServer>>
  let sites: TestSites
  let egress: Egress
  before(async () => {
    nock.restore()
    names = await openNameServer()
    sites = await openTestSites()
    egress = createEgress({ sandboxHosts: sites.sandboxHosts, userAgent: 'AgentHub/0' })
  })
  beforeEach(() => {
    names.records.clear()
    names.queries.length = 0
  })
  after(async () => {
    names.close()
    sites.close()
    await egress.close()
    nock.activate()
  })

  const prove = async (token = TOKEN) => {
    sites.at('shop.test', (_, response) => response.writeHead(404).end())
    const resolveTxt = (name: string) => names.resolver.resolveTxt(name)
    const proofKeys = singleKey(SECRET)
    const deps = { pool: {} as never, egress, proofKeys, resolveTxt }
    return (await findProof(deps, ORIGIN, [{ version: 1, token }])).proof?.method
  }

  it('is a TXT record of a dedicated name below the host', async () => {
    names.records.set(NAME, [[RECORD]])
    expect(await prove()).to.equal('dns')
    expect(names.queries).to.include(NAME)
  })

  it('may be one of several records, and split into strings', async () => {
    const cut = [RECORD.slice(0, 30), RECORD.slice(30)]
    names.records.set(NAME, [['v=spf1 -all'], ['x'.repeat(255), 'y'], cut])
    expect(await prove()).to.equal('dns')
  })

  const others: Readonly<Record<string, readonly (readonly string[])[]>> = {
    'the name does not exist': [],
    'the token is that of another principal': [
      [`agenthub-verification=${proofToken(SECRET, 'eve', 'shop.test')}`],
    ],
    'the token is for another host': [
      [`agenthub-verification=${proofToken(SECRET, 'ada', 'x.test')}`],
    ],
    'the record has more text': [[`${RECORD} and more`]],
    'the record is only the token': [[TOKEN]],
  }
  for (const [title, records] of Object.entries(others)) {
    it(`is missing if ${title}`, async () => {
      if (records.length > 0) names.records.set(NAME, records)
      expect(await prove()).to.equal(undefined)
    })
  }

  /** Problems of file and meta tag, if the host answers so. */
  const problemsOf = async (site: SiteHandler) => {
    sites.at('shop.test', site)
    const deps = { egress, resolveTxt: async () => [] }
    const search = await findProof(deps, ORIGIN, [{ version: 1, token: TOKEN }])
    return search.proof ? search.proof.method : search.missing.map(({ problem }) => problem)
  }
  const NO_RECORD = `No TXT record of ${NAME} was found.`

  it('is explained, where it is missing, by what the hub saw there', async () => {
    const moved = await problemsOf((_, response) =>
      response.writeHead(301, { Location: 'http://www.shop.test/start' }).end(),
    )
    const advice =
      'The site redirects to http://www.shop.test/start, which the hub does not follow. ' +
      'If your pages are there, add the domain www.shop.test instead.'
    expect(moved).to.deep.equal([advice, advice, NO_RECORD])
    const others = await problemsOf((_, response) => response.end('another token'))
    expect(others).to.deep.equal([
      'The file has no line that is the token.',
      'The head of the page has no meta tag agenthub-verification with the token.',
      NO_RECORD,
    ])
    const blocked = await problemsOf((_, response) => response.writeHead(403).end())
    expect(blocked).to.deep.equal(['The site answered 403.', 'The site answered 403.', NO_RECORD])
    const disconnectProblems = await problemsOf((request) => request.socket.destroy())
    const unreachable = 'The destination could not be reached.'
    expect(disconnectProblems).to.deep.equal([unreachable, unreachable, NO_RECORD])
  })

  it('is found in a home page that is large, or elsewhere on the host', async () => {
    const meta = `<meta name="agenthub-verification" content="${TOKEN}">`
    const page = `<head>${meta}</head><body>${'x'.repeat(2_000_000)}</body>`
    const found = await problemsOf(({ url }, response) => {
      if (url === '/en/') response.end(page)
      else if (url === '/') response.writeHead(302, { Location: '/en/' }).end()
      else response.writeHead(404).end()
    })
    expect(found).to.equal('meta')
  })

  it('is not looked for along an endless chain of redirects', async () => {
    const [, meta] = await problemsOf(({ url }, response) =>
      response.writeHead(302, { Location: `${url}x` }).end(),
    )
    expect(meta).to.match(/redirects to .*\/xxxx, which the hub does not follow\.$/)
  })

  it('is accepted from the first place that has it, without waiting for slower ones', async () => {
    const front = Promise.withResolvers<ServerResponse>()
    sites.at('shop.test', (request, response) => {
      if (request.url === PROOF_FILE) return void response.end(TOKEN)
      front.resolve(response) // never answered
    })
    const resolveTxt = () => new Promise<never>(() => undefined)
    const deps = { pool: {} as never, egress, proofKeys: singleKey(SECRET), resolveTxt }
    const proof = findProof(deps, ORIGIN, [{ version: 1, token: TOKEN }])
    const response = await front.promise
    expect((await proof).proof).to.deep.equal({ method: 'file', version: 1 })
    expect(response.closed, 'still open when the proof is found').to.equal(false)
    await once(response, 'close')
  })

  it('is not accepted at the host itself, whose records others may write', async () => {
    names.records.set('shop.test', [[RECORD]])
    expect(await prove()).to.equal(undefined)
  })
})
