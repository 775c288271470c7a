import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { pay } from './payments.ts'
import { PRICE } from './sellers.ts'
import { useStage } from './stage.ts'

const CROWD = 60
const HALF = CROWD / 2
const COST = usd('0.0001')
const CALL = '/proxy/echo/say'
const PURCHASE = '/v1/credits/purchase'
const many = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)))

/** Many payments at the same time, of which none may fail for the others. */
describe('sixty payments at once', () => {
  const stage = useStage({ hosts: ['shop.test'] })

  it('to the hub, for calls and for credits, all settle and are answered', async () => {
    const { url } = stage().hub
    const ada = await stage().agent(0n)
    const wallets = await many(3, () => stage().payer(usd('11')))
    const orders = [
      { path: CALL, body: { words: 'hi' } },
      { path: PURCHASE, key: ada.apiKey, body: { amount_microdollars: 1_000_000 } },
    ] as const
    const offers = await Promise.all(orders.map((order) => ask(url, order.path, order)))
    const now = stage().clock.now()
    const payments = await many(CROWD, (n) => pay(wallets[n % 3]!, offers[n % 2]!, now))
    const told = await many(CROWD, (n) => {
      const order = orders[n % 2]!
      const headers = { 'payment-signature': payments[n]! }
      return ask(url, order.path, { ...order, headers })
    })
    const statuses = told.map(({ status }) => status)
    expect(statuses).to.deep.equal(Array.from({ length: CROWD }, (_, n) => 200 + (n % 2)))
    await stage().resolves()
    const { earned, treasuryOnChain } = await stage().changed()
    const [sold, bought] = [BigInt(HALF) * COST, BigInt(HALF) * usd('1')]
    expect([earned, treasuryOnChain]).to.deep.equal([sold, sold + bought])
    await stage().expects(ada, { credits: bought, held: 0n })
  })

  it('to sellers, for one key, all settle and are charged', async () => {
    const paid = BigInt(CROWD) * PRICE
    const ada = await stage().agent(paid)
    stage().sellers.at('shop.test')
    const told = await many(CROWD, (n) => stage().buys(ada, `http://shop.test/report/${n}`))
    expect(told.map(({ status }) => status)).to.deep.equal(Array(CROWD).fill(200))
    await stage().resolves()
    await stage().expects(ada, { credits: 0n, held: 0n, signed: CROWD, paid })
  })
})
