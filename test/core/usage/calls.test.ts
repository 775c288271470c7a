import { expect } from 'chai'
import type { Pool } from 'pg'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import { type CallRecord, type RecordRow, recordOf } from '../../../core/usage/call-records.ts'
import { CallLog } from '../../../core/usage/calls.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('call records', () => {
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
    usage: null,
    agent: null,
  })

  const write = async (...records: readonly CallRecord[]): Promise<string[]> => {
    const lines: string[] = []
    const log = createLog('error', { write: (line: string) => void lines.push(line) })
    const calls = new CallLog(database.pool, log)
    for (const each of records) calls.add(each)
    await calls.flush()
    return lines
  }

  it('are stored exactly, whatever characters and bytes they contain', async () => {
    const nothing = record(null)
    const full: CallRecord = {
      ...record('a\\.\tb\\N\r\nc "d\' {e,f} \u2028 🙂'),
      requestId: '',
      keyId: '\\N',
      charged: 2n ** 62n,
      requestHash: Buffer.from([0, 9, 10, 13, 92, 255]),
      responseHash: Buffer.alloc(0),
      entry: nothing.id,
    }
    expect(await write(nothing, full)).to.deep.equal([])
    for (const each of [nothing, full]) {
      const { rows } = await database.pool.query<RecordRow>(
        `SELECT c.*, c.id AS call, c.status AS call_status, c.reason AS call_reason
         FROM hub.call c WHERE c.id = $1`,
        [each.id],
      )
      expect(recordOf(rows[0]!)).to.deep.equal(each)
    }
  })

  it('are written once, also if added again with others or twice in a batch', async () => {
    const [first, second, third] = [record('first'), record(null), record(null)]
    await write(first, second)
    const changed = { ...first, reason: 'not the same' }
    expect(await write(changed, third, third, second)).to.deep.equal([])
    const { rows } = await database.pool.query<{ id: string; reason: string | null }>(
      'SELECT id, reason FROM hub.call WHERE id = ANY ($1) ORDER BY id',
      [[first.id, second.id, third.id]],
    )
    expect(rows).to.deep.equal([first, second, third].map(({ id, reason }) => ({ id, reason })))
  })

  it('of a call that was continued state what it came to', async () => {
    const open: CallRecord = { ...record('timeout'), outcome: 'unresolved' }
    const end: CallRecord = {
      ...open,
      outcome: 'taken',
      charged: 5n,
      source: 'credits',
      status: 200,
    }
    const find = async () => {
      const { rows } = await database.pool.query<RecordRow>(
        `SELECT c.*, c.id AS call, c.status AS call_status, c.reason AS call_reason
         FROM hub.call c WHERE c.id = $1`,
        [open.id],
      )
      return recordOf(rows[0]!)
    }
    await write(open)
    await write({ ...open, status: 503 })
    expect(await find()).to.deep.equal(open)
    expect(await write(end)).to.deep.equal([])
    expect(await find()).to.deep.equal(end)
    await write(open, { ...end, charged: 6n })
    expect(await find(), 'final').to.deep.equal(end)
  })

  it('that are added during a write are written together, not one after the other', async () => {
    const written = Promise.withResolvers<void>()
    let writes = 0
    const query = () => {
      writes++
      return written.promise
    }
    const calls = new CallLog({ query } as unknown as Pool, createLog('error'))
    calls.add(record(null))
    const first = calls.flush()
    await eventually(() => writes === 1)
    calls.add(record(null))
    written.resolve()
    await first
    calls.add(record(null))
    expect(writes).to.equal(1)
    await calls.flush()
    expect(writes).to.equal(2)
  })

  it('are written except one that the database rejects, which is logged', async () => {
    const bad = record('no text has \u0000')
    const good = [null, 'late', 'timeout'].map(record)
    const lines = await write(good[0]!, bad, good[1]!, good[2]!)
    const { rows } = await database.pool.query<{ id: string }>(
      'SELECT id FROM hub.call WHERE id = ANY ($1)',
      [[bad, ...good].map(({ id }) => id)],
    )
    expect(rows.map(({ id }) => id)).to.have.members(good.map(({ id }) => id))
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include(bad.id)
  })
})
