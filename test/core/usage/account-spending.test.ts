import { expect } from 'chai'
import { readAccountSpending } from '../../../core/usage/account-spending.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const TO = '2026-11-28'

/**
 * Two main keys and a sub-key of one principal, and a key of another. The endpoints are of the
 * service `tides`; spending on 9999 is outside the catalog.
 */
const SETUP = `
  INSERT INTO hub.principal (id, wallet_address, shard) VALUES
    ('prn_aaaaaaaaaaaaaaaa', '0x' || repeat('a', 40), 0),
    ('prn_bbbbbbbbbbbbbbbb', '0x' || repeat('b', 40), 0);
  INSERT INTO hub.api_key (id, principal, parent, depth, credits, name) VALUES
    ('key_first00000000000', 'prn_aaaaaaaaaaaaaaaa', NULL, 0, 9001, 'First'),
    ('key_other00000000000', 'prn_aaaaaaaaaaaaaaaa', NULL, 0, 9002, NULL),
    ('key_below00000000000', 'prn_aaaaaaaaaaaaaaaa', 'key_first00000000000', 1, 9001, 'Below'),
    ('key_alien00000000000', 'prn_bbbbbbbbbbbbbbbb', NULL, 0, 9003, 'Alien');
  INSERT INTO hub.provider (id, owner) VALUES ('p-tides', 'prn_bbbbbbbbbbbbbbbb');
  INSERT INTO hub.service (slug, name, category, summary, provider, free_calls_per_month, state)
    VALUES ('tides', 'Tides', 'data', 'Tides.', 'p-tides', 0, 'active');
  INSERT INTO hub.endpoint (service, method, path, summary, input_schema) VALUES
    ('tides', 'GET', '/high', 'High.', '{}'), ('tides', 'GET', '/low', 'Low.', '{}')`

const ADD = `
  INSERT INTO hub.spending (payer, day, endpoint, calls, charged, free_calls, failed, released,
    refunded)
  SELECT $1, $2::date - $3::integer, coalesce((SELECT id FROM hub.endpoint WHERE path = $4), 9999),
    $5, $6, $7, $8, 0, $9`

describe('the spending of an account', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
    await database.admin.query(SETUP)
    const first = 'key_first00000000000'
    // payer, days before TO, endpoint, calls, charged, free calls, failed, refunded
    const rows = [
      [first, 0, '/high', 2, 300, 0, 1, 0],
      [first, 0, '/low', 1, 50, 0, 0, 20],
      [first, 6, '/high', 1, 7, 0, 0, 0],
      [first, 7, '/low', 4, 1_000, 0, 2, 0],
      ['key_other00000000000', 1, '', 1, 5_000, 0, 0, 0],
      ['prn_aaaaaaaaaaaaaaaa', 13, '/high', 0, 0, 3, 0, 0],
      [first, 14, '/high', 9, 90, 0, 0, 0], // the last day before the range
      ['key_other00000000000', 27, '/high', 9, 900, 0, 0, 100], // the first day compared
      [first, 28, '/high', 9, 70_000, 0, 0, 0],
      ['key_alien00000000000', 0, '/high', 9, 70_000, 0, 0, 0],
    ]
    for (const [payer, ...rest] of rows) await database.admin.query(ADD, [payer, TO, ...rest])
  })
  after(() => database.drop())

  it('is added up by service and by main key, in periods, with the days before', async () => {
    const found = await readAccountSpending(database.pool, ['prn_aaaaaaaaaaaaaaaa'], {
      from: '2026-11-15',
      to: TO,
      step: 7,
      recentFrom: '2026-11-22',
    })
    const [early, late] = ['2026-11-15', '2026-11-22']
    expect(found).to.deep.equal({
      byService: [
        { day: early, name: 'tides', calls: 7n, failed: 2n, spent: 1_000n },
        { day: late, name: '', calls: 1n, failed: 0n, spent: 5_000n },
        { day: late, name: 'tides', calls: 4n, failed: 1n, spent: 337n },
      ],
      byMainKey: [
        { day: early, name: '', calls: 3n, failed: 0n, spent: 0n },
        { day: early, name: 'First', calls: 4n, failed: 2n, spent: 1_000n },
        { day: late, name: 'First', calls: 4n, failed: 1n, spent: 337n },
        { day: late, name: 'key_other00000000000', calls: 1n, failed: 0n, spent: 5_000n },
      ],
      before: 90n + 800n,
      recent: 5_337n,
    })
  })

  it('is nothing for an account without calls', async () => {
    const range = { from: '2026-11-28', to: TO, step: 1, recentFrom: '2026-11-28' }
    expect(await readAccountSpending(database.pool, ['prn_cccccccccccccccc'], range)).to.deep.equal(
      {
        byService: [],
        byMainKey: [],
        before: 0n,
        recent: 0n,
      },
    )
  })
})
