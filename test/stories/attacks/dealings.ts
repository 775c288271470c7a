import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { Told } from '../../support/ask.ts'
import { entry, type Paywall, PRICE } from './sellers.ts'
import type { Stage } from './stage.ts'

export const SHOP_URL = 'http://shop.test/report'
export const BAD_TERMS = [502, 'upstream_payment_terms'] as const
export const TOO_DEAR = [402, 'price_exceeds_max'] as const

interface More {
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** How a call to one seller may end, with all that it does to the money. */
export const dealings = (stage: () => Stage) => ({
  /** Nothing was signed, nothing is held, and the seller was asked once, without a payment. */
  refused: async (
    shop: Paywall | RequestListener,
    [status, code]: readonly [number, string],
    { url = SHOP_URL, headers = {} }: More = {},
  ): Promise<Told> => {
    const ada = await stage().agent()
    const { hostname } = new URL(url)
    stage().sellers.at(hostname, shop)
    const visits = stage().sellers.visits.length
    const told = await stage().buys(ada, url, headers)
    expect([told.status, told.body['code']]).to.deep.equal([status, code])
    expect(told.body['charged_microdollars']).to.equal(0)
    const seen = stage().sellers.visits.slice(visits)
    expect(seen.map(({ host, payment }) => [host, payment])).to.deep.equal([[hostname, undefined]])
    await stage().expects(ada, { credits: usd('1'), held: 0n, signed: 0, paid: 0n })
    return told
  },

  /** One payment of the honest price to the shop, and nothing to anybody else. */
  bought: async (shop: Paywall, headers: More['headers'] = {}): Promise<Told> => {
    const ada = await stage().agent()
    stage().sellers.at('shop.test', shop)
    const told = await stage().buys(ada, SHOP_URL, headers)
    expect([told.status, told.text]).to.deep.equal([200, 'goods'])
    expect(told.headers['x-charged-microdollars']).to.equal(String(PRICE))
    const authorizations = stage().sellers.payments.map(({ payload }) => payload.authorization)
    expect(authorizations).to.have.length(1)
    expect(authorizations[0]).to.include({ value: String(PRICE), to: entry().payTo })
    await stage().expects(ada, { credits: usd('1') - PRICE, held: 0n, signed: 1, paid: PRICE })
    return told
  },
})
