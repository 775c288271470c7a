import { expect } from 'chai'
import { micros } from '../../../core/money.ts'
import { unitPrice } from '../../../core/plugin/index.ts'
import type { PricedCall } from '../../../server/proxy/call-types.ts'
import { acceptsX402, saleTermsOf } from '../../../server/proxy/payment-required.ts'

const PRICE = micros(5_000n)
const deps = {
  creditsOnly: new Set<string>(),
  minX402: () => micros(1_000n),
  prepaidAbove: micros(100_000n),
  offers: { sellsMetered: true } as never,
}
const quoted = { max: PRICE, unit: 'tokens', of: unitPrice(micros(7n), 3) }
const sale = (metered: PricedCall['metered'], price = PRICE) => ({
  offering: { endpoint: { price: PRICE, summary: '' } } as PricedCall['offering'],
  price,
  metered,
  request: { slug: 'a', url: () => 'https://hub.test/proxy/a' },
})

describe('the x402 terms of a call', () => {
  it('are metered by the price that applies, not by that of the endpoint', () => {
    expect(saleTermsOf(deps, sale(quoted))).to.include({ isMetered: true, upfront: false })
    expect(saleTermsOf(deps, sale(undefined))).to.include({ isMetered: false })
  })
  it('leave a metered maximum to credits that is paid upfront, or that nobody can settle', () => {
    expect(acceptsX402(deps, sale(quoted))).to.equal(true)
    expect(acceptsX402(deps, sale(quoted, micros(100_001n)))).to.equal(false)
    const without = { ...deps, offers: { sellsMetered: false } as never }
    expect(acceptsX402(without, sale(quoted))).to.equal(false)
    expect(acceptsX402(without, sale(undefined))).to.equal(true)
  })
})
