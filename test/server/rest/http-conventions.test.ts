import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { expect } from 'chai'
import { request } from 'undici'
import { deprecationHeaders } from '../../../core/plugin/deprecation.ts'
import { defineService, s, usd } from '../../../core/plugin/index.ts'
import { type ApiResponse, ask, askRaw, type RequestOptions } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const old = defineService({
  slug: 'old',
  name: 'Old',
  category: 'test',
  summary: 'Will end.',
  provider: 'example',
  deprecated: { since: '2027-01-01', sunset: '2027-06-30', successor: '/proxy/echo' },
  endpoints: {
    'POST /say': {
      summary: 'Says it.',
      price: usd('0'),
      input: s.object({}),
      handle: () => ({ text: 'x'.repeat(5_000) }),
    },
  },
})

const UNPACK = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync } as const
/** Routes whose response is the same for everyone. */
const SHARED = [
  '/v1/services',
  '/v1/services/echo',
  '/v1/external',
  '/openapi.json',
  '/.well-known/jwks.json',
  '/.well-known/x402',
  '/docs',
]

const IMPORTED = {
  openapi: '3.1.0',
  info: { title: 'Made there', version: '1' },
  paths: { '/said': { get: { responses: { 200: { description: 'What was said.' } } } } },
}

describe('HTTP responses', () => {
  const hub = useHub({ plugins: [old] })
  const get = (path: string, question: RequestOptions = {}) => ask(hub().url, path, question)
  /** Requests without decompression. */
  const raw = async (
    path: string,
    headers: Record<string, string>,
    method: 'GET' | 'HEAD' = 'GET',
  ) => {
    const answer = await request(new URL(path, hub().url), { method, headers })
    const bytes = Buffer.from(await answer.body.arrayBuffer())
    return { status: answer.statusCode, headers: answer.headers, bytes }
  }

  for (const path of SHARED) {
    it(`of ${path} have a strong ETag, are cacheable, and are 304 if unchanged`, async () => {
      const { headers } = await get(path)
      const tag = String(headers['etag'])
      expect(tag).to.match(/^"[\w-]+"$/)
      expect(headers['cache-control']).to.match(/^public, max-age=30/)
      for (const given of [tag, `"other", ${tag}`, `W/${tag}`, '*']) {
        const again = await raw(path, { 'if-none-match': given })
        expect([again.status, again.bytes.length], given).to.deep.equal([304, 0])
        expect(again.headers['etag']).to.equal(tag)
      }
      expect((await raw(path, { 'if-none-match': '"other"' })).status).to.equal(200)
    })

    it(`of ${path} allow pages of any site, without credentials`, async () => {
      const { headers } = await get(path, { headers: { origin: 'https://elsewhere.example' } })
      expect(headers['access-control-allow-origin']).to.equal('*')
      expect(headers).not.to.have.property('access-control-allow-credentials')
    })

    it(`of ${path} have the same headers for HEAD as for GET`, async () => {
      const head = await raw(path, {}, 'HEAD')
      const { headers, status } = await raw(path, {})
      expect([head.status, head.bytes.length]).to.deep.equal([status, 0])
      expect(head.headers['content-length']).to.equal(headers['content-length'])
      expect(head.headers['etag']).to.equal(headers['etag'])
    })
  }

  for (const [coding, unpack] of Object.entries(UNPACK)) {
    it(`are compressed with ${coding} if accepted`, async () => {
      const plain = await raw('/openapi.json', {})
      const { headers, bytes } = await raw('/openapi.json', { 'accept-encoding': coding })
      expect(headers).to.include({ 'content-encoding': coding })
      expect(headers['vary']).to.match(/accept-encoding/i)
      expect(unpack(bytes).equals(plain.bytes)).to.equal(true)
      expect(headers['etag'], 'another representation').not.to.equal(plain.headers['etag'])
      const again = await raw('/openapi.json', {
        'accept-encoding': coding,
        'if-none-match': String(headers['etag']),
      })
      expect(again.status).to.equal(304)
    })
  }

  it('are not compressed if not accepted or not worthwhile', async () => {
    for (const given of ['identity', 'br;q=0, gzip;q=0', 'deflate', '']) {
      const { headers } = await raw('/openapi.json', { 'accept-encoding': given })
      expect(headers, given).not.to.have.property('content-encoding')
    }
    const { headers } = await raw('/health', { 'accept-encoding': 'gzip' })
    expect(headers).not.to.have.property('content-encoding')
    const best = await raw('/openapi.json', { 'accept-encoding': 'gzip;q=0.5, br;q=0.9, zstd;q=0' })
    expect(best.headers['content-encoding']).to.equal('br')
  })

  it('of calls are compressed, and their receipt covers the uncompressed text', async () => {
    const { headers, bytes } = await (async () => {
      const answer = await request(new URL('/proxy/old/say', hub().url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
        body: '{}',
      })
      return { headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) }
    })()
    expect(headers['content-encoding']).to.equal('gzip')
    expect(JSON.parse(gunzipSync(bytes).toString())).to.have.property('text')
    expect(headers).to.have.property('x-receipt')
  })

  it('announce the end of a service and its successor', async () => {
    const { headers } = await get('/proxy/old/say', { body: {} })
    expect(headers).to.include({
      deprecation: '@1798761600',
      sunset: 'Wed, 30 Jun 2027 23:59:59 GMT',
      link: '</proxy/echo>; rel="successor-version"',
    })
    expect(deprecationHeaders(undefined)).to.deep.equal({})
  })

  describe('to a CORS preflight', () => {
    const preflight = (path: string) =>
      raw2(path, {
        origin: 'https://elsewhere.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,payment-signature',
      })
    const raw2 = async (path: string, headers: Record<string, string>) => {
      const answer = await request(new URL(path, hub().url), { method: 'OPTIONS', headers })
      await answer.body.dump()
      return { status: answer.statusCode, headers: answer.headers }
    }

    it('allow pages to call the proxy with a key or payment and to read the cost', async () => {
      const { status, headers } = await preflight('/proxy/echo/say')
      expect(status).to.equal(204)
      expect(headers['access-control-allow-origin']).to.equal('*')
      expect(headers['access-control-allow-headers']).to.match(/PAYMENT-SIGNATURE/)
      const { headers: unpaid } = await get('/proxy/echo/say', { method: 'POST' })
      expect(unpaid['access-control-allow-origin'], 'also with the 402').to.equal('*')
      expect(unpaid['access-control-expose-headers']).to.equal('*')
    })

    it('do not allow other sites on routes that require a session or key', async () => {
      for (const path of ['/v1/keys', '/v1/wallet/balance', '/v1/credits/purchase', '/mcp']) {
        const { headers } = await preflight(path)
        expect(headers, path).not.to.have.property('access-control-allow-origin')
      }
    })

    it('list the methods of a resource', async () => {
      const { status, headers } = await preflight('/v1/credits/balance')
      expect(status).to.equal(204)
      expect(headers['allow']).to.equal('HEAD, GET, OPTIONS')
    })
  })

  describe('to requests with a key', () => {
    it('report the rate limit even if they are errors', async () => {
      const { apiKey } = await hub().agent()
      for (const [path, body] of [
        ['/v1/search', { limit: 0 }],
        ['/proxy/echo/say', {}],
        ['/proxy/nowhere/say', {}],
      ] as const) {
        const { status, headers } = await get(path, { key: apiKey, body })
        expect(status, path).to.be.within(400, 499)
        expect(headers['ratelimit'], path).to.match(/^"free";r=\d+;t=\d+$/)
      }
    })

    it('are never cached', async () => {
      const { apiKey: key } = await hub().agent()
      for (const path of ['/v1/credits/balance', '/v1/keys', '/v1/register/challenge']) {
        const { status, headers } = await get(path, path.includes('register') ? {} : { key })
        expect([status, headers['cache-control']], path).to.deep.equal([200, 'no-store'])
      }
    })

    it('have a Location if they create a resource', async () => {
      const { apiKey: key } = await hub().agent()
      const { body: root } = await get('/v1/keys', { key })
      const [{ key_id: id }] = root['data'] as [{ key_id: string }]
      const service = { name: 'Mine', category: 'data', summary: 'Says it.' }
      for (const [path, body] of [
        ['/v1/keys', { name: 'a child' }],
        [`/v1/keys/${id}/rotate`, { overlap_seconds: 60 }],
        ['/v1/provider/keys', {}],
        ['/v1/domains', { domain: 'made.com' }],
        ['/v1/provider/services', { slug: 'made-here', ...service, base_url: 'https://made.com' }],
        [
          '/v1/provider/services/import',
          {
            slug: 'made-there',
            openapi: JSON.stringify(IMPORTED),
            base_url: 'https://made.com',
          },
        ],
      ] as const) {
        const made = await get(path, { key, body })
        expect(made.status, `${path} ${made.text}`).to.equal(201)
        const found = await get(String(made.headers['location']), { key })
        const { api_key: _, ...names } = made.body
        const resource = (names['service'] ?? names) as ApiResponse['body']
        expect(found.status, path).to.equal(200)
        for (const name of ['key_id', 'domain_id', 'slug']) {
          expect(found.body[name], `${path} ${name}`).to.equal(resource[name])
        }
      }
      const { headers } = await get('/v1/quotes', {
        key,
        body: { slug: 'old', method: 'POST', path: '/say', input: {} },
      })
      expect(headers, 'a quote has no address').not.to.have.property('location')
    })

    it('are the same for X-API-Key, but reject two credentials', async () => {
      const { apiKey } = await hub().agent()
      const headers = { 'x-api-key': apiKey }
      expect((await get('/v1/credits/balance', { headers })).status).to.equal(200)
      const { status, body } = await get('/v1/credits/balance', { headers, key: apiKey })
      expect([status, body['code']]).to.deep.equal([400, 'duplicate_header'])
    })
  })

  it('echo the traceparent of the request', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    expect((await get('/health', { headers: { traceparent } })).headers).to.include({ traceparent })
    const { headers } = await get('/health', { headers: { traceparent: 'nonsense' } })
    expect(headers).not.to.have.property('traceparent')
  })

  const BROKEN: Readonly<Record<string, readonly [status: number, code: string, string[]]>> = {
    'no version': [400, 'malformed_request', ['GET /v1/services']],
    'two hosts': [400, 'duplicate_header', ['GET /v1/services HTTP/1.1', 'Host: other.test']],
    'length and chunks': [
      400,
      'malformed_request',
      [
        'POST /v1/search HTTP/1.1',
        'Content-Length: 6',
        'Transfer-Encoding: chunked',
        '',
        '0',
        '',
        'G',
      ],
    ],
    'a chunk of 0x1': [
      400,
      'malformed_request',
      ['POST /v1/search HTTP/1.1', 'Transfer-Encoding: chunked', '', '0x1', 'x', '0', ''],
    ],
    'a folded header': [400, 'malformed_request', ['GET /v1/services HTTP/1.1', 'X: a', ' b']],
    'headers without end': [
      431,
      'headers_too_large',
      ['GET / HTTP/1.1', `X: ${'x'.repeat(40_000)}`],
    ],
  }
  for (const [what, [status, code, lines]] of Object.entries(BROKEN)) {
    it(`are problem documents for a malformed request: ${what}`, async () => {
      const text = await askRaw(hub().url, lines)
      expect(text).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(text).to.match(/content-type: application\/problem\+json/i)
      expect(text).to.include(`"code":"${code}"`).and.to.include('"charged_microdollars":0')
    })
  }
})
