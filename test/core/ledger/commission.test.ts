import { expect } from 'chai'
import * as fc from 'fast-check'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { split } from '../../../core/money.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { openAgent, openProvider, order } from './fixture.ts'

const WHOLE = 10_000n
const bps = fc.integer({ min: 0, max: 10_000 })

/** Covers all amounts up to 2^62 microdollars and all rates. */
describe('commission', () => {
  let database: FreshDatabase
  let ledger: Ledger
  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
  })
  after(() => database.drop())

  /** Both parts add up to the amount, neither is negative, and the commission is rounded down. */
  const judge = (amount: bigint, rate: number, commission: bigint, share: bigint): void => {
    expect(commission + share).to.equal(amount)
    expect(commission >= 0n && share >= 0n).to.equal(true)
    const exact = amount * BigInt(rate)
    expect(commission * WHOLE <= exact && exact < (commission + 1n) * WHOLE).to.equal(true)
  }

  it('A064 is split exactly for any amount and rate', () => {
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

  it('A064 is posted as it is split, once, for exactly the price', async () => {
    const settle = async (amount: bigint, rate: number): Promise<void> => {
      const [owner, payee] = [
        await openAgent(ledger, amount),
        await openProvider(ledger, `r${rate}`),
      ]
      const balances = () =>
        Promise.all(
          [owner.code, payee.code, 'income:commission', 'liabilities:holds'].map((code) =>
            ledger.balance(code),
          ),
        )
      const before = await balances()
      const call = order(owner, payee, amount, { commissionBps: rate })
      expect((await ledger.reserve(call)).outcome).to.equal('applied')
      expect((await ledger.settle(call, amount)).outcome).to.equal('applied')
      expect((await ledger.settle(call, amount)).outcome, 'twice').to.equal('replayed')
      const after = await balances()
      const [spent, share = 0n, commission = 0n, held] = after.map((now, i) => now - before[i]!)
      expect([spent, held]).to.deep.equal([-amount, 0n])
      judge(amount, rate, commission, share)
    }
    // The sum of all amounts must fit into the ledger, too.
    await settle((1n << 62n) - 1n, 9_999)
    const amounts = fc.bigInt({ min: 1n, max: 1n << 56n })
    await fc.assert(fc.asyncProperty(amounts, bps, settle), { numRuns: 12 })
  })
})
