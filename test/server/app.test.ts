import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import { Client } from 'undici'
import { z } from 'zod'
import { createPool } from '../../core/db/pool.ts'
import { Fault } from '../../core/errors.ts'
import { KeyRing } from '../../core/identity/keys.ts'
import { createLog } from '../../core/log.ts'
import { freePort } from '../../core/net.ts'
import { RateLimits } from '../../core/usage/rate-limit.ts'
import { Standing } from '../../core/usage/standing.ts'
import { MemoryWindows } from '../../core/usage/windows.ts'
import { createApp } from '../../server/app.ts'
import { Meters } from '../../server/meters.ts'
import type { CallRequest, Reply } from '../../server/proxy/call.ts'
import { Flow } from '../../server/proxy/stream.ts'
import { type AnyRoute, route } from '../../server/rest/route.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, type Listening, listen, type Sent, send } from './http.ts'

const anything = {} as AnyRoute['answer']
let flow: Flow
const routes = [
  route({
    method: 'GET',
    path: '/v1/things/{id}',
    summary: 'A thing.',
    auth: 'none',
    answer: anything,
    handle: async ({ params, header }) => {
      if (params['id'] === 'bug') throw new Error('a bug with a secret in it')
      if (params['id'] === 'bigint') return { body: { amount: 1n } }
      return { body: { id: params['id'], authorization: header('authorization') ?? null } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/things',
    summary: 'Takes a thing.',
    auth: 'none',
    answer: anything,
    body: z.unknown(),
    handle: async () => ({ body: {} }),
  }),
  route({
    method: 'GET',
    path: '/v1/download',
    summary: 'What the test at hand sends.',
    auth: 'none',
    answer: anything,
    handle: async () => ({ headers: { Trailer: 'X-Sum' }, body: flow }),
  }),
  route({
    method: 'GET',
    path: '/v1/mine',
    summary: 'For callers with a key.',
    auth: 'key',
    answer: anything,
    handle: async () => ({ body: {} }),
  }),
]

describe('the application', () => {
  let server: Listening
  let end: () => Promise<void>
  let asked: CallRequest[] = []
  let logged: string[] = []
  let latest: IncomingMessage | undefined
  /** What the pipeline answers in the test at hand. */
  let call: () => Promise<Reply> = async () => ({ status: 200, headers: {}, body: {} })

  before(async () => {
    const nowhere = `postgres://nobody@127.0.0.1:${await freePort()}/none`
    const pool = createPool(nowhere, { applicationName: 'app' })
    end = () => pool.end()
    const answer = createApp({
      routes,
      mcp: () => undefined,
      web: (_, next) => next(),
      call: (request) => {
        asked.push(request)
        return call()
      },
      pool,
      keys: new KeyRing(pool),
      admins: [],
      limits: new RateLimits(new MemoryWindows()),
      standing: new Standing(pool),
      proxies: 0,
      baseUrl: () => 'https://hub.example',
      log: createLog('info', { write: (line) => logged.push(line) }),
      meters: new Meters(),
      spans: undefined,
      draining: () => false,
    })
    server = await listen((request, response) => {
      latest = request
      return answer(request, response)
    })
  })
  beforeEach(() => {
    asked = []
    logged = []
    latest = undefined
    call = async () => ({ status: 200, headers: {}, body: {} })
  })
  after(async () => {
    await server.close()
    await end()
  })

  const ask = (sent: Sent): Promise<Answer> => send(server.port, sent)

  describe('reads the path of a call', () => {
    const read: Readonly<Record<string, readonly [slug: string, path: string]>> = {
      '/proxy/echo/say': ['echo', '/say'],
      '/proxy/echo/a/b/c?d=/e//f': ['echo', '/a/b/c'],
      '/proxy/echo': ['echo', '/'],
      '/proxy/echo/': ['echo', '/'],
      '/proxy/echo/a%20b': ['echo', '/a b'],
      '/proxy/echo/%C3%BC': ['echo', '/ü'],
      '/proxy/echo/file%2ejson': ['echo', '/file.json'],
      '/proxy/echo/...': ['echo', '/...'],
    }
    for (const [url, [slug, path]] of Object.entries(read)) {
      it(url, async () => {
        expect((await ask({ path: url })).status).to.equal(200)
        expect(asked).to.have.length(1)
        expect(asked[0]).to.include({ slug, path })
      })
    }
  })

  describe('refuses a path that two servers could read in two ways', () => {
    const refused = [
      '/proxy/echo/../admin',
      '/proxy/echo/.',
      '/proxy/echo/a/./b',
      '/proxy/echo/%2e%2e/admin',
      '/proxy/echo/%2E%2E%2Fadmin',
      '/proxy/echo//say',
      '/proxy//echo/say',
      '/proxy/echo/%2Fsay',
      '/proxy/echo%2Fsay',
      '/proxy/echo/a%5Cb',
      '/proxy/echo/a%00',
      '/proxy/echo/a%0D%0AHost:x',
      '/proxy/echo/a%7F',
      '/proxy/echo/%zz',
      '/proxy/echo/%C3%28',
      '/proxy/echo/%252e%252e/admin',
      '/proxy/echo/a%252fb',
    ]
    for (const url of refused) {
      it(url, async () => {
        const { status, json } = await ask({ path: url })
        expect(status).to.equal(400)
        expect(json).to.include({ code: 'malformed_path' })
        expect(asked).to.deep.equal([])
      })
    }
  })

  it('hands a call on with its body, query, headers and public address', async () => {
    const headers = {
      'Content-Type': 'application/json',
      Authorization: 'Bearer x',
      'Payment-Signature': 'y',
      'X-Max-Price': '5000',
      'X-Request-Id': 'my-request-1',
    }
    await ask({ path: '/proxy/echo/say?a=1&b=2&b=3', headers, body: '{"c": 4}' })
    expect(asked[0]).to.deep.include({
      requestId: 'my-request-1',
      method: 'POST',
      url: 'https://hub.example/proxy/echo/say',
      body: { c: 4 },
      authorization: 'Bearer x',
      payment: 'y',
      maxPrice: 5_000n,
    })
    expect({ ...asked[0]!.query }).to.deep.equal({ a: '1', b: ['2', '3'] })
  })

  for (const name of ['Authorization', 'Payment-Signature', 'X-Max-Price']) {
    it(`takes ${name} once only: two would mean two things to two readers`, async () => {
      const { status, json } = await ask({ path: '/proxy/echo/a', headers: { [name]: ['1', '2'] } })
      expect(status).to.equal(400)
      expect(json).to.include({ code: 'duplicate_header' })
      expect(asked).to.deep.equal([])
    })
  }

  it('refuses an amount that it would have to guess', async () => {
    for (const price of ['-1', '0.5', '1e3', '0x10', '1 000']) {
      const headers = { 'X-Max-Price': price }
      expect((await ask({ path: '/proxy/echo/a', headers })).status).to.equal(422)
    }
  })

  describe('names every request', () => {
    it('by its own name for it, in header and body', async () => {
      const headers = { 'X-Request-Id': 'trace-0123.abc' }
      const { headers: answered, json } = await ask({ path: '/nowhere', headers })
      expect(answered['x-request-id']).to.equal('trace-0123.abc')
      expect(json['request_id']).to.equal('trace-0123.abc')
    })

    for (const given of ['short', 'x'.repeat(65), 'has space in it', '<script>alert</script>']) {
      it(`by ours, if it is not fit to be logged: ${given.slice(0, 20)}`, async () => {
        const { headers } = await ask({ path: '/nowhere', headers: { 'X-Request-Id': given } })
        expect(headers['x-request-id']).to.match(/^req_[0-9A-Za-z]{16}$/)
      })
    }
  })

  describe('answers a problem', () => {
    const isProblem = ({ status, headers, json }: Answer, code: string): void => {
      expect(headers['content-type']).to.match(/^application\/problem\+json/)
      expect(headers).to.include({ 'x-charged-microdollars': '0', 'cache-control': 'no-store' })
      expect(json).to.include({ code, status, charged_microdollars: 0 })
      expect(json['request_id']).to.equal(headers['x-request-id'])
    }

    it('where there is nothing', async () => {
      isProblem(await ask({ path: '/nowhere' }), 'not_found')
      isProblem(await ask({ path: '/proxy' }), 'not_found')
    })

    it('for a wrong method, naming the right ones', async () => {
      const answer = await ask({ method: 'DELETE', path: '/v1/things/1' })
      isProblem(answer, 'method_not_allowed')
      expect(answer.headers['allow']).to.match(/\bGET\b/)
    })

    it('where a key is needed, saying how to show it', async () => {
      const answer = await ask({ path: '/v1/mine' })
      isProblem(answer, 'invalid_api_key')
      expect(answer.headers['www-authenticate']).to.match(/^Bearer/)
    })

    it('for a fault of the pipeline, with its headers', async () => {
      call = async () => {
        throw new Fault('rate_limited', undefined, { headers: { 'Retry-After': '9' } })
      }
      const answer = await ask({ path: '/proxy/echo/a' })
      isProblem(answer, 'rate_limited')
      expect(answer.headers['retry-after']).to.equal('9')
    })

    it('for a bug, which the log has in full and the caller has not at all', async () => {
      const answer = await ask({ path: '/v1/things/bug' })
      isProblem(answer, 'internal_error')
      expect(answer.text).not.to.match(/secret|\.ts|Error:/)
      expect(logged.join('')).to.include('a bug with a secret in it')
      expect(logged.join('')).to.include(answer.headers['x-request-id'])
    })

    it('for an answer that is no JSON, instead of half of it', async () => {
      isProblem(await ask({ path: '/v1/things/bigint' }), 'internal_error')
    })
  })

  describe('breaks off an answer that cannot be written, and tells the operator', () => {
    const charged = { 'X-Charged-Microdollars': '100' }
    const unwritable: Readonly<Record<string, Reply>> = {
      'a header': { status: 200, headers: { ...charged, 'X-Odd': 'a\r\nb' }, body: {} },
      'a body': { status: 200, headers: charged, body: { amount: 1n } },
    }
    for (const [name, reply] of Object.entries(unwritable)) {
      it(`${name}: of a call that was charged nobody is told that it was not`, async () => {
        call = async () => reply
        const answer = await ask({ path: '/proxy/echo/a' }).catch((error: unknown) => error)
        expect(answer).to.be.instanceOf(Error)
        expect(logged.join('')).to.include('unexpected error of the server')
      })
    }
  })

  for (const path of ['/proxy/echo/say', '/v1/things']) {
    it(`is not alarmed by a caller who leaves within the body: ${path}`, async () => {
      const socket = connect(server.port, '127.0.0.1')
      const length = 'Content-Type: application/json\r\nContent-Length: 1000'
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n{"words":`)
      await eventually(() => (latest?.listenerCount('data') ?? 0) > 0) // its body is being read
      socket.destroy()
      await eventually(() => logged.join('').includes('"status":499'))
      expect(logged.join('')).not.to.include('"level":50')
      expect(asked).to.deep.equal([])
    })
  }

  describe('sends a download as it comes', () => {
    const begin = async () => {
      flow = new Flow()
      const client = new Client(`http://127.0.0.1:${server.port}`)
      const { statusCode, body } = await client.request({ path: '/v1/download', method: 'GET' })
      return { statusCode, body, close: () => client.destroy() }
    }

    it('its head before its first piece, and its trailers after the last one', async () => {
      const { statusCode, body, close } = await begin()
      expect(statusCode).to.equal(200)
      flow.write('all')
      flow.trailers = { 'X-Sum': '3' }
      flow.finish(null)
      expect(await body.text()).to.equal('all')
      await close()
    })

    it('one that fails breaks the answer off, and the operator is told', async () => {
      const { body, close } = await begin()
      flow.write('half')
      flow.finish(new Error('the database went away'))
      expect(await body.text().catch((error: unknown) => error)).to.be.instanceOf(Error)
      expect(logged.join('')).to.include('the database went away')
      await close()
    })

    it('nobody is told of a caller who leaves, and it is let go of', async () => {
      const { body, close } = await begin()
      body.on('error', () => undefined).destroy()
      await eventually(() => flow.destroyed)
      expect(logged.join('')).not.to.include('"level":50')
      await close()
    })
  })

  it('answers a route with its parameters, charging nothing', async () => {
    const { status, headers, json } = await ask({ path: '/v1/things/7' })
    expect(status).to.equal(200)
    expect(json).to.deep.equal({ id: '7', authorization: null })
    expect(headers['x-charged-microdollars']).to.equal('0')
  })

  it('sends the headers that keep browsers out of trouble', async () => {
    const { headers } = await ask({ path: '/v1/things/7' })
    expect(headers).to.include({ 'x-content-type-options': 'nosniff' })
    expect(headers['content-security-policy']).to.be.a('string')
    expect(headers).not.to.have.property('x-powered-by')
  })
})
