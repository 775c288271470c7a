import { expect } from 'chai'
import { migrate } from '../../../core/db/migrate.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { migrationsBefore } from './migrations-before.ts'

const BEFORE = '0126'
const ROWS = 20_000

describe('the migration that partitions call records', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase(undefined, { empty: true })
    await using folder = await migrationsBefore(BEFORE)
    await migrate(database.url, { folder: folder.path })
    await database.admin.query(
      `INSERT INTO hub.call (id, at, request_id, principal, service, endpoint, price_version,
         source, charged, outcome, status, latency_ms)
       SELECT (rpad(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0'), 16, '7')
           || lpad(to_hex(n), 16, '0'))::uuid, at, 'r', 'prn_' || n % 7, 'tides', 1, 1, 'credits',
         n, 'delivered', 200, n % 90
       FROM generate_series(1, $1) n
       CROSS JOIN LATERAL (SELECT now() - n * interval '1 hour' AS at) t`,
      [ROWS],
    )
  })
  after(() => database.drop())

  const read = async () => {
    const rows = async (sql: string) => (await database.admin.query(sql)).rows
    return {
      calls: await rows(`SELECT md5(string_agg(c::text, '|' ORDER BY id)) AS hash, count(*) AS n
        FROM hub.call c WHERE request_id = 'r'`),
      days: await rows('SELECT service, sum(calls) AS calls FROM hub.service_day GROUP BY 1'),
    }
  }

  it('keeps rows, figures and rights, and lets callers be recorded meanwhile', async () => {
    const before = await read()
    const end = new AbortController()
    let count = 0
    /** A server of the previous version, which inserts and corrects records. */
    const server = (async () => {
      while (!end.signal.aborted) {
        const { rows } = await database.pool.query(
          `INSERT INTO hub.call (id, at, request_id, principal, service, endpoint, price_version,
             source, charged, outcome, status, latency_ms)
           VALUES ((lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0')
               || left(replace(gen_random_uuid()::text, '-', ''), 20))::uuid,
             now(), 'live', 'prn_x', 'live', 1, 1, 'none', 0, 'unresolved', 200, 1) RETURNING id`,
        )
        await database.pool.query(`UPDATE hub.call SET outcome = 'failed' WHERE id = $1`, [
          rows[0].id,
        ])
        count++
      }
    })()
    const applied = await migrate(database.url).finally(() => end.abort())
    await server
    expect(applied).to.include.members(['0126_call_bound.sql', '0128_call_partitions.sql'])
    const after = await read()
    expect(after.calls).to.deep.equal(before.calls)
    expect(after.days.filter(({ service }) => service === 'tides')).to.deep.equal(before.days)
    expect(after.days.find(({ service }) => service === 'live')).to.include({
      calls: String(count),
    })
  })

  it('does not read the rows while it blocks writers', async () => {
    const { rows } = await database.admin.query(
      `SELECT relname, relkind, (SELECT count(*) FROM pg_index WHERE indrelid = c.oid) AS indexes
       FROM pg_class c WHERE oid IN ('hub.call'::regclass, 'hub.call_past'::regclass) ORDER BY 1`,
    )
    expect(rows, 'no index was built anew').to.deep.equal([
      { relname: 'call', relkind: 'p', indexes: 6n },
      { relname: 'call_past', relkind: 'r', indexes: 6n },
    ])
  })
})
