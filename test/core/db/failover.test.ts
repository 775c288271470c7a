import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '../../../core/db/pool.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { isDatabaseDown } from '../../../core/outages.ts'
import { Cluster } from '../../faults/rig/cluster.ts'
import { eventually } from '../../support/eventually.ts'

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a pool during a failover', () => {
  let cluster: Cluster
  let pool: Pool
  let operator: Pool

  before(async () => {
    cluster = await Cluster.create()
    await cluster.start({ synchronous_standby_names: 'away', fsync: 'off' })
    pool = createPool(cluster.url, { max: 1 })
    operator = createPool(cluster.url, { max: 1 })
    await operator.query('SET synchronous_commit = local')
    await operator.query('CREATE TABLE note (text text)')
  })
  after(async () => {
    await Promise.all([pool?.end(), operator?.end()])
    await cluster?.remove()
  })

  const backend = async (): Promise<number> => {
    const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    return rows[0]!.pid
  }

  /** Cancels the commit that waits for the standby, and returns the error of its query. */
  async function cancel(work: Promise<unknown>): Promise<unknown> {
    const error = errorOf(work)
    await eventually(async () => {
      const { rowCount } = await operator.query(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
      )
      return rowCount === 1
    })
    return error
  }

  it('fails a commit that no standby has stored, which PostgreSQL calls a success', async () => {
    const insert = `INSERT INTO note VALUES ('a')`
    const unknown = await cancel(pool.query(insert))
    expect(unknown).to.have.property('code', '08007')
    expect(isDatabaseDown(unknown)).to.equal(true)
    const inside = inTransaction(pool, (client) => client.query(insert))
    expect(isDatabaseDown(await cancel(inside))).to.equal(true)
    // The warning of a canceled wait comes before the commit is visible.
    await eventually(async () => (await operator.query('SELECT FROM note')).rowCount === 2)
  })

  it('leaves a server that refuses to write, and keeps one with other errors', async () => {
    const before = await backend()
    const failing = (sql: string) => errorOf(inTransaction(pool, (client) => client.query(sql)))
    expect(isDatabaseDown(await failing('SELECT 1/0'))).to.equal(false)
    expect(await backend()).to.equal(before)
    const refused = await failing('SET TRANSACTION READ ONLY; DELETE FROM note')
    expect(isDatabaseDown(refused), String(refused)).to.equal(true)
    expect(await backend()).not.to.equal(before)
  })
})
