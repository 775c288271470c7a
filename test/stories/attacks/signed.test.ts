import { encodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import type { Told } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { cancel } from './authorizations.ts'
import { entry, honest, type Paywall, PRICE, type Sale, SHOP, THIEF } from './sellers.ts'
import { useStage } from './stage.ts'

const URL = 'http://shop.test/report'
const CREDITS = usd('1')
const NOTHING = `0x${'00'.repeat(32)}` as const
const receiptOf = (more: object) =>
  encodePaymentResponseHeader({ success: true, transaction: NOTHING, network: NETWORK, ...more })
const NETWORK = USDC_BASE.network

/** The attack categories, and the failures, of a seller that holds a signature. */
describe('attacks of a seller that has a signature', () => {
  const stage = useStage({ hosts: ['shop.test', 'other.test'] })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await stage().agent(CREDITS)
  })
  const buys = (shop?: Paywall, host = 'shop.test'): Promise<Told> => {
    stage().sellers.at(host, shop)
    return stage().buys(ada, `http://${host}/report`)
  }
  const fails = async (paid: Paywall['paid'], status: number, code: string): Promise<Told> => {
    const told = await buys({ paid })
    expect([told.status, told.body['code']]).to.deep.equal([status, code])
    expect(stage().sellers.payments, 'signatures that left').to.have.length(1)
    return told
  }
  const held = (paid = 0n) =>
    stage().expects(ada, { credits: CREDITS - PRICE, held: PRICE, signed: 1, paid })
  const charged = (times = 1n) =>
    stage().expects(ada, {
      credits: CREDITS - PRICE * times,
      held: 0n,
      signed: Number(times),
      paid: PRICE * times,
    })
  const givenBack = () => stage().expects(ada, { credits: CREDITS, held: 0n, signed: 1, paid: 0n })
  const record = async () => {
    const { rows } = await stage().hub.hub.pool.query<{ taken: bigint; delivered: bigint }>(
      'SELECT taken, delivered FROM hub.seller_record WHERE seller = $1',
      [URL],
    )
    return rows[0]
  }
  const dies = async ({ response }: Sale): Promise<void> => void response.destroy()

  describe('fake_delivery: what was taken is charged once, and told', () => {
    it('an empty answer with a receipt is a delivery, which is paid once', async () => {
      const paid = async (sale: Sale): Promise<void> => {
        const receipt = encodePaymentResponseHeader(await sale.settle())
        sale.says(200, '', { 'payment-response': receipt, refresh: '0' })
      }
      expect(await buys({ paid })).to.include({ status: 200, text: '' })
      expect(stage().sellers.visits).to.have.length(2)
      await charged()
    })

    it('an error after the money was taken is told with the evidence, and counted', async () => {
      const before = (await record()) ?? { taken: 0n, delivered: 0n }
      const taking = async (sale: Sale): Promise<void> => {
        await sale.settle()
        sale.says(500, 'sorry')
      }
      const { body, headers } = await fails(taking, 502, 'upstream_error')
      expect(headers['x-charged-microdollars']).to.equal(String(PRICE))
      expect(body['charged_microdollars']).to.equal(Number(PRICE))
      expect(body['payment']).to.include({ state: 'taken', pay_to: SHOP })
      const { transaction } = body['payment'] as { transaction: Hex }
      const { asset, chain } = stage().hub.hub.ports
      const { from } = stage().sellers.payments[0]!.payload.authorization
      const transfer = { tx: transaction, token: asset.address, from, to: SHOP, value: PRICE }
      expect(await chain.transferEvidence(transfer)).to.have.property('found', 'confirmed')
      await charged()
      expect(await record()).to.deep.equal({ ...before, taken: before.taken + 1n })
    })

    it('goods with a receipt of nothing are given back if nothing was taken', async () => {
      const receipt = { 'payment-response': receiptOf({}) }
      expect(await buys({ paid: ({ says }) => says(200, 'goods', receipt) })).to.include({
        status: 200,
      })
      await stage().expects(ada, { credits: CREDITS - PRICE, held: 0n, signed: 1, paid: 0n })
      await stage().jobs()
      await stage().expects(ada, { credits: CREDITS - PRICE })
      await stage().passes(91)
      await stage().resolves()
      await givenBack()
    })

    const lies: readonly [string, object][] = [
      ['of failure', { success: false, errorReason: 'insufficient_funds' }],
      ['of another payer', { payer: THIEF }],
      ['of another amount', { amount: '1' }],
      ['of another network', { network: 'eip155:1' }],
    ]
    for (const [title, lie] of lies) {
      it(`a receipt ${title} is not believed: what the chain says is charged`, async () => {
        const paid = async (sale: Sale): Promise<void> => {
          const { transaction } = await sale.settle()
          sale.says(200, 'goods', { 'payment-response': receiptOf({ transaction, ...lie }) })
        }
        expect(await buys({ paid })).to.include({ status: 200, text: 'goods' })
        await charged()
        await stage().resolves()
        await charged()
      })

      it(`a receipt ${title} is not believed: what was never taken goes back`, async () => {
        const receipt = { 'payment-response': receiptOf(lie) }
        await fails(({ says }) => says(200, 'goods', receipt), 502, 'upstream_error')
        await held()
        await stage().passes(91)
        await stage().resolves()
        await givenBack()
      })
    }
  })

  describe('replay: one signature is one payment', () => {
    it('for a seller that settles it again and again', async () => {
      const again = async (sale: Sale): Promise<void> => {
        await honest(sale)
        for (let i = 0; i < 3; i++) expect(await sale.settle()).to.have.property('success', false)
      }
      expect(await buys({ paid: again })).to.have.property('status', 200)
      await stage().resolves()
      await charged()
    })

    it('for one that hands it to eight facilitators at once', async () => {
      const crowd = async (sale: Sale): Promise<void> => {
        await Promise.all(Array.from({ length: 8 }, sale.settle))
        sale.says(200, 'goods')
      }
      expect(await buys({ paid: crowd })).to.have.property('status', 200)
      await stage().resolves()
      await charged()
    })

    it('and each call has one of its own', async () => {
      for (let i = 0; i < 3; i++) expect(await buys()).to.have.property('status', 200)
      const nonces = stage().sellers.payments.map(({ payload }) => payload.authorization.nonce)
      expect(new Set(nonces).size).to.equal(3)
      await stage().resolves()
      await charged(3n)
    })
  })

  describe('retry_storm: at most one signature for a call', () => {
    it('A090 a 402 again leaves the payment open, until it can never be taken', async () => {
      const offer = { x402Version: 2, accepts: [entry()] }
      const header = Buffer.from(JSON.stringify(offer)).toString('base64')
      const again = ({ says }: Sale) => says(402, '{}', { 'payment-required': header })
      await fails(again, 502, 'upstream_payment_rejected')
      await held()
      await stage().jobs()
      await held()
      await stage().passes(91)
      await stage().resolves()
      await givenBack()
    })

    it('a 402 again after the money was taken is charged, once', async () => {
      const taking = async (sale: Sale): Promise<void> => {
        await sale.settle()
        sale.says(402)
      }
      const { body } = await fails(taking, 502, 'upstream_payment_rejected')
      expect(body['payment']).to.have.property('state', 'taken')
      await charged()
    })

    it('a connection that breaks is not tried again', async () => {
      await fails(dies, 502, 'upstream_unreachable')
      await held()
      await stage().passes(91)
      await stage().resolves()
      await givenBack()
    })

    it('a caller that tries again and again pays from its credits, and no more', async () => {
      ada = await stage().agent(3n * PRICE)
      stage().sellers.at('shop.test', { paid: ({ says }) => says(402) })
      const told = await Promise.all(Array.from({ length: 8 }, () => stage().buys(ada, URL)))
      const poor = told.filter(({ body }) => body['code'] === 'insufficient_credits')
      expect(poor).to.have.length(5)
      expect(stage().sellers.payments).to.have.length(3)
      await stage().expects(ada, { credits: 0n, held: 3n * PRICE, signed: 3, paid: 0n })
    })
  })

  describe('recipient_redirect: a payment goes where it was offered to', () => {
    it('A016 a signature is not carried along when the paid leg answers 307', async () => {
      stage().sellers.at('other.test', { accepts: [entry({ payTo: THIEF })] })
      const location = 'http://other.test/report'
      const away = ({ says }: Sale) => says(307, '', { location })
      await fails(away, 502, 'upstream_redirect')
      expect(new Set(stage().sellers.visits.map(({ host }) => host))).to.deep.equal(
        new Set(['shop.test']),
      )
      await held()
      await stage().passes(91)
      await stage().resolves()
      await givenBack()
    })

    it('A016 … and is charged when the seller that redirects takes it all the same', async () => {
      const away = ({ says }: Sale) => says(307, '', { location: 'http://other.test/' })
      await fails(away, 502, 'upstream_redirect')
      await held()
      await stage().sellers.settle(stage().sellers.payments[0]!)
      await stage().resolves()
      await charged()
    })

    it('a payee that changed is paid, with a caution', async () => {
      const payTo = (to: Hex): Paywall => ({ accepts: [entry({ payTo: to })] })
      const cautions = []
      for (const to of [SHOP, SHOP, THIEF]) {
        const { headers } = await buys(payTo(to), 'other.test')
        cautions.push(headers['x-upstream-caution'])
      }
      expect(cautions).to.deep.equal([undefined, undefined, 'pay_to_changed'])
      await charged(3n)
    })

    it('a signature is good for its payee alone', async () => {
      const stealing = async ({ payment, says }: Sale): Promise<void> => {
        const { accepted, payload } = payment
        const authorization = { ...payload.authorization, to: THIEF }
        const { facilitator } = stage().sellers
        const stolen = { ...payment, payload: { ...payload, authorization } }
        const settled = await facilitator!.settle(stolen, { ...accepted, payTo: THIEF })
        says(settled.success ? 200 : 500)
      }
      await fails(stealing, 502, 'upstream_error')
      await held()
    })
  })

  describe('a late settlement (A089)', () => {
    const late = ({ says }: Sale) => says(500, 'later')
    beforeEach(() => fails(late, 502, 'upstream_error'))

    it('40 s after a 500 is charged, once, and nothing was given back before', async () => {
      await held()
      await stage().passes(40)
      await stage().jobs()
      await held()
      const [payment] = stage().sellers.payments
      expect(await stage().sellers.settle(payment!)).to.have.property('success', true)
      await held(PRICE)
      await stage().resolves()
      await charged()
      await stage().passes(60)
      await stage().jobs()
      await charged()
    })

    it('that never comes is waited for until it cannot come, and 30 s more', async () => {
      await stage().passes(61)
      const [payment] = stage().sellers.payments
      expect(await stage().sellers.settle(payment!)).to.have.property('success', false)
      await stage().jobs()
      await held()
      await stage().passes(25)
      await stage().jobs()
      await held()
      await stage().passes(10)
      await stage().resolves()
      await givenBack()
    })

    it('in the last second is charged although it is seen only later', async () => {
      await stage().passes(55)
      const [payment] = stage().sellers.payments
      expect(await stage().sellers.settle(payment!)).to.have.property('success', true)
      await stage().passes(300)
      await stage().resolves()
      await charged()
    })

    it('is not waited for when the authorization was cancelled on the chain', async () => {
      const { nonce } = stage().sellers.payments[0]!.payload.authorization
      const { rpcUrl, money } = stage().hub.sandbox!
      await cancel(rpcUrl, money.spend, nonce)
      await stage().resolves()
      await givenBack()
    })
  })
})
