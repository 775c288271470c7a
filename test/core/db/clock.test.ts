import { expect } from 'chai'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { openDatabaseClock } from '../../../core/db/clock.ts'
import { createLog } from '../../../core/log.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const HOUR_MS = 3_600_000
/** Much less than a wrong clock is off, and more than a busy machine stalls. */
const SLACK_MS = 600_000
const CLOCKS = 'the clocks of this machine and of the database'
const ADVICE = 'set the wrong one (NTP), or payments are refused and their holds wait'

describe('the clock of the database', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  for (const [what, hours] of Object.entries({ fast: 48, slow: -48, right: 0 })) {
    it(`is followed by a machine whose own clock is ${what} (A077)`, async () => {
      const own: Clock = {
        now: () => new Date(systemClock.now().getTime() + hours * HOUR_MS),
      }
      const clock = await openDatabaseClock(database.pool, createLog('silent'), {
        localClock: own,
      })
      clock.close()
      const off = clock.now().getTime() - systemClock.now().getTime()
      expect(Math.abs(off)).to.be.below(SLACK_MS)
    })
  }

  it('warns once, with both times, of a wrong clock, and reports when it is right', async () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => lines.push(line) })
    let hours = 48
    let reads = 0
    const localClock: Clock = {
      now() {
        reads++
        return new Date(systemClock.now().getTime() + hours * HOUR_MS)
      },
    }
    const clock = await openDatabaseClock(database.pool, log, { localClock, everyMs: 1 })
    try {
      await eventually(() => reads > 10)
      expect(lines).to.have.length(1)
      const { level, msg, local, database: at, aheadSeconds } = JSON.parse(lines[0]!)
      expect([level, msg]).to.deep.equal([40, `${CLOCKS} differ: ${ADVICE}`])
      expect(Date.parse(local) - Date.parse(at)).to.be.closeTo(48 * HOUR_MS, SLACK_MS)
      expect(aheadSeconds).to.be.closeTo(48 * 3_600, SLACK_MS / 1_000)
      hours = 0
      await eventually(() => lines.length > 1)
      expect(JSON.parse(lines[1]!)).to.include({ level: 30, msg: `${CLOCKS} agree again` })
    } finally {
      clock.close()
    }
  })
})
