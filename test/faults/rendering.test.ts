import { expect } from 'chai'
import { ProcessGroup } from '../../core/browser/watchdog.ts'
import { elapsedMs, sleep } from '../../core/clock.ts'
import type { RenderParties } from '../../core/plugin/parts.ts'
import { realSockets } from '../core/egress/fixture.ts'
import { openRenderer } from '../support/renderer-fixture.ts'

const MIB = 1_048_576

describe('a browser in continuous use', () => {
  realSockets()

  it('renders 200 pages without leaking memory or processes', async () => {
    const { renderer, close } = await openRenderer({ limits: { recycleAfter: 1_000 } })
    const [counts, bytes]: [number[], number[]] = [[], []]
    const seen = new Set<number>()
    for (let round = 0; round < 20; round++) {
      const paths = ['/plain', '/built', '/frames', '/shadow', '/missing']
      const urls = [...paths, ...paths].map((path) => `http://owner.test${path}`)
      await Promise.all(urls.map((url) => renderer.render({ url })))
      await sleep(300) // time for exiting processes
      const [pid = 0] = renderer.pids
      const processes = await new ProcessGroup(pid).processes()
      seen.add(pid)
      counts.push(processes.length)
      bytes.push(processes.reduce((sum, each) => sum + each.bytes, 0))
    }
    await close()
    const [early, late] = [bytes[4] ?? 0, bytes.at(-1) ?? 0]
    expect(late - early, 'memory of its own').to.be.below(60 * MIB)
    expect(Math.max(...counts) - Math.min(...counts), 'processes').to.be.below(6)
    expect(seen.size, 'browsers').to.equal(1)
    for (const pid of seen) expect(await new ProcessGroup(pid).processes()).to.deep.equal([])
  })

  it('serves a paying reader while pages that never end want all slots', async () => {
    const { renderer, close } = await openRenderer({ browsers: 2 })
    const open = (url: string, parties: RenderParties) =>
      renderer.render({ url, parties, deadlineMs: 25_000 }).catch(() => undefined)
    const readerParties = { payer: 'reader', site: 'owner', paid: true }
    await open('http://owner.test/plain', readerParties)
    const hanging = 'http://stranger.test/silent'
    const flood = [
      ...Array.from({ length: 72 }, () =>
        open(hanging, { payer: 'nobody', site: 'a', paid: false }),
      ),
      ...Array.from({ length: 20 }, () => open(hanging, { payer: 'b', site: 'b', paid: true })),
    ]
    await sleep(1_000) // the flood occupies what it can
    const start = elapsedMs()
    const page = await open('http://owner.test/plain', readerParties)
    expect(page?.status).to.equal(200)
    expect(elapsedMs() - start, 'instead of the 25 s of a hanging page').to.be.below(12_000)
    await close()
    await Promise.all(flood)
  })
})
