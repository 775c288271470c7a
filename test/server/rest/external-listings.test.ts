import { expect } from 'chai'
import { json, paths, type SiteHandler, sells } from '../../core/catalog/fixture.ts'
import { offer } from '../../core/catalog/rows.ts'
import { type Body, useListings } from './listing-fixture.ts'

const RAIN = 'http://shop.test/rain'
const ELSEWHERE = '0x52908400098527886E0F7030069857D2E4169EE7'

type Examined = { url: string; reason: { code: string } | null; lines: Line[]; would_list: boolean }
type Line = { check: string; level: string; message: string }

describe('external listings', () => {
  const fixture = useListings()
  const { post, get, list, rescan } = fixture

  it('include the sample seller from the first start', async () => {
    const { status, body } = await get('/v1/external?host=seller.test')
    expect(status).to.equal(200)
    const data = body['data'] as Body[]
    expect(data.map(({ url }) => url)).to.have.members([
      'http://seller.test/weather',
      'http://seller.test/shout',
    ])
    for (const one of data) expect(one).to.include({ badge: 'external', state: 'active' })
  })

  it('appear once across pages', async () => {
    const seen: unknown[] = []
    let path: string | undefined = '/v1/external?limit=1&host=seller.test'
    while (path) {
      const { body, headers }: Awaited<ReturnType<typeof get>> = await get(path)
      seen.push(...(body['data'] as Body[]).map(({ id }) => id))
      path = /<(.+)>/.exec(String(headers['link'] ?? ''))?.[1]
    }
    expect(new Set(seen).size).to.equal(2)
    expect(seen).to.have.length(2)
  })

  it('are filtered by validated values', async () => {
    const count = async (query: string) =>
      ((await get(`/v1/external?${query}`)).body['data'] as Body[]).length
    expect(await count('category=weather&host=seller.test')).to.equal(1)
    expect(await count('network=eip155:1')).to.equal(0)
    expect(await count('state=down')).to.equal(0)
    expect((await get('/v1/external?state=odd')).status).to.equal(422)
    expect((await get('/v1/external?cursor=odd')).status).to.equal(422)
  })

  it('are 404 for an unknown id', async () => {
    const { status, body } = await get('/v1/external/ext_0000000000000000000000')
    expect([status, body['code']]).to.deep.equal([404, 'listing_not_found'])
  })

  it('are listed and searchable as soon as a URL is submitted', async () => {
    const { id, ...listed } = await list('/flood-gauge-levels')
    expect(listed).to.include({ state: 'active', method: 'GET', price_microdollars: 3_000 })
    const { body } = await get(`/v1/external/${String(id)}`)
    expect(body).to.have.nested.property('sources[0].source', 'submitted')
    expect(body).to.have.nested.property('price_history[0].price_microdollars', 3_000)
    expect(body).to.have.nested.property('probes[0].outcome', 'up')
    expect(body).to.have.nested.property('uptime_history[0].uptime_percentage', 100)
    expect(body['cautions']).to.deep.equal([])
    const { rowCount } = await fixture.hub.hub.pool.query(
      `SELECT FROM hub.search_document WHERE kind = 'external' AND id = $1`,
      [id],
    )
    expect(rowCount).to.equal(1)
  })

  it('use the method that charges, if none is given', async () => {
    const site: SiteHandler = (request, response) =>
      request.method === 'POST' ? sells()(request, response) : response.writeHead(405).end()
    fixture.sites.at('shop.test', paths({ '/posted': site }))
    const { body } = await post('/v1/listings', { url: 'http://shop.test/posted' })
    expect(body).to.have.nested.property('listed[0].method', 'POST')
  })

  it('of an origin are read from its OpenAPI document, with schemas', async () => {
    const openapi: SiteHandler = (_, response) =>
      json(response, {
        info: { title: 'Shop' },
        paths: {
          '/a': {
            get: {
              summary: 'Tells A',
              'x-payment-info': {},
              parameters: [{ name: 'q', in: 'query' }],
            },
          },
          '/tells-b': { post: { responses: { 402: {} } } },
          '/free': { get: {} },
          '/gone': { get: { responses: { 402: {} } } },
        },
      })
    fixture.sites.at(
      'shop.test',
      paths({ '/openapi.json': openapi, '/a': sells(), '/tells-b': sells() }),
    )
    const { status, body } = await post('/v1/listings', { origin: 'http://shop.test' })
    expect(status).to.equal(201)
    const listed = body['listed'] as Body[]
    expect(listed.map(({ name }) => name)).to.deep.equal(['Tells A', 'Tells b'])
    expect(listed[0]).to.have.nested.property('endpoints[0].request_schema.parameters[0].name', 'q')
    expect(listed[0]).to.have.property('provider', 'shop.test')
    const refused = body['refused'] as Examined[]
    expect(refused.map(({ url, reason }) => [url, reason?.code])).to.deep.equal([
      ['http://shop.test/gone', 'not_found'],
    ])
    const { body: detail } = await get(`/v1/external/${String(listed[0]!['id'])}`)
    const urls = (detail['endpoints'] as Body[]).map(({ url }) => url)
    expect(urls).to.include.members(['http://shop.test/a', 'http://shop.test/tells-b'])
  })

  it('of an origin are read from /.well-known/x402, excluding other hosts', async () => {
    const named = ['http://shop.test/w', 'http://other.test/w', 'POST http://shop.test/p', 7]
    const document: SiteHandler = (_, response) => json(response, { version: 1, resources: named })
    fixture.sites.at(
      'shop.test',
      paths({ '/.well-known/x402': document, '/w': sells(), '/p': sells() }),
    )
    const { body } = await post('/v1/listings', { origin: 'shop.test' })
    const listed = (body['listed'] as Body[]).map(
      ({ url, method }) => `${String(method)} ${String(url)}`,
    )
    expect(listed).to.deep.equal(['GET http://shop.test/w', 'POST http://shop.test/p'])
    expect(fixture.sites.visits.some((visit) => visit.includes('other.test'))).to.equal(false)
  })

  describe('are validated line by line', () => {
    const examine = async (body: Body): Promise<Examined> => {
      const { status, body: validation } = await post('/v1/listings/validate', body)
      expect(status, JSON.stringify(validation)).to.equal(200)
      return (validation['resources'] as Examined[])[0]!
    }

    it('without being listed', async () => {
      fixture.sites.at('shop.test', paths({ '/validated': sells() }))
      const validation = await examine({ url: 'http://shop.test/validated' })
      expect(validation.would_list).to.equal(true)
      const checks = validation.lines.map(({ check, level }) => `${check} ${level}`)
      expect(checks).to.include.members(['answer ok', 'offer ok', 'accepts/0 ok', 'input warning'])
      const { body } = await get('/v1/external?host=shop.test&state=all&limit=100')
      const urls = (body['data'] as Body[]).map(({ url }) => url)
      expect(urls).to.not.include('http://shop.test/validated')
    })

    it('naming the invalid entry of an offer', async () => {
      const accepts = [offer({ asset: 'USDC' }), offer({ amount: '$0.01' })]
      fixture.sites.at('shop.test', paths({ '/bad': sells({}, { accepts }) }))
      const validation = await examine({ url: 'http://shop.test/bad' })
      expect(validation.reason?.code).to.equal('price')
      const errors = validation.lines
        .filter(({ level }) => level === 'error')
        .map(({ check }) => check)
      expect(errors).to.deep.equal(['accepts/0', 'accepts/1', 'offer'])
    })

    for (const [url, reason] of [
      ['http://127.0.0.1/x', 'local_host'],
      ['https://169.254.169.254/latest', 'local_host'],
      ['http://shop.test:9/x', 'port'],
      ['not a url', 'malformed_url'],
      ['http://u:p@shop.test/', 'credentials_in_url'],
      ['http://shop.test/nothing', 'not_found'],
    ] as const) {
      it(`rejecting ${url} as ${reason}`, async () => {
        expect((await examine({ url })).reason?.code).to.equal(reason)
        const { status, body } = await post('/v1/listings', { url })
        expect([status, body['code']]).to.deep.equal([422, 'listing_refused'])
        expect(body).to.have.nested.property('refused[0].reason.code', reason)
      })
    }

    it('rejecting requests without a URL or origin, or with both', async () => {
      for (const body of [{}, { url: RAIN, origin: 'shop.test' }, { origin: 'http://10.0.0.1' }]) {
        expect((await post('/v1/listings/validate', body)).status).to.equal(422)
        expect((await post('/v1/listings', body)).status).to.equal(422)
      }
    })
  })

  it('are probed on request, of one host only one at a time', async () => {
    const ids = [(await list('/a'))['id'], (await list('/b'))['id'], (await list('/c'))['id']]
    await fixture.later(2)
    fixture.sites.clear()
    fixture.sites.at('shop.test', sells())
    const all = await Promise.all(ids.map((id) => post(`/v1/listings/${String(id)}/rescan`)))
    expect(all.map(({ status }) => status)).to.have.members([200, 429, 429])
    expect(fixture.sites.visits.filter((visit) => !visit.includes('robots'))).to.have.length(1)
    const { headers } = all.find(({ status }) => status === 429)!
    expect(Number(headers['retry-after'])).to.be.within(1, 2)
  })

  it('are probed on request, at most once a minute, and show changes', async () => {
    const { id } = await list('/drift')
    fixture.sites.at('shop.test', paths({ '/drift': sells({ payTo: ELSEWHERE, amount: '5000' }) }))
    const soon = await post(`/v1/listings/${String(id)}/rescan`)
    expect([soon.status, soon.body['code']]).to.deep.equal([429, 'rescan_too_soon'])
    expect(Number(soon.headers['retry-after'])).to.be.within(1, 60)
    const { status, body } = await rescan(id)
    expect([status, body['pay_to']]).to.deep.equal([200, ELSEWHERE])
    const { body: detail } = await get(`/v1/external/${String(id)}`)
    const codes = (detail['cautions'] as { code: string }[]).map(({ code }) => code)
    expect(codes).to.include.members(['pay_to_changed', 'price_raised'])
  })
})
