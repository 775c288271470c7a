import { connect } from 'node:net'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { watchedService, work } from '../../stories/attacks/watched-service.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from '../mcp/ask.ts'

/** Sends raw text and returns everything received until the connection closes. */
const raw = (port: number, text: string): Promise<string> =>
  new Promise((resolve) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
    socket.on('close', () => resolve(received)).on('error', () => {})
    socket.setTimeout(3_000, () => socket.destroy())
  })

const SECOND = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const post = (headers: string, body: string): string =>
  `POST /v1/search HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body}`

/** Requests that two servers could interpret differently. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'A024 Content-Length and chunks': post(
    'Content-Length: 6\r\nTransfer-Encoding: chunked',
    '0\r\n\r\nG',
  ),
  'A025 a chunk size with 0x': post('Transfer-Encoding: chunked', '0x1\r\nx\r\n0\r\n\r\n'),
  'A026 a folded header': ['GET /v1/services HTTP/1.1', 'Host: a', 'X: a', ' b', '', ''].join(
    '\r\n',
  ),
  'A027 a request line without version': 'GET /v1/services\r\n\r\n',
  'two lengths': post('Content-Length: 2\r\nContent-Length: 3', '{}'),
  'a length below zero': post('Content-Length: -1', ''),
  'a name with a space': 'GET /v1/services HTTP/1.1\r\nHost : a\r\n\r\n',
}

describe('an ambiguous request', () => {
  const hub = useHub({ plugins: [watchedService] })
  const port = () => Number(new URL(hub().url).port)

  for (const [what, text] of Object.entries(AMBIGUOUS)) {
    it(`is 400 and closes the connection: ${what}`, async () => {
      const received = await raw(port(), `${text}${SECOND}`)
      expect(received).to.match(/^HTTP\/1\.1 400 /)
      expect(received.match(/HTTP\/1\.1 \d{3}/g), 'one answer').to.have.length(1)
    })
  }

  for (const path of ['/v1/services', '/proxy/watched/a', '/mcp', '/services']) {
    it(`is a 400 problem without a Host header: ${path}`, async () => {
      const received = await raw(port(), `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`)
      expect(received)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.to.include('"code":"malformed_request"')
      const old = await raw(port(), 'GET /livez HTTP/1.0\r\n\r\n')
      expect(old, 'which HTTP/1.0 did not know').to.match(/^HTTP\/1\.1 200 /)
    })
  }

  const sendTarget = (target: string, host: string) =>
    raw(port(), `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  for (const path of ['/livez', '/v1/services', '/proxy/watched/a', '/mcp', '/services']) {
    it(`A130 is a 400 problem if its target names another host than Host: ${path}`, async () => {
      for (const [target, host] of [
        ['http://a.test', 'b.test'],
        ['http://a.test:81', 'a.test'],
        ['http://a.test', 'a.test:81'],
        ['http://user@a.test', 'a.test'],
        ['ftp://a.test', 'a.test'],
      ] as const) {
        const received = await sendTarget(`${target}${path}`, host)
        expect(received, target).to.match(/^HTTP\/1\.1 400 /)
        expect(received, target).to.include('"code":"malformed_request"')
      }
    })
  }

  it('is none if the absolute target names the same host', async () => {
    for (const [target, host] of [
      ['http://a.test/livez', 'A.test'],
      ['http://a.test:80/livez', 'a.test'],
      ['https://a.test/livez', 'a.test:443'],
    ] as const) {
      expect(await sendTarget(target, host), target).to.match(/^HTTP\/1\.1 200 /)
    }
  })

  for (const path of [
    '/v1/services/%',
    '/v1/services/%zz',
    '/services/%ff',
    '/%c3%28',
    '/%E0%A4',
  ]) {
    it(`A131 is 400 malformed_path for malformed escapes: ${path}`, async () => {
      const received = await sendTarget(path, 'a')
      expect(received).to.match(/^HTTP\/1\.1 400 /)
      expect(received).to.include('"code":"malformed_path"')
    })
  }

  for (const [path, where] of Object.entries({
    '/proxy/watched/../../v1/services': 'plain',
    '/proxy/watched/%2e%2e/%2e%2e/admin': 'encoded',
    '/proxy/watched/%252e%252e/admin': 'encoded twice',
    '/proxy/watched/a/./b': 'of one dot',
    '/proxy/watched/.': 'of one dot at the end',
    '/proxy/watched//a': 'empty',
    '/proxy//watched/a': 'empty before the service',
    '/proxy/%00/a': 'a service of a control character',
    '/proxy/watched/..%5cadmin': 'with the other slash',
    '/proxy/watched/a%252fb': 'a slash encoded twice',
    '/proxy/watched/a%00': 'with NUL',
    '/proxy/watched/a%0D%0AHost:x': 'with a line break',
    '/proxy/watched/a%7F': 'with DEL',
  })) {
    it(`A028 is 400 malformed_path and reaches no service (${where})`, async () => {
      const { apiKey, keyId } = await hub().agent()
      await hub().credit(keyId, usd('1'))
      const done = work.calls.length
      for (const method of ['GET', 'POST']) {
        const received = await raw(
          port(),
          `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n` +
            'Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
        )
        expect(received).to.match(/^HTTP\/1\.1 400 /)
        expect(received)
          .to.include('"code":"malformed_path"')
          .and.include('"charged_microdollars":0')
      }
      expect(work.calls, 'what the service saw').to.have.length(done)
      expect(await hub().balance(keyId)).to.equal(usd('1'))
    })
  }

  it('A028 is malformed_path and reaches no service over MCP, nor in a quote', async () => {
    const { apiKey } = await hub().agent()
    const done = work.calls.length
    for (const path of [
      '/things/..',
      '/things/.',
      '/things/..%2fa',
      '/things/a\\b',
      '/things//a',
    ]) {
      const tool = { service: 'watched', endpoint: `POST ${path}`, input: {} }
      const { isError, data } = await callTool(hub(), apiKey, 'hub_call', tool)
      expect(isError, path).to.equal(true)
      expect(data, path).to.include({ error: 'malformed_path', charged_usd: '0.00' })
      const order = { slug: 'watched', method: 'POST', path, input: {} }
      const { status, body } = await ask(hub().url, '/v1/quotes', { key: apiKey, body: order })
      expect([status, body['code']], path).to.deep.equal([400, 'malformed_path'])
    }
    expect(work.calls, 'what the service saw').to.have.length(done)
  })

  it('A022 A023 is 400 duplicate_header without charge for two keys or two hosts', async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const key = `Authorization: Bearer ${apiKey}`
    const body = '{"words":"a"}'
    const call = (headers: string) =>
      `POST /proxy/echo/say HTTP/1.1\r\n${headers}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    for (const headers of [`Host: a\r\n${key}\r\n${key}`, `Host: a\r\nHost: b\r\n${key}`]) {
      const received = await raw(port(), call(headers))
      expect(received).to.match(/^HTTP\/1\.1 400 /)
      expect(received)
        .to.include('"code":"duplicate_header"')
        .and.include('"charged_microdollars":0')
    }
    expect(await raw(port(), call(`Host: a\r\n${key}`)), 'one of each').to.match(/^HTTP\/1\.1 200 /)
    expect(await hub().balance(keyId)).to.equal(usd('0.9999'))
  })
})
