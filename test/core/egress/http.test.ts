import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer as createTls } from 'node:https'
import { createServer as createRaw } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { EgressError } from '../../../core/egress/errors.ts'
import type { EgressRequest } from '../../../core/egress/http.ts'
import { parseSandboxHosts } from '../../../core/egress/sandbox.ts'
import { rejection } from '../../support/rejection.ts'
import { BAD_TLS } from './badtls.ts'
import { against, ask, listen, realSockets, withEgress } from './fixture.ts'

type Sent = Partial<EgressRequest>

async function fault(answer: RequestListener, more: Sent = {}): Promise<EgressError> {
  const error = await against(answer, (egress) => rejection(ask(egress, more)))
  if (!(error instanceof EgressError)) throw error
  return error
}

describe('an egress request', () => {
  realSockets()

  it('sends user agent, headers and body, and requests an uncompressed body', async () => {
    await against(undefined, async (egress, seller) => {
      await ask(egress, {
        url: 'http://seller.test/a%20b?c=d#e',
        method: 'post',
        headers: { 'X-A': '1', 'Accept-Encoding': 'gzip' },
        body: 'täxt',
      })
      const [seen] = seller.seen
      expect(seen).to.include({ method: 'POST', url: '/a%20b?c=d', body: 'täxt' })
      expect(seen?.headers).to.include({
        host: 'seller.test',
        'user-agent': 'agenthub-test',
        'accept-encoding': 'identity',
        'x-a': '1',
        'content-length': '5',
      })
    })
  })

  it('returns status, headers and body unchanged', async () => {
    const packed = gzipSync('a'.repeat(100_000))
    await against(
      (_, response) => {
        response.writeHead(
          418,
          [
            ['X-Twice', '1'],
            ['X-Twice', '2'],
            ['__proto__', 'x'],
            ['Content-Encoding', 'gzip'],
          ].flat(),
        )
        response.end(packed)
      },
      async (egress) => {
        const { status, headers, body } = await ask(egress)
        expect([status, headers['x-twice']]).to.deep.equal([418, ['1', '2']])
        expect(body.equals(packed)).to.equal(true)
      },
    )
  })

  for (const method of ['TRACE', 'CONNECT', 'FOO', '', 'GET / HTTP/1.1\r\nX: ']) {
    it(`A021 refuses the method ${JSON.stringify(method)}`, async () => {
      await against(undefined, async (egress, seller) => {
        const error = await rejection(ask(egress, { method }))
        expect(error).to.include({ code: 'validation_failed', sent: false })
        expect(seller.connections()).to.equal(0)
      })
    })
  }

  for (const headers of [{ 'x-a': 'a\r\nb: c' }, { 'a b': 'c' }, { expect: '100-continue' }]) {
    it(`A020 refuses the headers ${JSON.stringify(headers)}`, async () => {
      await against(undefined, async (egress, seller) => {
        const error = await rejection(ask(egress, { headers }))
        expect(error).to.include({ code: 'validation_failed', sent: false })
        expect(seller.seen).to.deep.equal([])
      })
    })
  }

  for (const status of [300, 301, 302, 303, 307, 308]) {
    it(`A015 does not follow a ${status}`, async () => {
      const canary = await listen()
      const error = await fault((_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${canary.port}/` }).end('moved')
      })
      expect(error).to.include({ code: 'upstream_redirect', sent: true })
      expect(error.response?.status).to.equal(status)
      expect(canary.connections()).to.equal(0)
      await canary.stop()
    })
  }

  it('returns a 304', async () => {
    await against(
      (_, response) => response.writeHead(304).end(),
      async (egress) => expect((await ask(egress)).status).to.equal(304),
    )
  })
})

describe('the limits of a response', () => {
  realSockets()

  it('refuse too many bytes, declared or not', async () => {
    const announced = await fault((_, response) => response.end('a'.repeat(1_001)), {
      maxBytes: 1_000,
    })
    const endless = await fault(
      (_, response) => {
        const timer = setInterval(() => response.write('a'.repeat(65_536)), 1)
        response.on('close', () => clearInterval(timer))
      },
      { maxBytes: 300_000 },
    )
    for (const error of [announced, endless]) {
      expect(error).to.include({ code: 'upstream_too_large', sent: true })
      expect(error.response?.status).to.equal(200)
      expect(error.response?.body.length).to.equal(0)
    }
  })

  it('allow bytes exactly at the limit', async () => {
    await against(
      (_, response) => response.end('a'.repeat(1_000)),
      async (egress) =>
        expect((await ask(egress, { maxBytes: 1_000 })).body.length).to.equal(1_000),
    )
  })

  it('allow 100 KiB of headers, and refuse 140 KiB', async () => {
    const headers =
      (kib: number): RequestListener =>
      (_, response) => {
        response.writeHead(402, { 'payment-required': 'a'.repeat(kib * 1_024) }).end()
      }
    await against(headers(100), async (egress) => {
      expect((await ask(egress)).headers['payment-required']).to.have.length(102_400)
    })
    expect(await fault(headers(140))).to.have.property('code', 'upstream_too_large')
  })

  const never: RequestListener = () => undefined
  const halves: RequestListener = (_, response) => void response.write('half')
  const drip: RequestListener = (_, response) => {
    const timer = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(timer))
  }
  const late: readonly [string, RequestListener, Sent['timeouts']][] = [
    ['for the headers', never, { headersMs: 150 }],
    ['for the rest of the body', halves, { bodyMs: 150 }],
    ['for a body that drips', drip, { totalMs: 250 }],
    ['for everything', never, { totalMs: 150 }],
  ]
  for (const [title, answer, timeouts] of late) {
    it(`limit the time ${title}`, async () => {
      const started = performance.now()
      expect(await fault(answer, { timeouts })).to.have.property('code', 'upstream_timeout')
      expect(performance.now() - started, 'no default came before it').to.be.lessThan(9_000)
    })
  }

  it('end when the caller aborts', async () => {
    const caller = new AbortController()
    const { signal } = caller
    const error = await fault(() => caller.abort(), { signal })
    expect(error).to.include({ code: 'upstream_timeout', sent: true })
    expect(await fault(halves, { signal: AbortSignal.abort() })).to.have.property(
      'code',
      'upstream_timeout',
    )
  })
})

describe('a misbehaving destination', () => {
  realSockets()

  it('that hangs up is unreachable', async () => {
    const error = await fault((request) => request.socket.destroy())
    expect(error).to.include({ code: 'upstream_unreachable', sent: true })
  })

  it('that hangs up in the middle of the body is unreachable', async () => {
    const error = await fault((request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => request.socket.destroy())
    })
    expect(error).to.include({ code: 'upstream_unreachable', sent: true })
    expect(error.response?.status).to.equal(200)
  })

  it('that does not listen is unreachable, and nothing is sent', async () => {
    const stoppedServer = await listen()
    await stoppedServer.stop()
    const sandboxHosts = parseSandboxHosts(`seller.test=127.0.0.1:${stoppedServer.port}`)
    const error = await withEgress({ sandboxHosts }, (egress) => rejection(ask(egress)))
    expect(error).to.include({ code: 'upstream_unreachable', sent: false })
    expect(error.message).not.to.match(/\d/)
  })

  const OK = 'HTTP/1.1 200 OK\r\n'
  for (const answer of [
    'SSH-2.0-x\r\n',
    `${OK}Content-Length: x\r\n\r\n`,
    `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
  ]) {
    it(`that does not speak HTTP causes an error: ${JSON.stringify(answer)}`, async () => {
      const server = createRaw((socket) => {
        socket.on('error', () => undefined)
        socket.once('data', () => socket.end(answer))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as { port: number }
      const sandboxHosts = parseSandboxHosts(`seller.test=127.0.0.1:${port}`)
      const error = await withEgress({ sandboxHosts }, (egress) => rejection(ask(egress)))
      server.close()
      expect(error).to.include({ code: 'upstream_error', sent: true })
    })
  }

  it('A086 with an invalid certificate is refused even if Node is set to accept it', async () => {
    const seller = await listen(undefined, (listener) => createTls(BAD_TLS, listener))
    const sandboxHosts = parseSandboxHosts(`badtls.test=127.0.0.1:${seller.port}`)
    const emitWarning = process.emitWarning.bind(process)
    // Silences Node's warning about the variable.
    process.emitWarning = () => undefined
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const error = await withEgress({ sandboxHosts }, (egress) =>
        rejection(ask(egress, { url: 'https://badtls.test/' })),
      )
      expect(error).to.include({ code: 'upstream_tls', sent: false })
      expect(seller.seen).to.deep.equal([])
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      await seller.stop()
      process.emitWarning = emitWarning
    }
  })

  it('that does not speak TLS is refused', async () => {
    await against(undefined, async (egress, seller) => {
      const error = await rejection(ask(egress, { url: 'https://seller.test/' }))
      expect(error).to.include({ code: 'upstream_tls', sent: false })
      expect(seller.seen).to.deep.equal([])
    })
  })
})
