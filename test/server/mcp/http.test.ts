import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { codeOf, dataOf, legacy, MODERN, modern, post } from './ask.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }

describe('POST /mcp', () => {
  const hub = useHub({ config: { mcpUrl: 'https://mcp.hub.example', mcpOrigins: ['app://desk'] } })
  let ada: TestAgent
  let key: string
  beforeEach(async () => {
    ada = await hub().agent()
    key = ada.apiKey
  })

  describe('before the message is read', () => {
    it('A100 refuses foreign pages by their Origin, even with a valid key', async () => {
      for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
        const response = await post(hub(), PING, { key, headers: { origin } })
        expect(response.status, origin).to.equal(403)
        expect(codeOf(response)).to.equal(-31_403)
        expect(response.body).not.to.have.property('id')
        expect(response.headers).not.to.have.property('access-control-allow-origin')
        expect(dataOf(response)).to.include({ code: 'origin_not_allowed', charged_microdollars: 0 })
      }
      const own = [hub().url, 'https://mcp.hub.example', 'app://desk', 'http://localhost:6274']
      for (const origin of own) {
        const { status } = await post(hub(), PING, { key, headers: { origin } })
        expect(status, origin).to.equal(200)
      }
    })

    it('sends CORS headers to pages of allowed origins', async () => {
      const headers = { origin: 'app://desk', 'access-control-request-method': 'POST' }
      const preflight = await ask(hub().url, '/mcp', { method: 'OPTIONS', headers })
      expect(preflight.status).to.equal(204)
      const allowed = preflight.headers['access-control-allow-headers']
      expect(allowed).to.match(/Authorization.*Mcp-Method/)
      for (const by of [key, 'ahk_wrong']) {
        const response = await post(hub(), PING, { key: by, headers })
        for (const one of [preflight, response]) {
          expect(one.headers['access-control-allow-origin']).to.equal('app://desk')
        }
        expect(response.headers['access-control-expose-headers']).to.include('WWW-Authenticate')
      }
    })

    it('refuses a foreign host name on loopback, which a page may have bound there', async () => {
      const status = async (host: string) =>
        (await ask(hub().url, '/mcp', { key, body: PING, headers: { host } })).status
      expect(await status('evil.example')).to.equal(403)
      expect(await status('mcp.hub.example')).to.equal(200)
    })

    it('serves /mcp only, also with a query and as an absolute URL', async () => {
      const ping = async (path: string) => {
        const response = await ask(hub().url, path, { key, body: PING })
        return [response.status, 'result' in response.body]
      }
      expect(await ping('/mcp?tenant=1')).to.deep.equal([200, true])
      const whole = request(hub().url, { method: 'POST', path: `${hub().url}/mcp` }).end()
      const [{ statusCode }] = (await once(whole, 'response')) as [IncomingMessage]
      expect(statusCode).to.equal(401) // found, but a key is required
      for (const path of ['/mcp/', '/mcps', '/v1/mcp', '/nothing?/mcp']) {
        expect(await ping(path), path).to.deep.equal([404, false])
      }
    })

    it('returns 405 and Allow: POST for other methods', async () => {
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const response = await ask(hub().url, '/mcp', { method, key })
        expect([response.status, response.headers['allow']], method).to.deep.equal([405, 'POST'])
        expect(codeOf(response)).to.equal(-31_405)
      }
    })

    it('returns 401 with a challenge and instructions before it reads the body', async () => {
      const none = await post(hub(), 'not json')
      expect(none.status).to.equal(401)
      expect(none.headers['www-authenticate']).to.equal('Bearer realm="hub"')
      const bad = await post(hub(), 'not json', { key: 'ahk_wrong' })
      expect(bad.status).to.equal(401)
      expect(bad.headers['www-authenticate']).to.equal('Bearer realm="hub", error="invalid_token"')
      expect((bad.body['error'] as { message: string }).message).to.include('.tgz register')
      expect(dataOf(bad)).to.include({ code: 'invalid_api_key' })
      expect(bad.body).not.to.have.property('id')
    })

    it('returns instructions to OAuth clients in the form of OAuth errors', async () => {
      const register = await ask(hub().url, '/register', { body: {} })
      expect(register.status).to.equal(400)
      expect(register.body).to.include({ error: 'invalid_request', code: 'api_keys_only' })
      expect(register.body['error_description']).to.include('API keys')
      for (const name of [
        'oauth-protected-resource/mcp',
        'oauth-protected-resource',
        'oauth-authorization-server',
        'openid-configuration',
      ]) {
        const response = await ask(hub().url, `/.well-known/${name}`)
        expect(response.status, name).to.equal(404)
        expect(response.body['error_description']).to.include('.tgz register')
      }
    })

    it('counts each message once against the key, and returns Retry-After', async () => {
      const bob = await hub().agent()
      const first = await legacy(hub(), 'ping', undefined, { key: bob.apiKey })
      expect(first.headers).to.include({
        'x-ratelimit-limit': '100',
        'x-ratelimit-remaining': '99',
      })
      const params = { name: 'hub_call', arguments: { service: 'echo', endpoint: '/say' } }
      const second = await legacy(hub(), 'tools/call', params, { key: bob.apiKey })
      expect(second.headers['x-ratelimit-remaining']).to.equal('98')
      const more = Array.from({ length: 98 }, () =>
        legacy(hub(), 'ping', undefined, { key: bob.apiKey }),
      )
      await Promise.all(more)
      const late = await legacy(hub(), 'ping', undefined, { key: bob.apiKey })
      expect(late.status).to.equal(429)
      expect(dataOf(late)).to.include({ code: 'rate_limited' })
      expect(Number(late.headers['retry-after'])).to.be.within(1, 60)
    })

    it('returns 406 if JSON is not accepted, and 415 for another content type', async () => {
      const sse = await post(hub(), PING, { key, headers: { accept: 'text/event-stream' } })
      expect([sse.status, codeOf(sse)]).to.deep.equal([406, -31_406])
      const any = await post(hub(), PING, { key, headers: { accept: '*/*' } })
      expect(any.status).to.equal(200)
      const text = await post(hub(), PING, { key, headers: { 'content-type': 'text/plain' } })
      expect([text.status, codeOf(text)]).to.deep.equal([415, -31_415])
    })
  })

  describe('a message', () => {
    const CASES: readonly (readonly [what: string, body: unknown, status: number, code: number])[] =
      [
        ['text that is not JSON', '{"jsonrpc":', 400, -32_700],
        ['nothing', '', 400, -32_600],
        ['a batch', [PING], 400, -32_600],
        ['an empty batch', [], 400, -32_600],
        ['a value that is not an object', 'null', 400, -32_600],
        ['another version of JSON-RPC', { ...PING, jsonrpc: '1.0' }, 400, -32_600],
        ['an id that is null', { ...PING, id: null }, 400, -32_600],
        ['an id that is a fraction', { ...PING, id: 1.5 }, 400, -32_600],
        ['an id that is an object', { ...PING, id: {} }, 400, -32_600],
        ['a method that is not a string', { ...PING, method: 5 }, 400, -32_600],
        ['params that are a list', { ...PING, params: [] }, 400, -32_602],
        ['params that are null', { ...PING, params: null }, 400, -32_602],
        ['a __proto__ member', '{"jsonrpc":"2.0","id":1,"__proto__":{}}', 400, -32_600],
        ['deeply nested JSON', `${'['.repeat(99)}${']'.repeat(99)}`, 400, -32_600],
      ]
    for (const [what, body, status, code] of CASES) {
      it(`with ${what} is refused`, async () => {
        const response = await post(hub(), body, { key })
        expect([response.status, codeOf(response)]).to.deep.equal([status, code])
        expect(response.body['id'], 'an id is never null').not.to.equal(null)
      })
    }

    it('above the size limit is refused with 413', async () => {
      const response = await post(
        hub(),
        { ...PING, params: { text: 'x'.repeat(600_000) } },
        { key },
      )
      expect([response.status, codeOf(response)]).to.deep.equal([413, -31_413])
    })

    it('without an id gets 202 and an empty body', async () => {
      const silent = [
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
        { jsonrpc: '2.0', method: 'tools/call', params: { name: 'hub_call' } },
        { jsonrpc: '2.0', id: 5, result: {} },
        { jsonrpc: '2.0', id: 5, error: { code: 1, message: 'no' } },
      ]
      for (const body of silent) {
        const response = await post(hub(), body, { key })
        expect([response.status, response.text], JSON.stringify(body)).to.deep.equal([202, ''])
        expect(response.headers).not.to.have.property('content-type')
      }
    })

    it('gets its own id back, of either type', async () => {
      for (const id of ['', 'a', 0, -1, 2 ** 40]) {
        expect((await post(hub(), { ...PING, id }, { key })).body).to.deep.equal({
          jsonrpc: '2.0',
          id,
          result: {},
        })
      }
    })

    it('gets no session, whatever session headers a client sends', async () => {
      const headers = { 'mcp-session-id': 'abc', 'last-event-id': '7' }
      const response = await post(hub(), PING, { key, headers })
      expect(response.status).to.equal(200)
      expect(response.headers).not.to.have.property('mcp-session-id')
    })

    it('for an unknown method gets -32601, also for a name from Object.prototype', async () => {
      for (const method of ['nothing', 'toString', 'constructor', '__proto__']) {
        const old = await legacy(hub(), method, undefined, { key })
        expect([old.status, codeOf(old), old.body['id']], method).to.deep.equal([200, -32_601, 1])
        const response = await modern(hub(), method, {}, { key })
        expect([response.status, codeOf(response), response.body['id']]).to.deep.equal([
          404, -32_601, 1,
        ])
      }
    })
  })

  describe('a legacy client', () => {
    it('negotiates its version, or the newest legacy version', async () => {
      const preflight = { capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const versions = {
        '2024-11-05': '2024-11-05',
        '2025-03-26': '2025-03-26',
        '2025-06-18': '2025-06-18',
        [MODERN]: '2025-11-25',
      }
      for (const [wanted, given] of Object.entries({ ...versions, '1999-01-01': '2025-11-25' })) {
        const params = { ...preflight, protocolVersion: wanted }
        const { body } = await legacy(hub(), 'initialize', params, { key })
        expect(body['result'], wanted).to.deep.include({ protocolVersion: given })
      }
    })

    it('may omit the version header, but may not send an unknown version', async () => {
      expect(await legacy(hub(), 'ping', undefined, { key })).to.include({ status: 200 })
      for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
        const headers = { 'mcp-protocol-version': version }
        expect(await legacy(hub(), 'ping', undefined, { key, headers })).to.include({ status: 200 })
      }
      const headers = { 'mcp-protocol-version': '1999-01-01' }
      const response = await legacy(hub(), 'ping', undefined, { key, headers })
      expect([response.status, codeOf(response)]).to.deep.equal([400, -32_022])
      expect(dataOf(response)).to.deep.include({ requested: '1999-01-01' })
    })
  })

  describe('a modern client', () => {
    it('uses server/discover; initialize and ping do not exist', async () => {
      const response = await modern(hub(), 'server/discover', {}, { key })
      expect(response.body['result']).to.deep.include({
        resultType: 'complete',
        supportedVersions: [MODERN, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
        capabilities: { tools: {} },
        cacheScope: 'public',
      })
      for (const method of ['initialize', 'ping']) {
        const response = await modern(hub(), method, {}, { key })
        expect([response.status, codeOf(response)], method).to.deep.equal([404, -32_601])
      }
    })

    it('must send headers that match its body', async () => {
      const call = (headers: Record<string, string>) =>
        modern(hub(), 'tools/call', { name: 'hub_balance' }, { key, headers })
      for (const headers of [
        { 'mcp-protocol-version': '2025-11-25' },
        { 'mcp-method': 'tools/list' },
        { 'mcp-name': 'hub_topup' },
      ]) {
        const response = await call(headers)
        expect([response.status, codeOf(response)], JSON.stringify(headers)).to.deep.equal([
          400, -32_020,
        ])
      }
      const encoded = Buffer.from('hub_balance').toString('base64')
      expect(await call({ 'mcp-name': `=?base64?${encoded}?=` })).to.include({ status: 200 })
    })

    it('must send its version and capabilities', async () => {
      const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/list' }
      for (const meta of [
        {},
        { 'io.modelcontextprotocol/protocolVersion': MODERN },
        { 'io.modelcontextprotocol/clientCapabilities': {} },
      ]) {
        const response = await legacy(hub(), 'tools/list', { _meta: meta }, { key, headers })
        expect([response.status, codeOf(response)], JSON.stringify(meta)).to.deep.equal([
          400, -32_602,
        ])
      }
    })
  })
})
