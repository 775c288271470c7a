import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { authorizationOf } from '../../support/authorization.ts'
import type { AttackFixture } from './fixture.ts'
import { entry, type Paywall, PRICE } from './sellers.ts'

export const SHOP_URL = 'http://shop.test/report'
export const BAD_TERMS = [502, 'upstream_payment_terms'] as const
export const TOO_EXPENSIVE = [402, 'price_exceeds_max'] as const

interface RequestOptions {
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Assertions on a call to one seller, including all effects on money. */
export const expectations = (fixture: () => AttackFixture) => ({
  /** Asserts that nothing was signed or held and the seller got one request without a payment. */
  refused: async (
    shop: Paywall | RequestListener,
    [status, code]: readonly [number, string],
    { url = SHOP_URL, headers = {} }: RequestOptions = {},
  ): Promise<ApiResponse> => {
    const ada = await fixture().createAgent()
    const { hostname } = new URL(url)
    fixture().sellers.serve(hostname, shop)
    const visits = fixture().sellers.visits.length
    const response = await fixture().buy(ada, url, headers)
    expect([response.status, response.body['code']]).to.deep.equal([status, code])
    expect(response.body['charged_microdollars']).to.equal(0)
    const seen = fixture().sellers.visits.slice(visits)
    expect(seen.map(({ host, payment }) => [host, payment])).to.deep.equal([[hostname, undefined]])
    await fixture().expectMoney(ada, { credits: usd('1'), held: 0n, signed: 0, paid: 0n })
    return response
  },

  /** Asserts one payment of the honest price to the shop and none to others. */
  bought: async (shop: Paywall, headers: RequestOptions['headers'] = {}): Promise<ApiResponse> => {
    const ada = await fixture().createAgent()
    fixture().sellers.serve('shop.test', shop)
    const response = await fixture().buy(ada, SHOP_URL, headers)
    expect([response.status, response.text]).to.deep.equal([200, 'goods'])
    expect(response.headers['x-charged-microdollars']).to.equal(String(PRICE))
    const authorizations = fixture().sellers.payments.map(({ payload }) => authorizationOf(payload))
    expect(authorizations).to.have.length(1)
    expect(authorizations[0]).to.include({ value: String(PRICE), to: entry().payTo })
    await fixture().expectMoney(ada, {
      credits: usd('1') - PRICE,
      held: 0n,
      signed: 1,
      paid: PRICE,
    })
    return response
  },
})
