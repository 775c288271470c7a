import { expect } from 'chai'
import * as fc from 'fast-check'
import { micros } from '../../../../core/money.ts'
import { takeUpTo } from '../../../../core/payments/payouts/payout-entries.ts'

describe('the entries of a payout', () => {
  it('take parts of any earnings up to any maximum, and carry the rest', () => {
    const owner = { id: 1n, code: 'x', shard: 0, asset: 'USDC' } as never
    const amount = fc.bigInt({ min: 1n, max: 10n ** 15n })
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 8 }), amount, (amounts, maximum) => {
        const parts = takeUpTo(
          amounts.map((each) => ({ owner, amount: micros(each) })),
          maximum,
        )
        const total = amounts.reduce((sum, each) => sum + each, 0n)
        const taken = parts.reduce((sum, part) => sum + part.amount, 0n)
        expect(taken).to.equal(total < maximum ? total : maximum)
        for (const [i, part] of parts.entries()) {
          expect(part.amount > 0n && part.amount + part.carried === amounts[i]).to.equal(true)
        }
      }),
    )
  })
})
