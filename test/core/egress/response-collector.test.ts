import type { RequestListener, ServerResponse } from 'node:http'
import { createServer as createRaw, type Socket } from 'node:net'
import { expect } from 'chai'
import type { Egress } from '../../../core/egress/http.ts'
import { eventually } from '../../support/eventually.ts'
import { rejection } from '../../support/rejection.ts'
import { against, ask, realSockets, withEgress } from './fixture.ts'

/** A server that sends these bytes on the first input, and reads no further. */
const sending = (bytes: string) => () =>
  createRaw((socket) => void socket.once('data', () => socket.pause().write(bytes)))

const OK = 'HTTP/1.1 200 OK\r\n'
const LATE = { code: 'upstream_timeout' }

describe('the response collector', () => {
  realSockets()

  const whole: readonly [string, string, string][] = [
    ['chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`, '200 abc'],
    ['a response without body', 'HTTP/1.1 204 No Content\r\n\r\n', '204 '],
    ['an empty body', `${OK}Content-Length: 0\r\n\r\n`, '200 '],
    [
      'a body, dropping its trailers,',
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-A: 1\r\n\r\n`,
      '200 a',
    ],
    [
      'the final response after interim ones',
      `HTTP/1.1 102 Processing\r\nX-A: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-A: 2\r\n\r\n` +
        `${OK}Content-Length: 1\r\n\r\na`,
      '200 a',
    ],
  ]
  for (const [title, bytes, expected] of whole) {
    it(`collects ${title} as a whole`, async () => {
      await against(
        undefined,
        async (egress) => {
          const { status, headers, body } = await ask(egress)
          expect(`${status} ${String(body)}`).to.equal(expected)
          expect(headers).not.to.have.property('x-a')
        },
        sending(bytes),
      )
    })
  }

  it('fails if only an interim response arrives', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'
    await against(
      undefined,
      async (egress) => {
        const error = await rejection(ask(egress))
        expect(error).to.include({ code: 'upstream_unreachable', sent: true, response: undefined })
      },
      () => createRaw((socket) => void socket.once('data', () => socket.end(interim))),
    )
  })

  it('collects until the connection closes if no length is declared', async () => {
    const make = () => createRaw((it) => void it.once('data', () => it.end(`${OK}\r\nabc`)))
    await against(
      undefined,
      async (egress) => expect(String(await bodyOf(egress))).to.equal('abc'),
      make,
    )
  })

  it('returns the declared length for HEAD', async () => {
    await against(
      undefined,
      async (egress) => {
        const { headers, body } = await ask(egress, { method: 'HEAD' })
        expect([headers['content-length'], body.length]).to.deep.equal(['7', 0])
      },
      sending(`${OK}Content-Length: 7\r\n\r\n`),
    )
  })

  it('accepts a response sent before the whole request was read', async () => {
    const bytes = 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 5\r\n\r\nearly'
    await against(
      undefined,
      async (egress) => {
        const { status, body } = await ask(egress, { method: 'POST', body: 'x'.repeat(8_000_000) })
        expect(`${status} ${String(body)}`).to.equal('413 early')
      },
      sending(bytes),
    )
  })

  it('reuses the connection for the next request', async () => {
    await against(undefined, async (egress, seller) => {
      for (let n = 0; n < 9; n++) await ask(egress, { method: 'POST', body: 'a' })
      expect(seller.seen).to.have.length(9)
      expect(seller.connections(), 'it is free a moment later').to.be.lessThan(3)
    })
  })

  const bodyOf = async (egress: Egress) => (await ask(egress)).body
})

describe('a caller that aborts', () => {
  realSockets()

  it('before the request is sent gets an error at once, and nothing is sent', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const resolver = () => promise
    await withEgress({ resolver }, async (egress) => {
      const url = 'http://slow.example/'
      const caller = new AbortController()
      const left = ask(egress, { url, signal: caller.signal })
      caller.abort()
      expect(await rejection(left)).to.include({ ...LATE, sent: false })
      const late = ask(egress, { url, timeouts: { totalMs: 20 } })
      expect(await rejection(late)).to.include({ ...LATE, sent: false })
      reject(new Error('no such name'))
    })
  })

  it('during the connection sends nothing on it', async () => {
    await against(undefined, async (egress, seller) => {
      const caller = new AbortController()
      const left = ask(egress, { method: 'POST', body: 'never', signal: caller.signal })
      caller.abort()
      expect(await rejection(left)).to.include({ ...LATE, sent: false })
      expect((await ask(egress)).status).to.equal(200)
      expect(seller.seen.map(({ body }) => body)).to.deep.equal([''])
    })
  })

  it('before the request opens no connection', async () => {
    await against(undefined, async (egress, seller) => {
      const error = await rejection(ask(egress, { signal: AbortSignal.abort() }))
      expect(error).to.include({ ...LATE, sent: false })
      expect(seller.connections()).to.equal(0)
    })
  })

  const phases: readonly [string, (response: ServerResponse) => void][] = [
    ['while waiting for the headers', () => undefined],
    ['while receiving the body', (response) => void response.write('half')],
  ]
  for (const [title, begin] of phases) {
    it(`${title} closes the connection`, async () => {
      const caller = new AbortController()
      let socket: Socket | undefined
      const answer: RequestListener = (request, response) => {
        socket = request.socket
        begin(response)
        caller.abort()
      }
      await against(answer, async (egress) => {
        const error = await rejection(ask(egress, { signal: caller.signal }))
        expect(error).to.include({ ...LATE, sent: true })
        await eventually(() => socket!.destroyed)
      })
    })
  }

  it('after the response changes nothing', async () => {
    await against(undefined, async (egress, seller) => {
      const caller = new AbortController()
      const { body } = await ask(egress, { signal: caller.signal })
      caller.abort()
      for (let n = 0; n < 9; n++) await ask(egress)
      expect(String(body)).to.equal('ok')
      expect(seller.connections(), 'the first one lives').to.be.lessThan(3)
    })
  })
})
