import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '../../../core/db/pool.ts'
import { findExport, startExport } from '../../../core/finance/export-requests.ts'
import { writeNextExport } from '../../../core/finance/write-export.ts'
import { createLog } from '../../../core/log.ts'
import { isDatabaseDown } from '../../../core/outages.ts'
import { FaultProxy } from '../../support/fault-proxy.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { sampleLedger } from '../ledger/fixture.ts'

describe('an export of the journal', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
    await sampleLedger(database.pool)
    await database.admin.query(
      `INSERT INTO hub.principal (id, wallet_address, shard)
       VALUES ('prn_0123456789abcdef', '0x' || repeat('1', 40), 0)`,
    )
  })
  after(() => database.drop())

  async function request(): Promise<string> {
    const order = { format: 'hledger', order: {}, opening: false, title: 'all' } as const
    const via = { via: 'api', role: 'finance', requestId: 'req_1', network: null } as const
    const fay = { principal: 'prn_0123456789abcdef', name: 'fay', ...via }
    return (await startExport(database, fay, order, 'a test')).id
  }

  const write = (pool: Pool): Promise<number> =>
    writeNextExport({ pool, log: createLog('silent') }, new AbortController().signal)

  const stateOf = async (id: string): Promise<string> => (await findExport(database.pool, id)).state

  /** A pool whose n-th query, from 1, is handled by `onQuery`. */
  function intercept(
    pool: Pool,
    onQuery: (n: number, result: Promise<unknown>) => Promise<unknown>,
  ): Pool {
    let queries = 0
    const query = async (text: string, values?: unknown[]) => {
      const result = pool.query(text, values)
      await onQuery(++queries, result)
      return result
    }
    return new Proxy(pool, {
      get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)),
    })
  }

  it('has no entry twice if another process continues it at the same time', async () => {
    const { pool } = database
    const id = await request()
    const overtaken = intercept(pool, async (n, result) => {
      await result
      if (n === 1) await write(pool)
    })
    expect(await write(overtaken).catch((err: unknown) => err)).to.include({ code: '23505' })
    const { rowCount } = await pool.query('SELECT FROM hub.export_part WHERE export = $1', [id])
    expect(rowCount).to.equal(1)
    expect(await stateOf(id)).to.equal('done')
  })

  it('goes on after a connection that is closed without an error of the database', async () => {
    const url = new URL(database.url)
    const proxy = await FaultProxy.start(Number(url.port))
    url.host = `127.0.0.1:${proxy.port}`
    const pool = createPool(url.href, { role: 'hub_finance', max: 2 })
    try {
      const id = await request()
      const unlucky = intercept(pool, async (n, result) => {
        if (n === 2) await Promise.all([proxy.fail(undefined), result.catch(() => {})])
      })
      const error: unknown = await write(unlucky).catch((err: unknown) => err)
      expect(isDatabaseDown(error), String(error)).to.equal(true)
      expect(await stateOf(id)).to.equal('writing')
      await write(pool)
      expect(await stateOf(id)).to.equal('done')
    } finally {
      await pool.end()
      await proxy.close()
    }
  })
})
