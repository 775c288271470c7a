import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { localFacilitator } from '../../../core/payments/facilitators/local.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { useAttackFixture } from './fixture.ts'
import { PRICE } from './sellers.ts'
import { signPayment } from './sign-payment.ts'

const COST = usd('0.0001')

/** No transaction is mined, so the outcome of payments is unknown. */
describe('a hub whose chain stops producing blocks', () => {
  const fixture = useAttackFixture({ hosts: ['shop.test'] })
  const mining = async (on: boolean): Promise<void> => {
    await fixture().rpc('evm_setAutomine', on)
    await fixture().rpc('evm_setIntervalMining', on ? 2 : 0)
    if (on) await fixture().rpc('evm_mine')
  }
  afterEach(() => mining(true))
  /** Shortens the ten seconds that the hub's own facilitator waits for a block. */
  before(() => {
    const { rpcUrl, wallets, money } = fixture().hub.sandbox!
    const { pool } = fixture().hub.hub
    const own = { rpcUrl, pool, key: wallets.gas.key, network: USDC_BASE.network, pollMs: 50 }
    const brief = localFacilitator({ ...own, confirmationTimeoutMs: 200 })
    const settle: typeof brief.settle = (...args) => brief.settle(...args)
    Object.assign(money.facilitator, { settle, batched: brief.batched })
  })

  it('keeps all payments open, asks nobody to pay again and settles each once', async () => {
    const { url } = fixture().hub
    const [ada, bob] = [await fixture().createAgent(0n), await fixture().createAgent()]
    const [eve, wallet] = [await fixture().createPayer(), await fixture().createPayer(usd('5'))]
    const now = fixture().clock.now()
    const call = { path: '/proxy/echo/say', body: { words: 'hi' } }
    const credits = { path: '/v1/credits/purchase', body: { amount_microdollars: 5_000_000 } }
    const key = ada.apiKey
    const paid = (payment: string) => ({ 'payment-signature': payment })
    const byEve = await signPayment(eve, await ask(url, call.path, call), now)
    const byWallet = await signPayment(
      wallet,
      await ask(url, credits.path, { ...credits, key }),
      now,
    )
    const calls = (): Promise<ApiResponse> => ask(url, call.path, { ...call, headers: paid(byEve) })
    const buys = (): Promise<ApiResponse> =>
      ask(url, credits.path, { ...credits, key, headers: paid(byWallet) })
    fixture().sellers.serve('shop.test', {
      paid: async ({ settle, respond }) => {
        expect(await settle()).to.include({ success: false, errorReason: 'settlement_pending' })
        respond(202)
      },
    })

    await mining(false)
    const [called, bought, external] = await Promise.all([
      calls(),
      buys(),
      fixture().buy(bob, 'http://shop.test/report'),
    ])
    expect([called.status, called.body['code']]).to.deep.equal([202, 'payment_pending'])
    expect([bought.status, bought.body['state']]).to.deep.equal([202, 'pending'])
    expect(external.body).to.include({ code: 'upstream_error', charged_microdollars: 0 })
    for (let i = 0; i < 3; i++) await fixture().runJobs()
    expect(await fixture().countOpen()).to.equal(3)
    expect((await calls()).status).to.equal(202)
    expect((await buys()).status).to.equal(202)
    await fixture().expectMoney(ada, { credits: 0n })
    await fixture().expectMoney(bob, {
      credits: usd('1') - PRICE,
      held: PRICE,
      signed: 1,
      paid: 0n,
    })
    expect((await fixture().changes()).earned).to.equal(0n)

    await mining(true)
    await fixture().resolveAll()
    expect((await buys()).body).to.include({ state: 'settled', balance_microdollars: 5_000_000 })
    expect((await calls()).headers).to.include({ 'idempotency-replayed': 'true' })
    await fixture().expectMoney(bob, {
      credits: usd('1') - PRICE,
      held: 0n,
      signed: 1,
      paid: PRICE,
    })
    const { earned, treasuryOnChain } = await fixture().changes()
    expect([earned, treasuryOnChain]).to.deep.equal([COST, usd('5') + COST])
  })

  it('releases the hold of a payment that is never mined', async () => {
    const bob = await fixture().createAgent()
    fixture().sellers.serve('shop.test', { paid: ({ respond }) => respond(500) })
    await mining(false)
    const { status } = await fixture().buy(bob, 'http://shop.test/report')
    expect(status).to.equal(502)
    await fixture().runJobs()
    await fixture().expectMoney(bob, { credits: usd('1') - PRICE, held: PRICE, signed: 1 })
    await mining(true)
    await fixture().advance(91)
    await fixture().resolveAll()
    await fixture().expectMoney(bob, { credits: usd('1'), held: 0n, signed: 1, paid: 0n })
  })
})
