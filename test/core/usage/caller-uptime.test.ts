import { expect } from 'chai'
import { readServiceDays } from '../../../core/catalog/services/service-days.ts'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('the uptime of a service', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const now = systemClock.now()
  const callOf = (principal: string, status: number) => ({
    id: uuidv7(now.getTime()),
    at: now,
    request_id: 'req',
    principal,
    service: 'tides',
    endpoint: 1,
    price_version: 1,
    source: 'credits',
    charged: 0,
    outcome: 'failed',
    status,
    latency_ms: 1,
  })
  const refresh = async (): Promise<number | null> => {
    await database.pool.query('SELECT hub.refresh_service_signals()')
    return (await readServiceDays(database.pool, 'tides', 1))[0]!.uptime
  }

  it('counts each caller once, and new accounts less', async () => {
    const calls = [
      ...Array.from({ length: 1_000 }, () => callOf('x402:attacker', 502)),
      ...Array.from({ length: 9 }, (_, i) => callOf(`prn_honest000000000${i}`, 200)),
    ]
    await database.pool.query(
      'INSERT INTO hub.call SELECT * FROM json_populate_recordset(NULL::hub.call, $1)',
      [JSON.stringify(calls)],
    )
    expect(await refresh()).to.equal(90)
    await database.admin.query(
      `INSERT INTO hub.principal (id, shard, created_at)
       SELECT 'prn_honest000000000' || i, 0, $1::timestamptz - interval '30 days'
       FROM generate_series(0, 8) i`,
      [now],
    )
    expect(await refresh()).to.equal(98.9)
  })
})
