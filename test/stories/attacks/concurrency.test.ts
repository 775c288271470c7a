import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { useAttackFixture } from './fixture.ts'
import { PRICE } from './sellers.ts'
import { signPayment } from './sign-payment.ts'

const PAYMENTS = 60
const HALF = PAYMENTS / 2
const COST = usd('0.0001')
const CALL = '/proxy/echo/say'
const PURCHASE = '/v1/credits/purchase'
const createMany = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)))

describe('sixty concurrent payments', () => {
  const fixture = useAttackFixture({ hosts: ['shop.test'] })

  it('to the hub, for calls and credits, all settle and deliver', async () => {
    const { url } = fixture().hub
    const ada = await fixture().createAgent(0n)
    const wallets = await createMany(3, () => fixture().createPayer(usd('51')))
    const orders = [
      { path: CALL, body: { words: 'hi' } },
      { path: PURCHASE, key: ada.apiKey, body: { amount_microdollars: 5_000_000 } },
    ] as const
    const offers = await Promise.all(orders.map((order) => ask(url, order.path, order)))
    const now = fixture().clock.now()
    const payments = await createMany(PAYMENTS, (n) =>
      signPayment(wallets[n % 3]!, offers[n % 2]!, now),
    )
    const responses = await createMany(PAYMENTS, (n) => {
      const order = orders[n % 2]!
      const headers = { 'payment-signature': payments[n]! }
      return ask(url, order.path, { ...order, headers })
    })
    const statuses = responses.map(({ status }) => status)
    expect(statuses).to.deep.equal(Array.from({ length: PAYMENTS }, (_, n) => 200 + (n % 2)))
    await fixture().resolveAll()
    const { earned, treasuryOnChain } = await fixture().changes()
    const [sold, bought] = [BigInt(HALF) * COST, BigInt(HALF) * usd('5')]
    expect([earned, treasuryOnChain]).to.deep.equal([sold, sold + bought])
    await fixture().expectMoney(ada, { credits: bought, held: 0n })
  })

  it('to sellers, by one key, all settle and are charged', async () => {
    const paid = BigInt(PAYMENTS) * PRICE
    const ada = await fixture().createAgent(paid)
    fixture().sellers.serve('shop.test')
    const responses = await createMany(PAYMENTS, (n) =>
      fixture().buy(ada, `http://shop.test/report/${n}`),
    )
    expect(responses.map(({ status }) => status)).to.deep.equal(Array(PAYMENTS).fill(200))
    await fixture().resolveAll()
    await fixture().expectMoney(ada, { credits: 0n, held: 0n, signed: PAYMENTS, paid })
  })
})
