import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { expect } from 'chai'
import { privateKeyToAccount } from 'viem/accounts'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { type Seller, startSeller } from '../../../server/sandbox/seller.ts'
import { clientOf, NETWORK, type Stack, sign, startStack } from '../../core/payments/stack.ts'

describe('the sample seller', () => {
  let stack: Stack
  let seller: Seller
  before(async () => {
    stack = await startStack()
    const { facilitator, wallets } = stack
    const payTo = wallets.seller.account.address
    seller = await startSeller({ facilitator, payTo, network: NETWORK })
  })
  after(async () => {
    await seller.stop()
    await stack.stop()
  })

  const agent = () => stack.wallets.agent.account
  const income = () => stack.chain.balanceOf(stack.wallets.seller.account.address)
  const pay = (path: string, init: RequestInit = {}, account = agent()) =>
    wrapFetchWithPayment(fetch, clientOf(account))(`${seller.url}${path}`, init)
  const ask = async (path: string) => {
    const answer = await fetch(`${seller.url}${path}`)
    await answer.text()
    return decodePaymentRequiredHeader(answer.headers.get('payment-required') ?? '')
  }
  const send = (path: string, payment: string) =>
    fetch(`${seller.url}${path}`, { headers: { 'payment-signature': payment } })
  const earns = async (amount: bigint, before: bigint) => {
    const deadline = elapsedMs() + 15_000
    while ((await income()) - before !== amount && elapsedMs() < deadline) await sleep(20)
    expect((await income()) - before).to.equal(amount)
  }

  it('asks for payment in the header, and says the same in the body', async () => {
    const answer = await fetch(`${seller.url}/weather?city=Oslo`)
    expect(answer.status).to.equal(402)
    const required = decodePaymentRequiredHeader(answer.headers.get('payment-required') ?? '')
    expect(await answer.json()).to.deep.equal(required)
    expect(required.resource.url).to.equal(`${seller.url}/weather`)
    expect(required.accepts[0]).to.include({ amount: '10000', network: NETWORK })
  })
  it('sells to the usual client, for exactly the price', async () => {
    const before = await income()
    const answer = await pay('/weather?city=Oslo')
    expect(answer.status).to.equal(200)
    expect(await answer.json()).to.deep.equal({ city: 'Oslo', sky: 'cloudy', celsius: 20 })
    const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
    expect(receipt).to.include({ success: true, amount: '10000', payer: agent().address })
    await earns(10_000n, before)
  })
  it('sells a POST', async () => {
    const before = await income()
    const answer = await pay('/shout', { method: 'POST', body: 'hello' })
    expect(await answer.json()).to.deep.equal({ shouted: 'HELLO' })
    await earns(2_000n, before)
  })
  it('serves a payment once', async () => {
    const payment = await sign(agent(), await ask('/weather'))
    const first = await send('/weather', payment)
    expect(first.status).to.equal(200)
    await first.text()
    const again = await send('/weather', payment)
    expect(again.status).to.equal(402)
    const required = decodePaymentRequiredHeader(again.headers.get('payment-required') ?? '')
    expect(required.error).to.equal('invalid_exact_evm_nonce_already_used')
    await again.text()
  })
  it('serves nobody who cannot pay, or pays for something else', async () => {
    const before = await income()
    const poor = privateKeyToAccount(`0x${'6'.repeat(64)}`)
    const required = await ask('/weather')
    const accepts = required.accepts.map((entry) => ({ ...entry, amount: '9999' }))
    const cheap = await sign(agent(), { ...required, accepts })
    for (const payment of [await sign(poor, required), cheap, 'e30=', 'x y']) {
      const answer = await send('/weather', payment)
      expect(answer.status).to.equal(402)
      await answer.text()
    }
    await earns(0n, before)
  })

  describe('on request', () => {
    it('asks for too much, which the usual client refuses', async () => {
      const refused = await pay('/weather?fault=dear').catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(Error)
    })
    it('answers 500 and settles later', async () => {
      const before = await income()
      const answer = await pay('/weather?fault=late&delay=1500')
      expect(answer.status).to.equal(500)
      await answer.text()
      expect(await income()).to.equal(before)
      await earns(10_000n, before)
    })
    it('settles, and loses or leaves out the receipt', async () => {
      const before = await income()
      const lost = await pay('/weather?fault=lost').catch((error: unknown) => error)
      expect(lost).to.be.instanceOf(Error)
      const silent = await pay('/weather?fault=silent')
      expect(silent.status).to.equal(200)
      expect(silent.headers.get('payment-response')).to.equal(null)
      await silent.text()
      await earns(20_000n, before)
    })
    it('takes the signature and not the money', async () => {
      const before = await income()
      for (const [fault, status] of [
        ['free', 200],
        ['failing', 500],
        ['refuse', 402],
        ['redirect', 307],
      ] as const) {
        const answer = await pay(`/weather?fault=${fault}`, { redirect: 'manual' })
        expect(answer.status, fault).to.equal(status)
        await answer.text()
      }
      const hang = pay('/weather?fault=hang', { signal: AbortSignal.timeout(200) })
      expect(await hang.catch((error: unknown) => error)).to.be.instanceOf(Error)
      await earns(0n, before)
    })
    it('sells by version 1', async () => {
      const before = await income()
      const client = clientOf(agent()).registerV1('base', new ExactEvmSchemeV1(agent()))
      const answer = await wrapFetchWithPayment(fetch, client)(`${seller.url}/weather?fault=v1`)
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('x-payment-response')).to.be.a('string')
      await answer.text()
      await earns(10_000n, before)
    })
  })
})
