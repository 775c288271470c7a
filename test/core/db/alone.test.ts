import { expect } from 'chai'
import { alone } from '../../../core/db/alone.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('work that one process does at a time', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const done = async (name: string) => await alone(database.pool, name, async () => 'done')

  it('is left to whoever is at it, and free when that has ended or failed', async () => {
    const meanwhile = await alone(database.pool, 'a', async () => [
      await done('a'),
      await done('b'),
    ])
    expect(meanwhile).to.deep.equal([undefined, 'done'])
    expect(await done('a')).to.equal('done')
    const failed = alone(database.pool, 'a', () => Promise.reject(new Error('no luck')))
    expect(await failed.catch((error: Error) => error.message)).to.equal('no luck')
    expect(await done('a')).to.equal('done')
  })

  it('is free when the connection of whoever was at it is gone', async () => {
    const killed = alone(database.pool, 'a', () =>
      database.admin.query(
        `SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
         WHERE locktype = 'advisory' AND objid = hashtext('a')::bigint & 4294967295`,
      ),
    )
    expect(await killed.catch(() => 'gone')).to.equal('gone')
    expect(await done('a')).to.equal('done')
  })
})
