import { expect } from 'chai'
import { deleteExpired, readRetention, readTables } from '../../../core/audit/retention.ts'
import { DELETION_RULES } from '../../../core/audit/retention-policy.ts'
import { dropExpiredExports } from '../../../core/finance/export-requests.ts'
import { jobs } from '../../../jobs/jobs.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const RETENTION = { exports: 30, webhookEvents: 10, probes: 20 }

describe('the retention policy', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const read = async () =>
    new Map((await readRetention(database.pool, RETENTION)).map((line) => [line.name, line]))

  it('names each table of the hub exactly once', async () => {
    const named = [...(await read()).values()].flatMap(({ tables }) => tables)
    const stored = await readTables(database.pool)
    expect(named.toSorted()).to.deep.equal(stored.map(({ name }) => name).toSorted())
  })

  it('calls nothing permanent that the login of the hub may delete', async () => {
    for (const { name, kept, isProtected } of (await read()).values()) {
      expect(isProtected, name).to.equal(kept === 'evidence' ? true : null)
    }
    await database.admin.query('GRANT DELETE ON hub.call TO hub_app')
    expect((await read()).get('calls')!.isProtected).to.equal(false)
    await database.admin.query('REVOKE DELETE ON hub.call FROM hub_app')
  })

  it('names jobs that exist', () => {
    for (const { job } of Object.values(DELETION_RULES)) {
      expect(['send-mail', ...Object.keys(jobs)]).to.include(job)
    }
  })

  it('deletes what is older than its setting, and reports what is overdue', async () => {
    await database.admin.query(
      `INSERT INTO hub.webhook_event (id, principal, type, data, at)
       SELECT 'evt_' || md5(d::text), 'prn_x', 'webhook.test', '{}',
         now() - make_interval(days => d)
       FROM unnest('{9,12,40}'::integer[]) d`,
    )
    const before = (await read()).get('webhook-events')!
    expect(before).to.include({ days: 10, setting: 'HUB_KEEP_WEBHOOK_EVENTS_DAYS', overdue: 2n })
    await deleteExpired(database.pool, 'webhook-events', RETENTION)
    expect((await read()).get('webhook-events')!.overdue).to.equal(0n)
    const { rowCount } = await database.pool.query('SELECT FROM hub.webhook_event')
    expect(rowCount).to.equal(1)
  })

  it('deletes the files of exports, and who requested them never', async () => {
    await database.admin.query(
      `INSERT INTO hub.export (id, format, title, plan, asked_by, total, state, sha256, changed_at)
       SELECT 'exp_000000000000000' || d % 10, 'csv', 'all', '{}', 'ivy', 1, 'done',
         repeat('0', 64), now() - make_interval(days => d)
       FROM unnest('{29,32}'::integer[]) d;
       INSERT INTO hub.export_part (export, n, data) SELECT id, 0, 'x' FROM hub.export`,
    )
    expect((await read()).get('exports')!.overdue).to.equal(1n)
    await dropExpiredExports(database.pool, RETENTION.exports)
    expect((await read()).get('exports')!.overdue).to.equal(0n)
    const { rows } = await database.pool.query('SELECT state FROM hub.export ORDER BY id DESC')
    expect(rows).to.deep.equal([{ state: 'done' }, { state: 'dropped' }])
  })

  it('runs each rule', async () => {
    for (const name of Object.keys(DELETION_RULES) as (keyof typeof DELETION_RULES)[]) {
      await deleteExpired(database.pool, name, RETENTION)
    }
  })
})
