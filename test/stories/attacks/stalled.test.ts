import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { localFacilitator } from '../../../core/payments/facilitators/local.ts'
import { ask, type Told } from '../../support/ask.ts'
import { pay } from './payments.ts'
import { PRICE } from './sellers.ts'
import { useStage } from './stage.ts'

const COST = usd('0.0001')

/** No transaction gets into a block, so that nobody can know what becomes of it. */
describe('a chain that stops producing blocks', () => {
  const stage = useStage({ hosts: ['shop.test'] })
  const mining = async (on: boolean): Promise<void> => {
    await stage().rpc('evm_setAutomine', on)
    await stage().rpc('evm_setIntervalMining', on ? 2 : 0)
    if (on) await stage().rpc('evm_mine')
  }
  afterEach(() => mining(true))
  /** The hub's own facilitator, waiting a moment for a block where it would wait ten seconds. */
  before(() => {
    const { rpcUrl, wallets, money } = stage().hub.sandbox!
    const { pool } = stage().hub.hub
    const own = { rpcUrl, pool, key: wallets.gas.key, network: USDC_BASE.network, pollMs: 50 }
    const brief = localFacilitator({ ...own, confirmationTimeoutMs: 200 })
    const settle: typeof brief.settle = (...args) => brief.settle(...args)
    Object.assign(money.facilitator, { settle, together: brief.batched })
  })

  it('leaves all payments open, asks nobody to pay again, and settles each once', async () => {
    const { url } = stage().hub
    const [ada, bob] = [await stage().agent(0n), await stage().agent()]
    const [eve, wallet] = [await stage().payer(), await stage().payer()]
    const now = stage().clock.now()
    const call = { path: '/proxy/echo/say', body: { words: 'hi' } }
    const credits = { path: '/v1/credits/purchase', body: { amount_microdollars: 1_000_000 } }
    const key = ada.apiKey
    const paid = (payment: string) => ({ 'payment-signature': payment })
    const byEve = await pay(eve, await ask(url, call.path, call), now)
    const byWallet = await pay(wallet, await ask(url, credits.path, { ...credits, key }), now)
    const calls = (): Promise<Told> => ask(url, call.path, { ...call, headers: paid(byEve) })
    const buys = (): Promise<Told> =>
      ask(url, credits.path, { ...credits, key, headers: paid(byWallet) })
    stage().sellers.at('shop.test', {
      paid: async ({ settle, says }) => {
        expect(await settle()).to.include({ success: false, errorReason: 'settlement_pending' })
        says(202)
      },
    })

    await mining(false)
    const [called, bought, external] = await Promise.all([
      calls(),
      buys(),
      stage().buys(bob, 'http://shop.test/report'),
    ])
    expect([called.status, called.body['code']]).to.deep.equal([202, 'payment_pending'])
    expect([bought.status, bought.body['state']]).to.deep.equal([202, 'pending'])
    expect(external.body).to.include({ code: 'upstream_error', charged_microdollars: 0 })
    for (let i = 0; i < 3; i++) await stage().jobs()
    expect(await stage().open()).to.equal(3)
    expect((await calls()).status).to.equal(202)
    expect((await buys()).status).to.equal(202)
    await stage().expects(ada, { credits: 0n })
    await stage().expects(bob, { credits: usd('1') - PRICE, held: PRICE, signed: 1, paid: 0n })
    expect((await stage().changed()).earned).to.equal(0n)

    await mining(true)
    await stage().resolves()
    expect((await buys()).body).to.include({ state: 'settled', balance_microdollars: 1_000_000 })
    expect((await calls()).headers).to.include({ 'idempotency-replayed': 'true' })
    await stage().expects(bob, { credits: usd('1') - PRICE, held: 0n, signed: 1, paid: PRICE })
    const { earned, treasuryOnChain } = await stage().changed()
    expect([earned, treasuryOnChain]).to.deep.equal([COST, usd('1') + COST])
  })

  it('gives back what no block ever took', async () => {
    const bob = await stage().agent()
    stage().sellers.at('shop.test', { paid: ({ says }) => says(500) })
    await mining(false)
    const { status } = await stage().buys(bob, 'http://shop.test/report')
    expect(status).to.equal(502)
    await stage().jobs()
    await stage().expects(bob, { credits: usd('1') - PRICE, held: PRICE, signed: 1 })
    await mining(true)
    await stage().passes(91)
    await stage().resolves()
    await stage().expects(bob, { credits: usd('1'), held: 0n, signed: 1, paid: 0n })
  })
})
