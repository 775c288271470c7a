import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import nock from 'nock'
import { findProof, PROOF_FILE, proofToken } from '../../../../core/catalog/listings/ownership.ts'
import type { Egress } from '../../../../core/egress/http.ts'
import { createEgress } from '../../../../core/egress/egress.ts'
import { openNameServer } from '../../../support/name-server.ts'
import { openSites, type Sites } from '../fixture.ts'

const SECRET = Buffer.alloc(32, 7)
const ORIGIN = 'http://shop.test'
const NAME = '_agenthub.shop.test'
const TOKEN = proofToken(SECRET, 'ada', 'shop.test')
const RECORD = `agenthub-verification=${TOKEN}`

describe('the proof that a host is somebody’s, by its name server', () => {
  let names: Awaited<ReturnType<typeof openNameServer>>
  let sites: Sites
  let egress: Egress
  before(async () => {
    nock.restore()
    names = await openNameServer()
    sites = await openSites()
    egress = createEgress({ sandboxHosts: sites.sandboxHosts, userAgent: 'AgentHub/0' })
  })
  beforeEach(() => {
    names.records.clear()
    names.asked.length = 0
  })
  after(async () => {
    names.close()
    sites.close()
    await egress.close()
    nock.activate()
  })

  const prove = (token = TOKEN) => {
    sites.at('shop.test', (_, response) => response.writeHead(404).end())
    const resolveTxt = (name: string) => names.resolver.resolveTxt(name)
    return findProof({ pool: {} as never, egress, secret: SECRET, resolveTxt }, ORIGIN, token)
  }

  it('is a TXT record of a name of its own below the host', async () => {
    names.records.set(NAME, [[RECORD]])
    expect(await prove()).to.equal('dns')
    expect(names.asked).to.include(NAME)
  })

  it('may stand among others, and be cut in strings as long records are', async () => {
    const cut = [RECORD.slice(0, 30), RECORD.slice(30)]
    names.records.set(NAME, [['v=spf1 -all'], ['x'.repeat(255), 'y'], cut])
    expect(await prove()).to.equal('dns')
  })

  const others: Readonly<Record<string, readonly (readonly string[])[]>> = {
    'there is no such name': [],
    'it is of somebody else': [[`agenthub-verification=${proofToken(SECRET, 'eve', 'shop.test')}`]],
    'it is for another host': [[`agenthub-verification=${proofToken(SECRET, 'ada', 'x.test')}`]],
    'it says more': [[`${RECORD} and more`]],
    'it is the token alone': [[TOKEN]],
  }
  for (const [title, records] of Object.entries(others)) {
    it(`is none where ${title}`, async () => {
      if (records.length > 0) names.records.set(NAME, records)
      expect(await prove()).to.equal(undefined)
    })
  }

  it('is taken from the first place that shows it; slower ones are not waited for', async () => {
    const front = Promise.withResolvers<ServerResponse>()
    sites.at('shop.test', (request, response) => {
      if (request.url === PROOF_FILE) return void response.end(TOKEN)
      front.resolve(response) // and is never answered
    })
    const resolveTxt = () => new Promise<never>(() => undefined)
    const ports = { pool: {} as never, egress, secret: SECRET, resolveTxt }
    const proof = findProof(ports, ORIGIN, TOKEN)
    const response = await front.promise
    expect(await proof).to.equal('file')
    expect(response.closed, 'given up before the answer').to.equal(false)
    await once(response, 'close')
  })

  it('is none at the host itself, whose records others may write', async () => {
    names.records.set('shop.test', [[RECORD]])
    expect(await prove()).to.equal(undefined)
  })
})
