import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '../../../core/db/pool.ts'
import { expireHolds } from '../../../core/ledger/expire.ts'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { newId, openAgent, openProvider, order } from './fixture.ts'

const BATCH = 10_000
const CALLS = 50_000

describe('expiring holds', () => {
  let database: FreshDatabase
  /** A single connection, whose statistics are reported at once. */
  let pool: Pool
  let ledger: Ledger
  let owner: AccountRef
  let payee: AccountRef
  before(async () => {
    database = await freshDatabase()
    pool = createPool(database.url, { max: 1, role: 'hub_finance' })
    ledger = new Ledger(database.pool)
    owner = await openAgent(ledger, 1_000_000_000n)
    payee = await openProvider(ledger, 'acme')
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  /** Posts calls that are reserved and released: two entries each. */
  async function postCalls(count: number): Promise<void> {
    for (let posted = 0; posted < count; posted += BATCH) {
      const ids = Array.from({ length: BATCH }, newId)
      for (const kind of [1, 3]) {
        await database.admin.query(
          `SELECT ledger.apply(0::smallint, array_fill($1::smallint, s), array_fill($2::bigint, s),
             $3::uuid[], array_fill(1::bigint, s), array_fill(1::smallint, s),
             array_fill($4::bigint, s), array_fill(1000::smallint, s), array_fill(60, s),
             array_fill(0, s), array_fill(0, s), '{}', '{}', false)
           FROM (SELECT ARRAY[$5::integer]) x(s)`,
          [kind, owner.id, ids, payee.id, BATCH],
        )
      }
    }
  }

  /** Returns the number of journal rows that were read while `work` ran. */
  async function rowsRead(work: () => Promise<unknown>): Promise<bigint> {
    const before = await journalReads()
    await work()
    return (await journalReads()) - before
  }

  async function journalReads(): Promise<bigint> {
    await pool.query('SELECT pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ read: bigint }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS read
       FROM pg_stat_user_tables WHERE schemaname = 'ledger' AND relname LIKE 'journal%'`,
    )
    return rows[0]!.read
  }

  const listed = async (): Promise<bigint[]> => {
    const { rows } = await pool.query<{ seq: bigint }>('SELECT seq FROM hub.open_hold ORDER BY seq')
    return rows.map(({ seq }) => seq)
  }

  it('A145 reads each entry once, however long one hold stays open', async () => {
    const old = order(owner, payee, 100n, { ttlSeconds: 86_400 })
    await ledger.reserve(old)
    await postCalls(CALLS)
    await database.admin.query('ANALYZE ledger.journal')
    const first = await rowsRead(() => expireHolds(pool, ledger))
    expect(first >= BigInt(CALLS), `rows of the first run: ${first}`).to.equal(true)
    expect(await listed()).to.have.length(1)
    const second = await rowsRead(() => expireHolds(pool, ledger))
    expect(second < 100n, `rows of the second run: ${second}`).to.equal(true)
    const due = order(owner, payee, 100n, { ttlSeconds: 1 })
    await ledger.reserve(due)
    const third = await rowsRead(() =>
      eventually(async () => (await expireHolds(pool, ledger)) === 1),
    )
    expect(third < 10_000n, `rows until a hold expired: ${third}`).to.equal(true)
    expect((await ledger.settle(due, 100n)).outcome).to.equal('id_reused_with_other_terms')
    expect((await ledger.settle(old, 100n)).outcome).to.equal('applied')
  })

  it('lists a hold until it is resolved, and forgets one that was settled in time', async () => {
    const held = order(owner, payee, 100n, { ttlSeconds: 1 })
    await ledger.reserve(held)
    const before = await listed()
    await expireHolds(pool, ledger)
    expect(await listed()).to.have.length(before.length + 1)
    await ledger.settle(held, 100n)
    await eventually(async () => {
      await expireHolds(pool, ledger)
      return (await listed()).length === before.length
    })
  })

  it('releases a hold once if two processes expire it', async () => {
    await ledger.reserve(order(owner, payee, 100n, { ttlSeconds: 1 }))
    let expired = 0
    await eventually(async () => {
      const counts = await Promise.all([expireHolds(pool, ledger), expireHolds(pool, ledger)])
      expired += counts[0] + counts[1]
      return expired > 0
    })
    expect(expired).to.equal(1)
  })
})
