import { expect } from 'chai'
import { exportLedger } from '../../../../core/ledger/export/writer.ts'
import { closePeriod } from '../../../../core/ledger/history/period.ts'
import { CLOSED } from '../../../../core/ledger/verify/closed-months.ts'
import { linesOf, verifyExport } from '../../../../core/ledger/verify/export-verifier.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { newId, sampleLedger } from '../fixture.ts'
import { broken, REWRITE, tamper } from './tampering.ts'

describe('the verification of the closed months of an export', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const verify = async () =>
    broken(await verifyExport(linesOf(exportLedger(database.pool, 'jsonl'))))

  it('finds an entry that was dated in a closed month, although all is rehashed', async () => {
    const { ledger, owner } = await sampleLedger(database.pool)
    await closePeriod(database.pool, '2020-01', 'olga')
    const { rows } = await database.pool.query<{ seq: bigint }>('SELECT seq FROM ledger.head')
    const gift = { type: 'credits.granted', credits: owner.code, amount: 5n } as never
    const effectiveAt = new Date('2020-02-01T00:00:00Z')
    expect(await ledger.post(gift, { owner, id: newId(), effectiveAt })).to.equal('applied')
    expect(await verify()).to.deep.equal({})
    await tamper(
      database,
      `UPDATE ledger.journal SET effective_at = '2020-01-31T23:59:59Z'
       WHERE seq > ${rows[0]!.seq}`,
      ...REWRITE,
    )
    const found = await verify()
    expect(Object.keys(found)).to.deep.equal([CLOSED])
    expect(found[CLOSED]).to.match(/^shard 0 seq \d+ id .*: dated in 2020-01$/)
  })
})
