import type { RequestListener, ServerResponse } from 'node:http'
import { createServer as createRaw, type Socket } from 'node:net'
import { expect } from 'chai'
import type { Egress } from '../../../core/egress/http.ts'
import { eventually } from '../../support/eventually.ts'
import { against, ask, realSockets, rejection, withEgress } from './world.ts'

/** A server that says these very bytes as soon as it hears anything, and reads no further. */
const saying = (bytes: string) => () =>
  createRaw((socket) => void socket.once('data', () => socket.pause().write(bytes)))

const OK = 'HTTP/1.1 200 OK\r\n'
const LATE = { code: 'upstream_timeout' }

describe('an answer that is taken whole', () => {
  realSockets()

  const whole: readonly [string, string, string][] = [
    ['pieces', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`, '200 abc'],
    ['none at all', 'HTTP/1.1 204 No Content\r\n\r\n', '204 '],
    ['no bytes', `${OK}Content-Length: 0\r\n\r\n`, '200 '],
    [
      'trailers, which are let go',
      `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-A: 1\r\n\r\n`,
      '200 a',
    ],
    [
      'one after interim ones',
      `HTTP/1.1 102 Processing\r\nX-A: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-A: 2\r\n\r\n` +
        `${OK}Content-Length: 1\r\n\r\na`,
      '200 a',
    ],
  ]
  for (const [title, bytes, expected] of whole) {
    it(title, async () => {
      await against(
        undefined,
        async (egress) => {
          const { status, headers, body } = await ask(egress)
          expect(`${status} ${String(body)}`).to.equal(expected)
          expect(headers).not.to.have.property('x-a')
        },
        saying(bytes),
      )
    })
  }

  it('is none, where only an interim one came', async () => {
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

  it('until the connection ends, where nothing else says where it does', async () => {
    const make = () => createRaw((it) => void it.once('data', () => it.end(`${OK}\r\nabc`)))
    await against(
      undefined,
      async (egress) => expect(String(await bodyOf(egress))).to.equal('abc'),
      make,
    )
  })

  it('of HEAD, with the length of what there would be', async () => {
    await against(
      undefined,
      async (egress) => {
        const { headers, body } = await ask(egress, { method: 'HEAD' })
        expect([headers['content-length'], body.length]).to.deep.equal(['7', 0])
      },
      saying(`${OK}Content-Length: 7\r\n\r\n`),
    )
  })

  it('that comes before all of the request was read', async () => {
    const bytes = 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 5\r\n\r\nearly'
    await against(
      undefined,
      async (egress) => {
        const { status, body } = await ask(egress, { method: 'POST', body: 'x'.repeat(8_000_000) })
        expect(`${status} ${String(body)}`).to.equal('413 early')
      },
      saying(bytes),
    )
  })

  it('leaves its connection to the next one', async () => {
    await against(undefined, async (egress, seller) => {
      for (let n = 0; n < 9; n++) await ask(egress, { method: 'POST', body: 'a' })
      expect(seller.seen).to.have.length(9)
      expect(seller.connections(), 'it is free a moment later').to.be.lessThan(3)
    })
  })

  const bodyOf = async (egress: Egress) => (await ask(egress)).body
})

describe('who gives up', () => {
  realSockets()

  it('before the request could leave is told at once, and nothing is sent', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const resolver = () => promise
    await withEgress({ resolver }, async (egress) => {
      const url = 'http://slow.example/'
      const patience = new AbortController()
      const left = ask(egress, { url, signal: patience.signal })
      patience.abort()
      expect(await rejection(left)).to.include({ ...LATE, sent: false })
      const late = ask(egress, { url, timeouts: { totalMs: 20 } })
      expect(await rejection(late)).to.include({ ...LATE, sent: false })
      reject(new Error('no such name'))
    })
  })

  it('while the connection is made sends nothing on it', async () => {
    await against(undefined, async (egress, seller) => {
      const patience = new AbortController()
      const left = ask(egress, { method: 'POST', body: 'never', signal: patience.signal })
      patience.abort()
      expect(await rejection(left)).to.include({ ...LATE, sent: false })
      expect((await ask(egress)).status).to.equal(200)
      expect(seller.seen.map(({ body }) => body)).to.deep.equal([''])
    })
  })

  it('had given up before, and nobody is asked', async () => {
    await against(undefined, async (egress, seller) => {
      const error = await rejection(ask(egress, { signal: AbortSignal.abort() }))
      expect(error).to.include({ ...LATE, sent: false })
      expect(seller.connections()).to.equal(0)
    })
  })

  const phases: readonly [string, (response: ServerResponse) => void][] = [
    ['while the headers are waited for', () => undefined],
    ['while the body comes', (response) => void response.write('half')],
  ]
  for (const [title, begin] of phases) {
    it(`${title} closes the connection`, async () => {
      const patience = new AbortController()
      let socket: Socket | undefined
      const answer: RequestListener = (request, response) => {
        socket = request.socket
        begin(response)
        patience.abort()
      }
      await against(answer, async (egress) => {
        const error = await rejection(ask(egress, { signal: patience.signal }))
        expect(error).to.include({ ...LATE, sent: true })
        await eventually(() => socket!.destroyed)
      })
    })
  }

  it('after the answer changes nothing', async () => {
    await against(undefined, async (egress, seller) => {
      const patience = new AbortController()
      const { body } = await ask(egress, { signal: patience.signal })
      patience.abort()
      for (let n = 0; n < 9; n++) await ask(egress)
      expect(String(body)).to.equal('ok')
      expect(seller.connections(), 'the first one lives').to.be.lessThan(3)
    })
  })
})
