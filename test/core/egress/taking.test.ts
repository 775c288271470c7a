import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { createServer as createRaw, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import type { Egress, EgressRequest } from '../../../core/egress/http.ts'
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

describe('an answer that comes as a stream', () => {
  realSockets()

  /** What is asked, of a server whose part the test plays. */
  async function played(
    more: Partial<EgressRequest>,
    work: (
      asking: ReturnType<Egress['request']>,
      response: ServerResponse,
      egress: Egress,
    ) => Promise<void>,
  ): Promise<void> {
    const began = Promise.withResolvers<ServerResponse>()
    await against(
      (_, response) => began.resolve(response),
      async (egress) => {
        const asking = ask(egress, more)
        await work(asking, await began.promise, egress)
      },
    )
  }

  const AT_ONCE = { streams: 'at-once' } as const

  it('from its first byte on', async () => {
    await played(AT_ONCE, async (asking, response) => {
      response.write('one ')
      const { body, stream } = await asking
      expect(body).to.have.length(0)
      const [first] = await once(stream!, 'data')
      expect(String(first)).to.equal('one ')
      response.end('two')
      expect(await text(stream!)).to.equal('two')
    })
  })

  it('from its first byte on, though it has none', async () => {
    await played(AT_ONCE, async (asking, response) => {
      response.end()
      expect(await text((await asking).stream!)).to.equal('')
    })
  })

  it('once it is too large, with what had come before', async () => {
    const sent = Buffer.alloc(3_000_000, 'abc')
    await played({ streams: true, maxBytes: 100_000 }, async (asking, response) => {
      response.end(sent)
      const { body, stream } = await asking
      expect(body.length).to.be.greaterThan(100_000)
      expect(body.equals(sent.subarray(0, body.length))).to.equal(true)
      expect((await buffer(stream!)).equals(sent)).to.equal(true)
    })
  })

  it('never, where it is small or no success', async () => {
    const large = 'a'.repeat(200_000)
    await played({ streams: true }, async (asking, response) => {
      response.end('small')
      expect(await asking).not.to.have.property('stream')
    })
    for (const streams of [true, 'at-once'] as const) {
      await played({ streams, maxBytes: 100_000 }, async (asking, response) => {
        response.writeHead(500).end(large)
        expect(await rejection(asking)).to.include({ code: 'upstream_too_large', sent: true })
      })
    }
  })

  it('waits for who reads it, and loses nothing', async () => {
    const [piece, count] = [Buffer.alloc(65_536, 'x'), 1_024]
    await played(AT_ONCE, async (asking, response) => {
      let written = 0
      const more = (): void => {
        while (written < count) {
          written += 1
          if (!response.write(piece)) return
        }
        response.end()
      }
      response.on('drain', more)
      more()
      const { stream } = await asking
      let before = -1
      await eventually(() => before === (before = written))
      expect(written, 'it is held back').to.be.lessThan(count)
      expect(await buffer(stream!)).to.have.length(piece.length * count)
    })
  })

  it('may take longer than what is taken whole', async () => {
    const totalMs = 2_000
    await played({ ...AT_ONCE, timeouts: { totalMs } }, async (asking, response) => {
      response.write('one ')
      const { stream } = await asking
      await sleep(totalMs)
      response.end('two')
      expect(await text(stream!)).to.equal('one two')
    })
  })

  it('and that nobody wants any more ends its connection', async () => {
    const timeouts = { bodyMs: 120_000 } // so that it is not that which ends it
    await played({ ...AT_ONCE, timeouts }, async (asking, response) => {
      response.write('half')
      const { stream } = await asking
      stream!.destroy()
      await eventually(() => response.destroyed)
    })
  })

  const ends: readonly [string, Partial<EgressRequest>, (response: ServerResponse) => void][] = [
    ['breaks off', {}, (response) => response.socket!.destroy()],
    ['stops', { timeouts: { bodyMs: 50 } }, () => undefined],
  ]
  for (const [title, more, end] of ends) {
    it(`and ${title} fails, also who comes to read it later`, async () => {
      await played({ ...AT_ONCE, ...more }, async (asking, response) => {
        response.write('half')
        const { stream } = await asking
        end(response)
        await eventually(() => stream!.destroyed)
        expect(await rejection(text(stream!))).to.be.instanceOf(Error)
        await eventually(() => response.destroyed)
      })
    })
  }

  it('and whose reader gives up by the signal fails as too late', async () => {
    const patience = new AbortController()
    await played({ ...AT_ONCE, signal: patience.signal }, async (asking, response) => {
      response.write('half')
      const { stream } = await asking
      patience.abort()
      expect(await rejection(text(stream!))).to.include(LATE)
      await eventually(() => response.destroyed)
    })
  })
})
