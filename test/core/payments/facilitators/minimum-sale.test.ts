import { expect } from 'chai'
import { usd } from '../../../../core/money.ts'
import {
  MINIMUM_SALE_FLOOR,
  minimumSale,
  trackMinimumSale,
} from '../../../../core/payments/facilitators/minimum-sale.ts'

const GWEI = 1_000_000_000n
const ETH_PRICE = usd('3000')

describe('A216 the minimum sale', () => {
  it('covers the gas of its settlement, rounded up, and is never below the floor', () => {
    expect(minimumSale(GWEI, ETH_PRICE)).to.equal(usd('0.36'))
    expect(minimumSale(GWEI + 1n, ETH_PRICE)).to.equal(usd('0.36') + 1n)
    expect(minimumSale(0n, ETH_PRICE)).to.equal(MINIMUM_SALE_FLOOR)
    expect(minimumSale(1_000n, ETH_PRICE)).to.equal(MINIMUM_SALE_FLOOR)
  })

  it('follows the gas price once a minute, and keeps the last one if the node fails', async () => {
    let now = 0
    let requestCount = 0
    const prices: (bigint | Error)[] = [GWEI, 2n * GWEI, new Error('down'), 3n * GWEI]
    const gasPrice = async () => {
      const price = prices[requestCount++]
      if (price instanceof Error) throw price
      return price ?? 0n
    }
    const minimum = trackMinimumSale({ gasPrice, ethPrice: ETH_PRICE, now: () => now })
    const read = async () => {
      minimum()
      await new Promise((resolve) => setImmediate(resolve))
      return minimum()
    }
    expect(minimum(), 'before the first answer').to.equal(MINIMUM_SALE_FLOOR)
    expect([await read(), requestCount]).to.deep.equal([usd('0.36'), 1])
    now += 59_999
    expect([await read(), requestCount]).to.deep.equal([usd('0.36'), 1])
    now += 1
    expect([await read(), requestCount]).to.deep.equal([usd('0.72'), 2])
    now += 60_000
    expect([await read(), requestCount], 'the node is down').to.deep.equal([usd('0.72'), 3])
    now += 60_000
    expect([await read(), requestCount]).to.deep.equal([usd('1.08'), 4])
  })
})
