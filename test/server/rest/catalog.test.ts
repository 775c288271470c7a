import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { ask, pageOf } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

/** Thirty services that fill several pages. */
const filler = Array.from({ length: 30 }, (_, i) =>
  defineService({
    slug: `filler-${String(i).padStart(2, '0')}`,
    name: `Filler ${i}`,
    category: 'filling',
    summary: i === 7 ? 'Translates poems of sailors.' : 'Fills a page.',
    provider: 'example',
    endpoints: {
      'GET /it': { summary: 'It.', price: usd('0.01'), input: s.object({}), handle: () => ({}) },
    },
  }),
)

type Item = Readonly<Record<string, unknown>>

describe('the catalog', () => {
  const hub = useHub({ plugins: filler })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
  })
  const get = (path: string) => ask(hub().url, path)
  const search = (body: unknown) => ask(hub().url, '/v1/search', { body, key: ada.apiKey })

  describe('GET /v1/services', () => {
    it('lists services for sale with prices in microdollars', async () => {
      const { body } = await get('/v1/services?limit=100')
      const { data } = pageOf(body)
      const analysis = data.find(({ slug }) => slug === 'analysis')
      expect(analysis).to.deep.include({
        type: 'native',
        category: 'ai',
        provider: 'agenthub',
        endpoint_count: 4,
        price_microdollars: { min: 2_000, max: 3_000 },
        free_calls_per_month: 15,
        proxy_url: `${hub().url}/proxy/analysis`,
      })
      expect(analysis).to.include.keys('uptime_percentage', 'average_latency_ms', 'name', 'summary')
    })

    it('returns every service once across pages', async () => {
      const seen: unknown[] = []
      let path: string | undefined = '/v1/services?limit=7'
      while (path !== undefined) {
        const { status, headers, body } = await get(path)
        expect(status).to.equal(200)
        const { data, next_cursor, has_more } = pageOf(body)
        seen.push(...data.map(({ slug }) => slug))
        expect(has_more).to.equal(next_cursor !== null)
        const link: string | undefined = /^<(.*)>; rel="next"$/.exec(String(headers['link']))?.[1]
        expect(link !== undefined).to.equal(has_more)
        path = link
      }
      expect(seen).to.have.length(34)
      expect(seen).to.deep.equal(
        [...new Set(seen)].toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
      )
    })

    it('returns twenty services per page by default', async () => {
      const { body } = await get('/v1/services')
      expect(pageOf(body).data).to.have.length(20)
    })

    const wrong = [
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=1.5',
      'limit=ten',
      'limit=1&limit=2',
      'cursor=nonsense',
      'cursor=WzFd',
      'cursor=WyJcdTAwMDAiXQ',
      `cursor=${'a'.repeat(600)}`,
    ]
    for (const query of wrong) {
      it(`rejects ?${query.slice(0, 30)}`, async () => {
        const { status, body } = await get(`/v1/services?${query}`)
        expect([status, body['code']]).to.deep.equal([422, 'validation_failed'])
      })
    }

    it('says which numbers of items are possible', async () => {
      const { body } = await get('/v1/services?limit=1000')
      expect(body['detail']).to.equal('/limit: must be a whole number from 1 to 100.')
    })

    it('ignores parameters of links from elsewhere', async () => {
      const { body } = await get('/v1/services?utm_source=directory&colour=red&__proto__=1')
      expect(pageOf(body).data).to.have.length(20)
    })
  })

  describe('GET /v1/services/{slug}', () => {
    it('returns endpoints, schemas and prices', async () => {
      const { body } = await get('/v1/services/echo')
      expect(body['endpoints']).to.have.length(2)
      const [, say] = body['endpoints'] as Item[]
      expect(say).to.include({
        method: 'POST',
        path: '/say',
        price_microdollars: 100,
        price_is_maximum: false,
        price_version: 1,
      })
      expect(say?.['request_schema']).to.have.property('required').that.deep.equals(['words'])
      expect(say?.['response_schema']).to.have.property('type', 'object')
    })

    for (const slug of ['nowhere', 'a%00b', '%ff', 'a%2Fb', "'; DROP TABLE hub.service --"]) {
      it(`does not find ${slug}`, async () => {
        const { status, body } = await get(`/v1/services/${slug}`)
        expect(status, JSON.stringify(body)).to.be.oneOf([400, 404])
        expect(body['code']).to.be.oneOf(['service_not_found', 'not_found', 'malformed_path'])
      })
    }
  })

  describe('POST /v1/search', () => {
    const slugs = async (order: unknown) => {
      const { status, body } = await search(order)
      expect(status, JSON.stringify(body)).to.equal(200)
      return pageOf(body).data.map(({ slug, id }) => String(slug ?? id))
    }

    it('finds services by capability and explains why', async () => {
      const { body } = await search({ query: 'translate a poem' })
      const [first] = pageOf(body).data
      expect(first).to.include({ slug: 'filler-07' })
      expect(first?.['why']).to.be.a('string').that.is.not.empty
      expect(first?.['score']).to.be.above(0)
    })

    it('ranks the exact name first', async () => {
      expect((await slugs({ query: 'echo' }))[0]).to.equal('echo')
      expect((await slugs({ query: 'Filler 12' }))[0]).to.equal('filler-12')
    })

    it('filters by category and price', async () => {
      expect(await slugs({ category: 'ai' })).to.deep.equal(['analysis'])
      const cheap = await slugs({ type: 'native', max_price_microdollars: 2_000, limit: 100 })
      expect(cheap).to.have.members(['analysis', 'echo'])
      expect(await slugs({ max_price_microdollars: 0 })).to.deep.equal([])
      expect(await slugs({ query: 'echo', category: 'ai' })).to.deep.equal([])
    })

    it('returns everything across pages for an empty query', async () => {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const { body } = await search({ limit: 10, ...(cursor ? { cursor } : {}) })
        const page = pageOf(body)
        seen.push(...page.data.map(({ slug, id }) => String(slug ?? id)))
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      expect(new Set(seen).size).to.equal(seen.length).and.to.be.at.least(32)
    })

    const odd = [
      'http://example.com/path?x=(1)|(2)&y=!z',
      "it's & | ! ( ) : * <-> \\ ' \" `",
      'foo:bar:*',
      'a@b.example/c(d):e',
      '/usr/bin/(x)',
      '\u0000',
      'a\u0000b',
      '\ud800',
      '😀 𝕏',
      '%_\\%',
      'x'.repeat(500),
      '-1e5 1.5.3 --',
      '   ',
      'the of and',
    ]
    for (const query of odd) {
      it(`accepts the query ${JSON.stringify(query).slice(0, 40)}`, async () => {
        const { status, body } = await search({ query })
        expect(status, JSON.stringify(body)).to.be.oneOf([200, 422])
      })
    }

    const wrong: readonly Item[] = [
      { query: 7 },
      { query: 'x'.repeat(501) },
      { limit: 0 },
      { limit: 101 },
      { limit: '10' },
      { max_price_microdollars: -1 },
      { max_price_microdollars: 0.5 },
      { max_price_microdollars: 1e300 },
      { category: 'a\u0000' },
      { cursor: 'x' },
      { cursor: 'WzFlOV0' },
      { colour: 'red' },
    ]
    for (const body of wrong) {
      it(`rejects ${JSON.stringify(body).slice(0, 40)}`, async () => {
        const { status, body: problem } = await search(body)
        expect([status, problem['code']]).to.deep.equal([422, 'validation_failed'])
      })
    }
  })
})
