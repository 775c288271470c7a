import { expect } from 'chai'
import { startExport } from '../../../core/finance/export-requests.ts'
import { writeNextExport } from '../../../core/finance/write-export.ts'
import { createLog } from '../../../core/log.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { sampleLedger } from '../ledger/fixture.ts'

describe('an export of the journal', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('has no entry twice if another process continues it at the same time', async () => {
    const { pool } = database
    await sampleLedger(pool)
    const request = { format: 'hledger', order: {}, opening: false, title: 'all' } as const
    const via = { via: 'api', role: 'finance', requestId: 'req_1', network: null } as const
    await database.admin.query(
      `INSERT INTO hub.principal (id, wallet_address, shard)
       VALUES ('prn_0123456789abcdef', '0x' || repeat('1', 40), 0)`,
    )
    const fay = { principal: 'prn_0123456789abcdef', name: 'fay', ...via }
    await startExport({ pool }, fay, request, 'a test')
    const write = (on: typeof pool) =>
      writeNextExport({ pool: on, log: createLog('silent') }, new AbortController().signal)
    let isOvertaken = false
    /** Pool of a process that another one overtakes after its first query. */
    const slow = Object.assign(Object.create(pool) as typeof pool, {
      async query(text: string, values?: unknown[]) {
        const result = await pool.query(text, values)
        if (!isOvertaken) {
          isOvertaken = true
          await write(pool)
        }
        return result
      },
    })
    expect(await write(slow).catch((err: unknown) => err)).to.include({ code: '23505' })
    const { rowCount } = await pool.query('SELECT FROM hub.export_part')
    expect(rowCount).to.equal(1)
  })
})
