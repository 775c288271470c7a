import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import { CallLog, type CallRecord } from '../../../core/usage/calls.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('the records of calls', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const record = (reason: string | null): CallRecord => ({
    id: uuidv7(systemClock.now().getTime()),
    at: systemClock.now(),
    requestId: 'one',
    principal: 'prn_one',
    keyId: null,
    service: 'tides',
    endpoint: 1,
    priceVersion: 1,
    source: 'none',
    charged: 0n,
    outcome: 'failed',
    status: 502,
    latencyMs: 1,
    reason,
    requestHash: null,
    responseHash: null,
    entry: null,
  })

  it('are written but for one that the database refuses, which is told', async () => {
    const lines: string[] = []
    const log = createLog('error', { write: (line: string) => void lines.push(line) })
    const calls = new CallLog(database.pool, log)
    const bad = record('no text has \u0000')
    const good = [null, 'late', 'timeout'].map(record)
    for (const each of [good[0]!, bad, good[1]!, good[2]!]) calls.add(each)
    await calls.flush()
    const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM hub.call')
    expect(rows.map(({ id }) => id)).to.have.members(good.map(({ id }) => id))
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include(bad.id)
  })
})
