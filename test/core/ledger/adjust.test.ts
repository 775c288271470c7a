import { expect } from 'chai'
import { adjust } from '../../../core/ledger/adjust.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent } from './fixture.ts'

const DECISION = { author: 'finance@platform', reason: 'invoice 17' }
const TREASURY = 'assets:usdc:base:treasury'

describe('an adjustment', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('is posted as what it is: a gift, the fee of a facilitator, or a correction', async () => {
    const ledger = new Ledger(database.pool)
    const { code } = await openAgent(ledger, 1n)
    const opened = { type: 'balance.opened', account: TREASURY, amount: micros(9n) } as const
    await ledger.post(opened, { owner: await ledger.account(TREASURY), id: newId() })
    const sides = [
      ['expenses:free-tier', code, 'credits.granted'],
      ['expenses:facilitator', TREASURY, 'facilitator.charged'],
      ['expenses:free-tier', 'equity:opening', 'balance.adjusted'],
      ['expenses:bad-debt', code, 'balance.adjusted'],
    ] as const
    for (const [debit, credit, event] of sides) {
      const id = newId()
      const entry = { debit, credit, amount: 1n }
      expect(await adjust(database.pool, ledger, entry, DECISION, { id })).to.equal('applied')
      const { rows } = await database.pool.query(
        `SELECT k.event, j.meta FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
         WHERE j.id = $1`,
        [id],
      )
      expect(rows).to.deep.equal([{ event, meta: DECISION }])
    }
  })
})
