import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import type { Egress, EgressRequest } from '../../../core/egress/http.ts'
import { eventually } from '../../support/eventually.ts'
import { rejection } from '../../support/rejection.ts'
import { against, ask, realSockets } from './fixture.ts'

const LATE = { code: 'upstream_timeout' }

describe('a streamed response', () => {
  realSockets()

  /** Sends a request to a server whose response the test controls. */
  async function exchange(
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

  it('starts with its first byte', async () => {
    await exchange(AT_ONCE, async (asking, response) => {
      response.write('one ')
      const { body, stream } = await asking
      expect(body).to.have.length(0)
      const [first] = await once(stream!, 'data')
      expect(String(first)).to.equal('one ')
      response.end('two')
      expect(await text(stream!)).to.equal('two')
    })
  })

  it('may be empty', async () => {
    await exchange(AT_ONCE, async (asking, response) => {
      response.end()
      expect(await text((await asking).stream!)).to.equal('')
    })
  })

  it('includes the bytes received before it became too large', async () => {
    const sent = Buffer.alloc(3_000_000, 'abc')
    await exchange({ streams: true, maxBytes: 100_000 }, async (asking, response) => {
      response.end(sent)
      const { body, stream } = await asking
      expect(body.length).to.be.greaterThan(100_000)
      expect(body.equals(sent.subarray(0, body.length))).to.equal(true)
      expect((await buffer(stream!)).equals(sent)).to.equal(true)
    })
  })

  it('is not used for small or failed responses', async () => {
    const large = 'a'.repeat(200_000)
    await exchange({ streams: true }, async (asking, response) => {
      response.end('small')
      expect(await asking).not.to.have.property('stream')
    })
    for (const streams of [true, 'at-once'] as const) {
      await exchange({ streams, maxBytes: 100_000 }, async (asking, response) => {
        response.writeHead(500).end(large)
        expect(await rejection(asking)).to.include({ code: 'upstream_too_large', sent: true })
      })
    }
  })

  it('waits for its reader, and loses nothing', async () => {
    const [piece, count] = [Buffer.alloc(65_536, 'x'), 1_024]
    await exchange(AT_ONCE, async (asking, response) => {
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

  it('may take longer than a whole response', async () => {
    const totalMs = 2_000
    await exchange({ ...AT_ONCE, timeouts: { totalMs } }, async (asking, response) => {
      response.write('one ')
      const { stream } = await asking
      await sleep(totalMs)
      response.end('two')
      expect(await text(stream!)).to.equal('one two')
    })
  })

  it('closes its connection when it is destroyed', async () => {
    const timeouts = { bodyMs: 120_000 } // longer than the test
    await exchange({ ...AT_ONCE, timeouts }, async (asking, response) => {
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
    it(`that ${title} fails, also for a later reader`, async () => {
      await exchange({ ...AT_ONCE, ...more }, async (asking, response) => {
        response.write('half')
        const { stream } = await asking
        end(response)
        await eventually(() => stream!.destroyed)
        expect(await rejection(text(stream!))).to.be.instanceOf(Error)
        await eventually(() => response.destroyed)
      })
    })
  }

  it('fails with a timeout when the signal aborts', async () => {
    const caller = new AbortController()
    await exchange({ ...AT_ONCE, signal: caller.signal }, async (asking, response) => {
      response.write('half')
      const { stream } = await asking
      caller.abort()
      expect(await rejection(text(stream!))).to.include(LATE)
      await eventually(() => response.destroyed)
    })
  })
})
