import { encodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { authorizationOf } from '../../support/authorization.ts'
import type { TestAgent } from '../../support/hub.ts'
import { cancelAuthorization } from './cancel-authorization.ts'
import { useAttackFixture } from './fixture.ts'
import { entry, type Paywall, PRICE, type Sale, SHOP, settleAndDeliver, THIEF } from './sellers.ts'

const URL = 'http://shop.test/report'
const CREDITS = usd('1')
const NOTHING = `0x${'00'.repeat(32)}` as const
const receiptOf = (more: object) =>
  encodePaymentResponseHeader({ success: true, transaction: NOTHING, network: NETWORK, ...more })
const NETWORK = USDC_BASE.network

/** Attack categories and failures of a seller that holds a signature. */
describe('attacks by a seller that has a signature', () => {
  const fixture = useAttackFixture({ hosts: ['shop.test', 'other.test'] })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await fixture().createAgent(CREDITS)
  })
  const buys = (shop?: Paywall, host = 'shop.test'): Promise<ApiResponse> => {
    fixture().sellers.serve(host, shop)
    return fixture().buy(ada, `http://${host}/report`)
  }
  const fails = async (paid: Paywall['paid'], status: number, code: string) => {
    const response = await buys({ paid })
    expect([response.status, response.body['code']]).to.deep.equal([status, code])
    expect(fixture().sellers.payments, 'signatures sent').to.have.length(1)
    return response
  }
  const held = (paid = 0n) =>
    fixture().expectMoney(ada, { credits: CREDITS - PRICE, held: PRICE, signed: 1, paid })
  const charged = (times = 1n) =>
    fixture().expectMoney(ada, {
      credits: CREDITS - PRICE * times,
      held: 0n,
      signed: Number(times),
      paid: PRICE * times,
    })
  const released = () =>
    fixture().expectMoney(ada, { credits: CREDITS, held: 0n, signed: 1, paid: 0n })
  const record = async () => {
    const { rows } = await fixture().hub.hub.pool.query<{ taken: bigint; delivered: bigint }>(
      'SELECT taken, delivered FROM hub.seller_record WHERE seller = $1',
      [URL],
    )
    return rows[0]
  }
  const dies = async ({ response }: Sale): Promise<void> => void response.destroy()

  describe('fake_delivery: a taken payment is charged once and reported', () => {
    it('an empty response with a receipt counts as a delivery', async () => {
      const paid = async (sale: Sale): Promise<void> => {
        const receipt = encodePaymentResponseHeader(await sale.settle())
        sale.respond(200, '', { 'payment-response': receipt, refresh: '0' })
      }
      expect(await buys({ paid })).to.include({ status: 200, text: '' })
      expect(fixture().sellers.visits).to.have.length(2)
      await charged()
    })

    it('an error after settlement is reported with evidence and counted', async () => {
      const before = (await record()) ?? { taken: 0n, delivered: 0n }
      const taking = async (sale: Sale): Promise<void> => {
        await sale.settle()
        sale.respond(500, 'sorry')
      }
      const { body, headers } = await fails(taking, 502, 'upstream_error')
      expect(headers['x-charged-microdollars']).to.equal(String(PRICE))
      expect(body['charged_microdollars']).to.equal(Number(PRICE))
      expect(body['payment']).to.include({ state: 'taken', pay_to: SHOP })
      const { transaction } = body['payment'] as { transaction: Hex }
      const { asset, chain } = fixture().hub.hub.paymentDeps
      const { from } = authorizationOf(fixture().sellers.payments[0]!.payload)
      const transfer = { tx: transaction, token: asset.address, from, to: SHOP, value: PRICE }
      expect(await chain.transferEvidence(transfer)).to.have.property('found', 'confirmed')
      await charged()
      expect(await record()).to.deep.equal({ ...before, taken: before.taken + 1n })
    })

    it('a delivery with a false receipt is refunded if nothing was taken', async () => {
      const receipt = { 'payment-response': receiptOf({}) }
      expect(await buys({ paid: ({ respond }) => respond(200, 'goods', receipt) })).to.include({
        status: 200,
      })
      await fixture().expectMoney(ada, { credits: CREDITS - PRICE, held: 0n, signed: 1, paid: 0n })
      await fixture().runJobs()
      await fixture().expectMoney(ada, { credits: CREDITS - PRICE })
      await fixture().advance(91)
      await fixture().resolveAll()
      await released()
    })

    const lies: readonly [string, object][] = [
      ['of failure', { success: false, errorReason: 'insufficient_funds' }],
      ['of another payer', { payer: THIEF }],
      ['of another amount', { amount: '1' }],
      ['of another network', { network: 'eip155:1' }],
    ]
    for (const [title, lie] of lies) {
      it(`a receipt ${title} is not trusted: the chain decides and it is charged`, async () => {
        const paid = async (sale: Sale): Promise<void> => {
          const { transaction } = await sale.settle()
          sale.respond(200, 'goods', { 'payment-response': receiptOf({ transaction, ...lie }) })
        }
        expect(await buys({ paid })).to.include({ status: 200, text: 'goods' })
        await charged()
        await fixture().resolveAll()
        await charged()
      })

      it(`a receipt ${title} is not trusted: an untaken payment is released`, async () => {
        const receipt = { 'payment-response': receiptOf(lie) }
        await fails(({ respond }) => respond(200, 'goods', receipt), 502, 'upstream_error')
        await held()
        await fixture().advance(91)
        await fixture().resolveAll()
        await released()
      })
    }
  })

  describe('replay: one signature is one payment', () => {
    it('for a seller that settles it repeatedly', async () => {
      const again = async (sale: Sale): Promise<void> => {
        await settleAndDeliver(sale)
        for (let i = 0; i < 3; i++) expect(await sale.settle()).to.have.property('success', false)
      }
      expect(await buys({ paid: again })).to.have.property('status', 200)
      await fixture().resolveAll()
      await charged()
    })

    it('for a seller that settles it eight times concurrently', async () => {
      const settleConcurrently = async (sale: Sale): Promise<void> => {
        await Promise.all(Array.from({ length: 8 }, sale.settle))
        sale.respond(200, 'goods')
      }
      expect(await buys({ paid: settleConcurrently })).to.have.property('status', 200)
      await fixture().resolveAll()
      await charged()
    })

    it('and each call has its own', async () => {
      for (let i = 0; i < 3; i++) expect(await buys()).to.have.property('status', 200)
      const nonces = fixture().sellers.payments.map(({ payload }) => authorizationOf(payload).nonce)
      expect(new Set(nonces).size).to.equal(3)
      await fixture().resolveAll()
      await charged(3n)
    })
  })

  describe('retry_storm: each call gets at most one signature', () => {
    it('A090 a repeated 402 leaves the payment open until it expires', async () => {
      const offer = { x402Version: 2, accepts: [entry()] }
      const header = Buffer.from(JSON.stringify(offer)).toString('base64')
      const again = ({ respond }: Sale) => respond(402, '{}', { 'payment-required': header })
      await fails(again, 502, 'upstream_payment_rejected')
      await held()
      await fixture().runJobs()
      await held()
      await fixture().advance(91)
      await fixture().resolveAll()
      await released()
    })

    it('a repeated 402 after settlement is charged once', async () => {
      const taking = async (sale: Sale): Promise<void> => {
        await sale.settle()
        sale.respond(402)
      }
      const { body } = await fails(taking, 502, 'upstream_payment_rejected')
      expect(body['payment']).to.have.property('state', 'taken')
      await charged()
    })

    it('a broken connection is not retried', async () => {
      await fails(dies, 502, 'upstream_unreachable')
      await held()
      await fixture().advance(91)
      await fixture().resolveAll()
      await released()
    })

    it('a caller that retries pays at most its credits', async () => {
      ada = await fixture().createAgent(3n * PRICE)
      fixture().sellers.serve('shop.test', { paid: ({ respond }) => respond(402) })
      const responses = await Promise.all(Array.from({ length: 8 }, () => fixture().buy(ada, URL)))
      const poor = responses.filter(({ body }) => body['code'] === 'insufficient_credits')
      expect(poor).to.have.length(5)
      expect(fixture().sellers.payments).to.have.length(3)
      await fixture().expectMoney(ada, { credits: 0n, held: 3n * PRICE, signed: 3, paid: 0n })
    })
  })

  describe('recipient_redirect: a payment goes only to its payee', () => {
    it('A016 a signature does not follow a 307 of the paid request', async () => {
      fixture().sellers.serve('other.test', { accepts: [entry({ payTo: THIEF })] })
      const location = 'http://other.test/report'
      const away = ({ respond }: Sale) => respond(307, '', { location })
      await fails(away, 502, 'upstream_redirect')
      expect(new Set(fixture().sellers.visits.map(({ host }) => host))).to.deep.equal(
        new Set(['shop.test']),
      )
      await held()
      await fixture().advance(91)
      await fixture().resolveAll()
      await released()
    })

    it('A016 … and is charged if the redirecting seller takes it anyway', async () => {
      const away = ({ respond }: Sale) => respond(307, '', { location: 'http://other.test/' })
      await fails(away, 502, 'upstream_redirect')
      await held()
      await fixture().sellers.settle(fixture().sellers.payments[0]!)
      await fixture().resolveAll()
      await charged()
    })

    it('a signature is valid only for its payee', async () => {
      const stealing = async ({ payment, respond }: Sale): Promise<void> => {
        const { accepted, payload } = payment
        const authorization = { ...authorizationOf(payload), to: THIEF }
        const { facilitator } = fixture().sellers
        const stolen = { ...payment, payload: { ...payload, authorization } }
        const settled = await facilitator!.settle(stolen, { ...accepted, payTo: THIEF })
        respond(settled.success ? 200 : 500)
      }
      await fails(stealing, 502, 'upstream_error')
      await held()
    })
  })

  describe('a late settlement (A089)', () => {
    const late = ({ respond }: Sale) => respond(500, 'later')
    beforeEach(() => fails(late, 502, 'upstream_error'))

    it('40 s after a 500 is charged once and its hold is kept until then', async () => {
      await held()
      await fixture().advance(40)
      await fixture().runJobs()
      await held()
      const [payment] = fixture().sellers.payments
      expect(await fixture().sellers.settle(payment!)).to.have.property('success', true)
      await held(PRICE)
      await fixture().resolveAll()
      await charged()
      await fixture().advance(60)
      await fixture().runJobs()
      await charged()
    })

    it('that never happens is awaited until expiry plus 30 s', async () => {
      await fixture().advance(61)
      const [payment] = fixture().sellers.payments
      expect(await fixture().sellers.settle(payment!)).to.have.property('success', false)
      await fixture().runJobs()
      await held()
      await fixture().advance(25)
      await fixture().runJobs()
      await held()
      await fixture().advance(10)
      await fixture().resolveAll()
      await released()
    })

    it('in the last second is charged although it is found later', async () => {
      await fixture().advance(55)
      const [payment] = fixture().sellers.payments
      expect(await fixture().sellers.settle(payment!)).to.have.property('success', true)
      await fixture().advance(300)
      await fixture().resolveAll()
      await charged()
    })

    it('is not awaited once the authorization is canceled on the chain', async () => {
      const { nonce } = authorizationOf(fixture().sellers.payments[0]!.payload)
      const { rpcUrl, money } = fixture().hub.sandbox!
      await cancelAuthorization(rpcUrl, money.spend, nonce)
      await fixture().resolveAll()
      await released()
    })
  })
})
