import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { systemClock } from '../../../../core/clock.ts'
import { openStore } from '../../../../plugins/tenders/store/store.ts'
import { packageOf, type ReceivedRequest, startTed } from '../../../support/ted-server.ts'
import { tendersDatabase } from '../support.ts'
import { FAST_SETTINGS, issueOf, noticeOf, numbersIn } from './support.ts'

const DAY = '2026-03-02'
const OJS = '41/2026'
const COUNT = 120
const CHANGED = `${COUNT + 2}-2026`

/** Notices of a day, the last of which changes the first. */
function issue() {
  const usual = issueOf(DAY, OJS, COUNT)
  const [first] = usual.notices
  const procedure = 'bbbbbbbb-0000-4000-8000-000000012026'
  const title = 'Fictional electricity 1-2026'
  const change = { changes: '1-2026', procedure, title, deadline: '2026-05-20' }
  const last = noticeOf({ number: CHANGED, day: DAY, ojs: OJS, ...change })
  expect(first?.number).equal('1-2026')
  return { ...usual, notices: [...usual.notices, last] }
}

describe('ingestion that is killed', () => {
  it('loses and duplicates nothing, and shows a day only when complete', async () => {
    const day = issue()
    const whole = await packageOf(day)
    // Kills the process at the n-th request of a run, or its n-th notice page.
    const lives: readonly ((requests: readonly ReceivedRequest[]) => boolean)[] = [
      (requests) => requests.length === 12,
      (requests) => requests.some(({ path }) => path.startsWith('/packages/')),
      (requests) => requests.filter(({ path }) => path.startsWith('/en/')).length === 10,
      (requests) => requests.filter(({ path }) => path.startsWith('/en/')).length === 30,
    ]
    let life = 0
    let from = 0
    let child: ChildProcess | undefined
    const ted = await startTed([day], {
      odd: (request, before) => {
        if (lives[life]?.([...before.slice(from), request])) child?.kill('SIGKILL')
        const isPackage = request.path.startsWith('/packages/')
        return isPackage ? { body: whole, cutAt: Math.floor(whole.length * 0.8) } : undefined
      },
    })
    const made = await tendersDatabase()
    const { database, url } = made
    try {
      const base = String(systemClock.now().getTime())
      const start = () => {
        const file = new URL('./ingest-child.ts', import.meta.url).pathname
        const given = [file, url, String(ted.port), base, `${DAY}T12:00:00Z`]
        return spawn(process.execPath, given, { stdio: ['ignore', 'ignore', 'inherit'] })
      }
      let held = 0
      for (; life < lives.length; life++) {
        from = ted.requests.length
        child = start()
        const [code, signal] = await once(child, 'exit')
        expect([code, signal], `life ${life}`).deep.equal([null, 'SIGKILL'])
        expect(await numbersIn(database, 'notice')).deep.equal([])
        const arrived = (await numbersIn(database, 'arrival')).length
        expect(arrived).least(held)
        held = arrived
      }
      expect(held).within(1, COUNT)
      from = ted.requests.length
      child = start()
      expect(await once(child, 'exit')).deep.equal([0, null])

      const energy = day.notices.filter(({ other }) => !other).map(({ number }) => number)
      expect(await numbersIn(database, 'notice')).deep.equal(energy)
      expect(await numbersIn(database, 'arrival')).deep.equal([])
      const [snapshot] = await openStore(database, systemClock).snapshots(2)
      expect(snapshot).deep.include({ announced: COUNT + 1, received: COUNT + 1 })
      const changes = await database.query('SELECT FROM change')
      expect(changes.rows).lengthOf(1)
      // Every page once, one empty page, and possibly the page of the first kill again.
      const pages = Math.ceil((COUNT + 1) / FAST_SETTINGS.pageSize)
      const searches = ted.requests.filter(({ path }) => path === '/v3/notices/search')
      expect(searches.length).within(pages + 1, pages + 2)
    } finally {
      child?.kill('SIGKILL')
      await made.close()
      await ted.close()
    }
  })
})
