import { once } from 'node:events'
import { expect } from 'chai'
import { runExclusively } from '../../../core/db/run-exclusively.ts'
import { isDatabaseDown } from '../../../core/outages.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('exclusive work', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const done = async (name: string) => await runExclusively(database.pool, name, async () => 'done')

  it('is skipped while it runs elsewhere, and possible again after it ends or fails', async () => {
    const meanwhile = await runExclusively(database.pool, 'a', async () => [
      await done('a'),
      await done('b'),
    ])
    expect(meanwhile).to.deep.equal([undefined, 'done'])
    expect(await done('a')).to.equal('done')
    const failed = runExclusively(database.pool, 'a', () => Promise.reject(new Error('no luck')))
    expect(await failed.catch((error: Error) => error.message)).to.equal('no luck')
    expect(await done('a')).to.equal('done')
  })

  const killHolder = () =>
    database.admin.query(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
       WHERE locktype = 'advisory'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND objid = hashtext('a')::bigint & 4294967295`,
    )

  it('is possible again after the connection of its holder is lost', async () => {
    const killed = runExclusively(database.pool, 'a', killHolder)
    expect(await killed.catch(() => 'gone')).to.equal('gone')
    expect(await done('a')).to.equal('done')
  })

  it('learns at once that it is no longer exclusive', async () => {
    const overlapping = runExclusively(database.pool, 'a', async (lost) => {
      const aborted = once(lost, 'abort')
      await killHolder()
      await aborted
      expect(await done('a')).to.equal('done')
    })
    const error: unknown = await overlapping.catch((err: unknown) => err)
    expect(isDatabaseDown(error), String(error)).to.equal(true)
    const kept = await runExclusively(database.pool, 'a', async (lost) => lost.aborted)
    expect(kept).to.equal(false)
  })
})
