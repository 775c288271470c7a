import { expect } from 'chai'
import { approve } from '../../../core/catalog/upstreams/lifecycle.ts'
import { migrate } from '../../../core/db/migrate.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { migrationsBefore } from './migrations-before.ts'

describe('the upgrade to versions of content', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase(undefined, { empty: true })
    await using folder = await migrationsBefore('0037')
    await migrate(database.url, { folder: folder.path })
  })
  after(() => database.drop())

  it('approves what was on sale, and lets all else be decided', async () => {
    const { admin, pool } = database
    await admin.query(`INSERT INTO hub.principal (id, wallet_address, shard)
      VALUES ('prn_owner00000000000', '0x${'ab'.repeat(20)}', 0)`)
    await admin.query(
      `INSERT INTO hub.provider (id, owner) VALUES ('p-old', 'prn_owner00000000000')`,
    )
    for (const [slug, state, activated] of [
      ['sold', 'active', 'now()'],
      ['halted', 'suspended', 'now()'],
      ['asked', 'pending', 'NULL'],
      ['barred', 'suspended', 'NULL'],
      ['begun', 'draft', 'NULL'],
    ] as const) {
      await admin.query(`INSERT INTO hub.service (slug, name, category, summary, provider,
          free_calls_per_month, state, family)
        VALUES ('${slug}', 'S', 'data', 'S.', 'p-old', 0, 'unlisted', 'upstream')`)
      await admin.query('ALTER TABLE hub.upstream DISABLE TRIGGER USER')
      await admin.query(`INSERT INTO hub.upstream (slug, owner, provider, name, category, summary,
          base_url, free_calls_per_month, request_headers, response_headers, health_path, state,
          activated_at, reason)
        VALUES ('${slug}', 'prn_owner00000000000', 'p-old', 'S', 'data', 'S.',
          'https://a.example', 0, '{}', '{}', '/', '${state}', ${activated},
          ${state === 'suspended' ? `'a reason'` : 'NULL'})`)
      await admin.query('ALTER TABLE hub.upstream ENABLE TRIGGER USER')
    }
    await migrate(database.url)
    const versions = await admin.query(
      'SELECT subject, state FROM hub.content_version ORDER BY subject',
    )
    expect(versions.rows).to.deep.equal([
      { subject: 'asked', state: 'waiting' },
      { subject: 'barred', state: 'waiting' },
      { subject: 'halted', state: 'approved' },
      { subject: 'sold', state: 'approved' },
    ])
    const resume = (slug: string) => inTransaction(pool, (client) => approve(client, slug, 1))
    expect((await resume('barred')).state).to.equal('paused')
    expect((await resume('halted')).state, 'without endpoints').to.equal('paused')
  })
})
