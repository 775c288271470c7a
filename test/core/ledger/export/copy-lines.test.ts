import { expect } from 'chai'
import { createPool } from '../../../../core/db/pool.ts'
import { copyLines } from '../../../../core/ledger/export/copy-lines.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

describe('streamed COPY lines', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase(undefined, { empty: true })
  })
  afterEach(() => database.drop())

  it('may take longer than the query timeout of its pool', async () => {
    const pool = createPool(database.url, { max: 1, responseMs: 2_000 })
    try {
      const read: string[] = []
      const slow = 'SELECT n FROM generate_series(1, 3) n, LATERAL (SELECT pg_sleep(1 + 0 * n)) s'
      for await (const lines of copyLines(pool, slow)) read.push(...lines)
      expect(read).to.deep.equal(['1', '2', '3'])
    } finally {
      await pool.end()
    }
  })
})
