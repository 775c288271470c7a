import { expect } from 'chai'
import { ProcessLease } from '../../core/db/process-lease.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'

describe('the lease of a process', () => {
  const hub = useHub()

  it('repeats a release until the database has it', async () => {
    const { pool } = hub().hub
    const lease = await ProcessLease.open(pool)
    let tries = 0
    await lease.release(async () => {
      if (++tries < 3) throw new Error('the database is out of reach')
    })
    await eventually(() => tries === 3)
    await lease.close()
    const { rows } = await pool.query('SELECT FROM hub.process WHERE id = $1', [lease.id])
    expect(rows, 'others may take over').to.have.length(0)
  })
})
