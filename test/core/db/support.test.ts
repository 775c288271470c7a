import { expect } from 'chai'
import { createPool } from '../../../core/db/pool.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('the databases of tests', () => {
  let database: FreshDatabase

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('are migrated, and used as hub_finance', async () => {
    const { rows } = await database.pool.query(
      'SELECT current_user AS name, count(*) FROM ledger.head GROUP BY 1',
    )
    expect(rows).to.deep.equal([{ name: 'hub_finance', count: 1n }])
  })

  it('do not see each other', async () => {
    const other = await freshDatabase()
    await other.admin.query('CREATE TABLE public.mine ()')
    const { rows } = await database.admin.query("SELECT to_regclass('public.mine') AS found")
    expect(rows).to.deep.equal([{ found: null }])
    await other.drop()
  })

  it('report a connection that was never released', async () => {
    const other = await freshDatabase('leaky_client')
    await other.pool.connect()
    const failure = await other.drop().catch((error: Error) => error.message)
    expect(failure).to.equal(
      'leaky_client was left in use: 1 connections of "leaky_client pool" were never released',
    )
  })

  it('report a pool that was never ended', async () => {
    const other = await freshDatabase('leaky_pool')
    const forgotten = createPool(other.url, { applicationName: 'forgotten' })
    await forgotten.query('SELECT 1')
    const failure = await other.drop().catch((error: Error) => error.message)
    expect(failure).to.equal('leaky_pool was left in use: "forgotten" never ended (last: SELECT 1)')
    await forgotten.end()
  })
})
