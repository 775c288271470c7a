import { expect } from 'chai'
import { monthStart, systemClock } from '../../../../core/clock.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { sampleLedger } from '../fixture.ts'

const ROWS = 'every row is as it was written'

describe('the verification of partitions', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
    await sampleLedger(database.pool)
  })
  after(() => database.drop())

  const badRows = async (): Promise<bigint | undefined> => {
    const { checks } = await verifyLedger(database.pool)
    return checks.find(({ name }) => name === ROWS)?.bad
  }

  it('reads each row once: before the first month, of each one, and beyond the last', async () => {
    const { admin } = database
    await admin.query('CREATE TABLE ledger.journal_rest PARTITION OF ledger.journal DEFAULT')
    await admin.query('GRANT SELECT ON ledger.journal_rest TO hub_app')
    expect(await badRows()).to.equal(0n)
    const now = systemClock.now()
    const months = [-600, 0, 1, 2, 600]
    for (const [n, ahead] of months.entries()) {
      await admin.query(
        `INSERT INTO ledger.journal SELECT r.* FROM (SELECT j FROM ledger.journal j LIMIT 1) one,
           jsonb_populate_record(one.j,
             jsonb_build_object('id', ledger.first_id($1), 'seq', $2::bigint)) r`,
        [monthStart(now, ahead), 1_000 + n],
      )
      expect(await badRows(), `a row ${ahead} months from now`).to.equal(BigInt(n + 1))
    }
    const { rows } = await admin.query<{ partition: string }>(
      `SELECT DISTINCT tableoid::regclass::text AS partition FROM ledger.journal WHERE seq >= 1000`,
    )
    expect(rows).to.have.length(months.length)
  })
})
