import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import type { Egress, EgressRequest } from '../../../core/egress/http.ts'
import { eventually } from '../../support/eventually.ts'
import { against, ask, realSockets, rejection } from './world.ts'

const LATE = { code: 'upstream_timeout' }

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
