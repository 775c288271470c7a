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

  it('leaves nothing between shards, and what payouts have in transit as it is', async () => {
    const ledger = new Ledger(database.pool)
    const book = (debit: string, credit: string, amount = 5n): Promise<string> =>
      adjust(database.pool, ledger, { debit, credit, amount }, DECISION, { id: newId() }).catch(
        ({ message }: Error) => message,
      )
    const [between, opening] = ['equity:between-shards', 'equity:opening'] as const
    const payouts = 'liabilities:payouts:in-transit'
    const gathered = { type: 'payout.gathered', direction: 'in', amount: micros(7n) } as const
    expect(await book(between, opening)).to.match(/^equity:between-shards must be zero/)
    expect(await book(opening, between)).to.match(/^equity:between-shards must be zero/)
    expect(await book(opening, payouts)).to.match(/may not be booked on liabilities:payouts/)
    const owner = await ledger.account(between)
    expect(await ledger.post(gathered, { owner, id: newId() })).to.equal('applied')
    expect(await book(payouts, opening)).to.match(/may not be booked on liabilities:payouts/)
    expect(await book(opening, between, 6n)).to.match(/^equity:between-shards must be zero/)
    const id = newId()
    const mend = () =>
      adjust(database.pool, ledger, { debit: opening, credit: between, amount: 7n }, DECISION, {
        id,
      })
    expect(await mend(), 'corrects an earlier one').to.equal('applied')
    expect(await mend()).to.equal('replayed')
    expect(await ledger.balance(between)).to.equal(0n)
  })
})
