import { expect } from 'chai'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { openDatabaseClock } from '../../../core/db/clock.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const HOUR_MS = 3_600_000
const SLACK_MS = 2_000

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
      const clock = await openDatabaseClock(database.pool, own)
      clock.close()
      const off = clock.now().getTime() - systemClock.now().getTime()
      expect(Math.abs(off)).to.be.below(SLACK_MS)
    })
  }
})
