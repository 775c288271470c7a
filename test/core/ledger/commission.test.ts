import { expect } from 'chai'
import * as fc from 'fast-check'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { split } from '../../../core/money.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { agent, order, provider } from './world.ts'

const WHOLE = 10_000n
const bps = fc.integer({ min: 0, max: 10_000 })

/** A064: all amounts up to 2^62 microdollars, all rates. */
describe('commission', () => {
  let database: FreshDatabase
  let books: Ledger
  before(async () => {
    database = await freshDatabase()
    books = new Ledger(database.pool)
  })
  after(() => database.drop())

  /** Both parts are the whole, none is below zero, and the platform’s is rounded down. */
  const judge = (amount: bigint, rate: number, commission: bigint, share: bigint): void => {
    expect(commission + share).to.equal(amount)
    expect(commission >= 0n && share >= 0n).to.equal(true)
    const exact = amount * BigInt(rate)
    expect(commission * WHOLE <= exact && exact < (commission + 1n) * WHOLE).to.equal(true)
  }

  it('A064 splits exactly, whatever the amount and the rate', () => {
    const amounts = fc.bigInt({ min: 0n, max: 1n << 62n })
    fc.assert(
      fc.property(amounts, bps, (amount, rate) => {
        const { commission, share } = split(amount, rate)
        judge(amount, rate, commission, share)
      }),
      {
        numRuns: 2_000,
        examples: [
          [1n << 62n, 9_999],
          [0n, 10_000],
          [9_999n, 1],
        ],
      },
    )
  })

  it('A064 is booked as it is split, once, for the price and no more', async () => {
    const settle = async (amount: bigint, rate: number): Promise<void> => {
      const [owner, payee] = [await agent(books, amount), await provider(books, `r${rate}`)]
      const balances = () =>
        Promise.all(
          [owner.code, payee.code, 'income:commission', 'liabilities:holds'].map((code) =>
            books.balance(code),
          ),
        )
      const before = await balances()
      const call = order(owner, payee, amount, { commissionBps: rate })
      expect((await books.reserve(call)).outcome).to.equal('applied')
      expect((await books.settle(call, amount)).outcome).to.equal('applied')
      expect((await books.settle(call, amount)).outcome, 'twice').to.equal('replayed')
      const after = await balances()
      const [spent, share = 0n, commission = 0n, held] = after.map((now, i) => now - before[i]!)
      expect([spent, held]).to.deep.equal([-amount, 0n])
      judge(amount, rate, commission, share)
    }
    // All of them together have to fit into the books, too.
    await settle((1n << 62n) - 1n, 9_999)
    const amounts = fc.bigInt({ min: 1n, max: 1n << 56n })
    await fc.assert(fc.asyncProperty(amounts, bps, settle), { numRuns: 12 })
  })
})
