import { expect } from 'chai'
import { createPool } from '../../../core/db/pool.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('createPool', () => {
  let database: FreshDatabase

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('survives the loss of a checked-out connection', async () => {
    const lost: string[] = []
    const pool = createPool(database.url, { onError: (error) => lost.push(error.message) })
    const client = await pool.connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    await database.admin.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid])
    const failure = await client.query('SELECT 1').catch((error: Error) => error.message)
    expect(failure).to.be.a('string')
    client.release()
    expect((await pool.query('SELECT 1 AS one')).rows).to.deep.equal([{ one: 1 }])
    expect(lost).to.include('terminating connection due to administrator command')
    await pool.end()
  })

  it('reports no connections lost while it ends', async () => {
    const lost: string[] = []
    const pool = createPool(database.url, { onError: (error) => lost.push(error.message) })
    const client = await pool.connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    const ended = pool.end() // waits for the one that is checked out
    await database.admin.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid])
    await client.query('SELECT 1').catch(() => {}) // it has heard of its end then
    client.release()
    await ended
    expect(lost).to.deep.equal([])
  })

  it('survives the loss of an idle connection', async () => {
    const pool = createPool(database.url)
    const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
    const removal = new Promise((resolve) => {
      pool.once('remove', resolve)
    })
    await database.admin.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid])
    await removal
    expect((await pool.query('SELECT 1 AS one')).rows).to.deep.equal([{ one: 1 }])
    await pool.end()
  })

  it('returns int8 as BigInt and dates as text', async () => {
    const { rows } =
      await database.pool.query(`SELECT 9007199254740993 AS big, date '2026-11-21' AS day,
      ARRAY[1, NULL, -9007199254740993] AS list, ARRAY[[1::int8, 2], [3, 4]] AS grid,
      '{}'::int8[] AS none, '[0:1]={5,6}'::int8[] AS shifted, 7 AS small, 1.5 AS exact`)
    expect(rows).to.deep.equal([
      {
        big: 9_007_199_254_740_993n,
        day: '2026-11-21',
        list: [1n, null, -9_007_199_254_740_993n],
        grid: [
          [1n, 2n],
          [3n, 4n],
        ],
        none: [],
        shifted: [5n, 6n],
        small: 7,
        exact: '1.5',
      },
    ])
  })

  it('has only the rights of its role', async () => {
    const failure = await database.pool
      .query('DELETE FROM ledger.journal')
      .catch((error: Error) => error.message)
    expect(failure).to.equal('permission denied for table journal')
  })

  it('refuses a connection without the role', async () => {
    const pool = createPool(`${database.url}?options=-c%20jit=off`, { role: 'hub_app' })
    const failure = await pool.query('SELECT 1').catch((error: Error) => error.message)
    expect(failure).to.match(/has the role postgres instead of hub_app/)
    await pool.end()
  })

  it('starts neither JIT nor parallel workers for short queries', async () => {
    const settings = `SELECT current_setting('jit') AS jit,
      current_setting('max_parallel_workers_per_gather') AS workers`
    const read = async (isShort: boolean) => {
      const pool = createPool(database.url, { role: 'hub_app', isShort })
      const { rows } = await pool.query(settings)
      await pool.end()
      return rows[0]
    }
    expect(await read(true)).to.deep.equal({ jit: 'off', workers: '0' })
    expect(await read(false)).to.deep.equal({ jit: 'on', workers: '2' })
  })

  it('limits how long a statement runs', async () => {
    const pool = createPool(database.url, { statementMs: 50 })
    const failure = await pool.query('SELECT pg_sleep(5)').catch((error: Error) => error.message)
    expect(failure).to.equal('canceling statement due to statement timeout')
    await pool.end()
  })
})
