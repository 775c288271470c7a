import { expect } from 'chai'
import { Fault } from '../../core/errors.ts'
import { bareApp } from './bare-app.ts'
import type { Answer } from './http.ts'

describe('the application', () => {
  const app = bareApp()
  const { ask } = app

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
        expect(app.requests).to.have.length(1)
        expect(app.requests[0]).to.include({ slug, path })
      })
    }
  })

  describe('refuses a path that cannot be decoded to one list of segments', () => {
    const refused = [
      '/proxy/echo/%2E%2E%2Fadmin',
      '/proxy/echo/%2Fsay',
      '/proxy/echo%2Fsay',
      '/proxy/echo/%zz',
      '/proxy/echo/%C3%28',
    ]
    for (const url of refused) {
      it(url, async () => {
        const { status, json } = await ask({ path: url })
        expect(status).to.equal(400)
        expect(json).to.include({ code: 'malformed_path' })
        expect(app.requests).to.deep.equal([])
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
    expect(app.requests[0]).to.deep.include({
      requestId: 'my-request-1',
      method: 'POST',
      body: { c: 4 },
      authorization: 'Bearer x',
      payment: 'y',
      maxPrice: 5_000n,
    })
    expect(app.requests[0]!.url()).to.equal('https://hub.example/proxy/echo/say')
    expect({ ...app.requests[0]!.query }).to.deep.equal({ a: '1', b: ['2', '3'] })
  })

  for (const name of ['Authorization', 'Payment-Signature', 'X-Max-Price']) {
    it(`takes ${name} once only: two would mean two things to two readers`, async () => {
      const { status, json } = await ask({ path: '/proxy/echo/a', headers: { [name]: ['1', '2'] } })
      expect(status).to.equal(400)
      expect(json).to.include({ code: 'duplicate_header' })
      expect(app.requests).to.deep.equal([])
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
      app.call = async () => {
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
      const { retryable, advice } = answer.json
      expect([retryable, advice]).to.deep.equal([true, 'Nothing was charged. Try again later.'])
      expect(app.logged.join('')).to.include('a bug with a secret in it')
      expect(app.logged.join('')).to.include(answer.headers['x-request-id'])
    })

    it('for an answer that is no JSON, instead of half of it', async () => {
      isProblem(await ask({ path: '/v1/things/bigint' }), 'internal_error')
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
