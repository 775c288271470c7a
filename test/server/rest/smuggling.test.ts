import { connect } from 'node:net'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { watched, work } from '../../stories/attacks/watched.ts'
import { useHub } from '../../support/suite.ts'

/** Sends exactly this; what came until the other side closed. */
const raw = (port: number, text: string): Promise<string> =>
  new Promise((resolve) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
    socket.on('close', () => resolve(said)).on('error', () => {})
    socket.setTimeout(3_000, () => socket.destroy())
  })

const SECOND = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const post = (headers: string, body: string): string =>
  `POST /v1/search HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body}`

/** What servers in a row could read in different ways. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'A024 a length and pieces': post('Content-Length: 6\r\nTransfer-Encoding: chunked', '0\r\n\r\nG'),
  'A025 the size of a piece with 0x': post('Transfer-Encoding: chunked', '0x1\r\nx\r\n0\r\n\r\n'),
  'A026 a header that goes on in the next line': [
    'GET /v1/services HTTP/1.1',
    'Host: a',
    'X: a',
    ' b',
    '',
    '',
  ].join('\r\n'),
  'A027 a line that names no version': 'GET /v1/services\r\n\r\n',
  'two lengths': post('Content-Length: 2\r\nContent-Length: 3', '{}'),
  'a length below zero': post('Content-Length: -1', ''),
  'a name with a space': 'GET /v1/services HTTP/1.1\r\nHost : a\r\n\r\n',
}

describe('a request that can be read in two ways', () => {
  const hub = useHub({ plugins: [watched], config: { jobs: false } })
  const port = () => Number(new URL(hub().url).port)

  for (const [what, text] of Object.entries(AMBIGUOUS)) {
    it(`${what}: 400, and what follows it is not read`, async () => {
      const said = await raw(port(), `${text}${SECOND}`)
      expect(said).to.match(/^HTTP\/1\.1 400 /)
      expect(said.match(/HTTP\/1\.1 \d{3}/g), 'one answer').to.have.length(1)
    })
  }

  for (const path of ['/v1/services', '/proxy/watched/a', '/mcp', '/services']) {
    it(`without a host: 400, as a problem: ${path}`, async () => {
      const said = await raw(port(), `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`)
      expect(said)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.to.include('"code":"malformed_request"')
      const old = await raw(port(), 'GET /livez HTTP/1.0\r\n\r\n')
      expect(old, 'which HTTP/1.0 did not know').to.match(/^HTTP\/1\.1 200 /)
    })
  }

  for (const [path, where] of Object.entries({
    '/proxy/watched/../../v1/services': 'plain',
    '/proxy/watched/%2e%2e/%2e%2e/admin': 'encoded',
    '/proxy/watched/%252e%252e/admin': 'encoded twice',
    '/proxy/watched/a/./b': 'of one dot',
    '/proxy/watched//a': 'empty',
    '/proxy/watched/..%5cadmin': 'with the other slash',
  })) {
    it(`A028 a segment that leads elsewhere, ${where}: 400 malformed_path, no work`, async () => {
      const { apiKey, keyId } = await hub().agent()
      await hub().credit(keyId, usd('1'))
      const done = work.calls.length
      for (const method of ['GET', 'POST']) {
        const said = await raw(
          port(),
          `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n` +
            'Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
        )
        expect(said).to.match(/^HTTP\/1\.1 400 /)
        expect(said).to.include('"code":"malformed_path"').and.include('"charged_microdollars":0')
      }
      expect(work.calls, 'what the service saw').to.have.length(done)
      expect(await hub().balance(keyId)).to.equal(usd('1'))
    })
  }

  it('A022 A023 two keys, or two names of the server: 400 duplicate_header, free', async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const key = `Authorization: Bearer ${apiKey}`
    const body = '{"words":"a"}'
    const call = (headers: string) =>
      `POST /proxy/echo/say HTTP/1.1\r\n${headers}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    for (const headers of [`Host: a\r\n${key}\r\n${key}`, `Host: a\r\nHost: b\r\n${key}`]) {
      const said = await raw(port(), call(headers))
      expect(said).to.match(/^HTTP\/1\.1 400 /)
      expect(said).to.include('"code":"duplicate_header"').and.include('"charged_microdollars":0')
    }
    expect(await raw(port(), call(`Host: a\r\n${key}`)), 'one of each').to.match(/^HTTP\/1\.1 200 /)
    expect(await hub().balance(keyId)).to.equal(usd('0.9999'))
  })
})
