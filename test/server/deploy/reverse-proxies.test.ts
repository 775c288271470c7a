import { once } from 'node:events'
import { request as requestPlain } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { piped, Source } from '../../stories/piped-service.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { requirePrograms } from '../../support/skip.ts'
import { useHub } from '../../support/suite.ts'
import {
  NAME,
  type ReverseProxy,
  type StartProxy,
  startCaddy,
  startNginx,
} from './reverse-proxy.ts'

/** Address of the client; the proxy is at another one. */
const CLIENT = '127.0.0.77'
const MIB = 1_048_576

const PROXIES: Readonly<Record<string, StartProxy>> = { nginx: startNginx, caddy: startCaddy }

for (const [program, start] of Object.entries(PROXIES)) {
  describe(`${program} with the configuration of the kit`, () => {
    const source = new Source()
    const hub = useHub(async () => {
      await source.open()
      return { config: { proxies: 1 }, plugins: [piped(source)] }
    })
    let proxy: ReverseProxy | undefined
    let session: ClientHttp2Session
    let ada: TestAgent

    before(async function () {
      requirePrograms(this, program, 'openssl')
      const running = Number(new URL(hub().url).port)
      proxy = await start([running, await freePort()]) // one of the two hubs is away
      ada = await hub().agent()
      await hub().credit(ada.keyId, usd('1'))
    })
    beforeEach(() => {
      const { port, certificate: ca } = proxy!
      const address = { host: '127.0.0.1', port, localAddress: CLIENT }
      const options = { ...address, ca, servername: NAME, ALPNProtocols: ['h2'] }
      session = connect(`https://${NAME}`, { createConnection: () => connectTls(options) })
    })
    afterEach(() => session.destroy())
    after(async () => {
      await proxy?.stop()
      await source.close()
    })

    /** Sends a request by HTTP/2. */
    const send = (path: string, body?: string, headers: Record<string, string> = {}) => {
      const own = { authorization: `Bearer ${ada.apiKey}`, 'content-type': 'application/json' }
      const method = body === undefined ? 'GET' : 'POST'
      const stream = session.request({ ':path': path, ':method': method, ...own, ...headers })
      stream.end(body)
      return stream
    }
    const read = async (stream: ClientHttp2Stream) => {
      const [headers] = await once(stream, 'response')
      let bytes = 0
      let text = ''
      for await (const piece of stream) {
        bytes += piece.length
        if (text.length < MIB) text += piece
      }
      return { status: Number(headers[':status']), headers, bytes, text }
    }

    it('serves HTTP/2 with TLS, also while one of two hubs is away', async () => {
      for (let i = 0; i < 10; i++) {
        const { status, text } = await read(send('/proxy/echo/say', '{"words":"hello"}'))
        expect([status, text]).to.deep.equal([200, '{"words":"hello"}'])
      }
      expect(session.alpnProtocol).to.equal('h2')
    })

    it('redirects HTTP to HTTPS', async () => {
      const address = { host: '127.0.0.1', port: proxy!.plainPort, path: '/docs' }
      const request = requestPlain({ ...address, headers: { host: NAME } }).end()
      const [{ statusCode, headers }] = await once(request, 'response')
      request.destroy()
      expect(statusCode).to.equal(308)
      expect(headers.location).to.equal(`https://${NAME}/docs`)
    })

    it('passes each event of a stream at once', async () => {
      const opened = source.next()
      const stream = send('/proxy/piped/on', '{}')
      let received = ''
      stream.on('data', (piece) => (received += piece))
      const upstream = await opened
      for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
        upstream.write(event) // the next one is sent when this one has arrived
        await eventually(() => received.endsWith(event), 10_000)
      }
      upstream.end()
      await once(stream, 'end')
    })

    it('passes large bodies, and leaves their limits to the hub', async () => {
      const text = 'x'.repeat(400_000)
      const accepted = await read(send('/proxy/echo/say', JSON.stringify({ words: text })))
      expect(accepted.text, 'of the service').to.include('"code":"text_too_large"')
      const down = await read(send('/proxy/piped/large', '{"mebibytes":32}'))
      expect([down.status, down.bytes]).to.deep.equal([200, 32 * MIB])
      const refused = await read(send('/v1/keys', JSON.stringify({ label: 'x'.repeat(4 * MIB) })))
      expect(refused.status).to.equal(413)
      expect(refused.text).to.include('"code":"body_too_large"').and.include('"charged')
    })

    it('passes the largest headers of x402', async () => {
      const payment = Buffer.alloc(12_000, 'a').toString('base64') // 16,000 characters
      const answer = await read(
        send('/proxy/weather/now', '{}', { authorization: '', 'payment-signature': payment }),
      )
      expect(answer.text).to.include('charged_microdollars')
    })

    it('passes on the address of the client, whatever the client claims', async () => {
      await read(send('/v1/services', undefined, { 'x-forwarded-for': '6.6.6.6' }))
      const logged = () => hub().logged().split('\n')
      const isIts = (line: string) => line.includes('"/v1/services"')
      await eventually(() => logged().some(isIts))
      expect(JSON.parse(logged().findLast(isIts)!)).to.include({ client: CLIENT })
    })

    if (program === 'nginx') {
      it('hides the metrics', async () => {
        expect((await read(send('/metrics'))).status).to.equal(404)
      })
    }
  })
}
