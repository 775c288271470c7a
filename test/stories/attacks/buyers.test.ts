import { expect } from 'chai'
import { request } from 'undici'
import type { LocalAccount } from 'viem'
import { systemClock } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { readPayment } from '../../../core/payments/receiving/payment.ts'
import { type ApiResponse, ask, askRaw } from '../../support/ask.ts'
import { authorizationOf } from '../../support/authorization.ts'
import { eventually } from '../../support/eventually.ts'
import { cancelAuthorization } from './cancel-authorization.ts'
import { useAttackFixture } from './fixture.ts'
import { flawsOf, type PaymentFlaws, signPayment } from './sign-payment.ts'
import { blockWork, COST, resetWork, watchedService, work } from './watched-service.ts'

const WALLET = usd('5')

/** Payments to the hub that are reused, flawed, canceled or lost. */
describe('attacks by payers of the hub', () => {
  const fixture = useAttackFixture({ plugins: [watchedService] })
  let eve: LocalAccount
  beforeEach(async () => {
    resetWork()
    eve = await fixture().createPayer(WALLET)
  })
  const send = (
    payment?: string,
    path = '/proxy/watched/a',
    key?: string,
  ): Promise<ApiResponse> => {
    const body = path.startsWith('/v1') ? { amount_microdollars: Number(WALLET) } : {}
    const headers: Record<string, string> = payment ? { 'payment-signature': payment } : {}
    return ask(fixture().hub.url, path, { body, headers, key })
  }
  const sign = async (flaws?: PaymentFlaws, offered?: ApiResponse): Promise<string> =>
    signPayment(eve, offered ?? (await send()), fixture().clock.now(), flaws)
  const codeOf = ({ status, body }: ApiResponse) => [status, body['code']]
  const usdc = () => fixture().hub.hub.paymentDeps.chain.balanceOf(eve.address)
  const claims = async (): Promise<number> => {
    const sql = `SELECT count(*)::integer AS n FROM hub.payment_claim
      WHERE payer = $1 AND state <> 'released'`
    const { pool } = fixture().hub.hub
    return (await pool.query<{ n: number }>(sql, [eve.address.toLowerCase()])).rows[0]!.n
  }
  /** Asserts exactly `times` sales in the ledger, on the chain and in the buyer's wallet. */
  async function sold(times: bigint): Promise<void> {
    await fixture().resolveAll()
    const { earned, treasuryOnChain, credits } = await fixture().changes()
    expect({ earned, treasuryOnChain, credits }).to.deep.equal({
      earned: times * COST,
      treasuryOnChain: times * COST,
      credits: 0n,
    })
    expect(await usdc()).to.equal(WALLET - times * COST)
  }
  describe('one payment for many requests', () => {
    it('A079 serves one of eight concurrent requests and does the work once', async () => {
      const payment = await sign()
      const { open } = blockWork()
      const answers = Array.from({ length: 8 }, () => send(payment))
      let refused = 0
      for (const answer of answers) void answer.then(() => ++refused === 7 && open())
      const responses = (await Promise.all(answers)).map(codeOf)
      expect(responses.filter(([status]) => status === 200)).to.have.length(1)
      expect(responses.filter(([, code]) => code === 'payment_in_progress')).to.have.length(7)
      expect(work.calls).to.have.length(1)
      await sold(1n)
    })

    it('A079 … also if they are different requests', async () => {
      const payment = await sign()
      const paths = ['/proxy/watched/a', '/proxy/watched/b', '/proxy/watched/a', '/proxy/watched/b']
      const responses = await Promise.all(paths.map((path) => send(payment, path)))
      const served = responses.filter(({ status }) => status === 200)
      expect(new Set(served.map(({ text }) => text)).size).to.equal(1)
      for (const [, code] of responses.map(codeOf)) {
        expect(code).to.be.oneOf([undefined, 'payment_replayed', 'payment_in_progress'])
      }
      expect(work.calls).to.have.length(1)
      await sold(1n)
    })

    it('A080 does not pay a second endpoint of the same price', async () => {
      const payment = await sign()
      expect(await send(payment)).to.have.property('status', 200)
      const other = await send(payment, '/proxy/watched/b')
      expect(codeOf(other)).to.deep.equal([402, 'payment_replayed'])
      expect(other.headers).to.have.property('payment-required')
      expect(work.done).to.equal(1)
      await sold(1n)
    })

    it('A080 does not pay both a call and credits', async () => {
      const ada = await fixture().createAgent(0n)
      const purchase = (payment?: string) => send(payment, '/v1/credits/purchase', ada.apiKey)
      work.price = WALLET
      const payment = await sign()
      expect(await send(payment)).to.have.property('status', 200)
      expect(codeOf(await purchase(payment))).to.deep.equal([402, 'payment_replayed'])
      await fixture().expectMoney(ada, { credits: 0n, held: 0n })
      eve = await fixture().createPayer(WALLET)
      const credits = await sign({}, await purchase())
      expect(await purchase(credits)).to.have.property('status', 201)
      expect(codeOf(await send(credits))).to.deep.equal([402, 'payment_replayed'])
      expect(work.done).to.equal(1)
      await fixture().expectMoney(ada, { credits: WALLET, held: 0n })
    })

    it('is the same payment if the authorization has another letter case', async () => {
      const payment = await sign()
      expect(await send(payment)).to.have.property('status', 200)
      const { x402Version, accepted, payload } = readPayment(payment)
      const { from, nonce, ...rest } = authorizationOf(payload)
      const nonces = [nonce, `0x${nonce.slice(2).toUpperCase()}`]
      for (const other of nonces.map((nonce) => ({ ...rest, nonce, from: from.toLowerCase() }))) {
        const again = { payload: { ...payload, authorization: other }, accepted, x402Version }
        const { status } = await send(Buffer.from(JSON.stringify(again)).toString('base64'))
        expect(status).to.be.oneOf([200, 402])
      }
      expect(work.calls).to.have.length(1)
      await sold(1n)
    })

    it('is refused if the request contains two payments', async () => {
      const payment = `PAYMENT-SIGNATURE: ${await sign()}`
      const lines = ['POST /proxy/watched/a HTTP/1.1', payment, payment, 'Content-Length: 0']
      expect(await askRaw(fixture().hub.url, lines)).to.match(
        /^HTTP\/1.1 400 .*"duplicate_header"/s,
      )
      await sold(0n)
    })
  })

  const flaws = flawsOf(COST)
  describe('A081 the hub refuses a payment and drops its claim if it has', () => {
    for (const [title, flaw] of flaws) {
      it(title, async () => {
        const payment = await sign(flaw)
        const { status, headers, body } = await send(payment)
        expect([status, body['code']]).to.deep.equal([402, 'payment_invalid'])
        expect(headers).to.have.property('payment-required')
        expect([work.calls, await claims()]).to.deep.equal([[], 0])
        await sold(0n)
      })
    }

    it('any of these flaws in a purchase of credits', async () => {
      const ada = await fixture().createAgent(0n)
      const offered = await send(undefined, '/v1/credits/purchase', ada.apiKey)
      const bad = flaws.filter(([title]) => !title.includes('before the work'))
      const payments = await Promise.all(bad.map(([, flaw]) => sign(flaw, offered)))
      // Facilitators use real time.
      payments.push(await signPayment(eve, offered, systemClock.now(), { signed: { seconds: 5 } }))
      for (const [n, payment] of payments.entries()) {
        const response = await send(payment, '/v1/credits/purchase', ada.apiKey)
        const title = bad[n]?.[0] ?? 'an expiry in five seconds'
        expect(codeOf(response), title).to.deep.equal([402, 'payment_invalid'])
      }
      expect(await claims()).to.equal(0)
      await fixture().expectMoney(ada, { credits: 0n, held: 0n })
      await sold(0n)
    })
  })

  describe('an offer', () => {
    it('with a raised price is paid by the new price only', async () => {
      const old = await sign()
      work.price = (2n * COST) as typeof COST
      const refused = await send(old)
      expect(codeOf(refused)).to.deep.equal([402, 'payment_invalid'])
      expect(work.calls).to.deep.equal([])
      expect(await send(await sign({}, refused))).to.have.property('status', 200)
      await sold(2n)
    })

    it('cannot be paid by an empty wallet, and no work is done', async () => {
      eve = await fixture().createPayer(COST - 1n)
      const response = await send(await sign())
      expect(codeOf(response)).to.deep.equal([402, 'payment_invalid'])
      expect(response.body['reason']).to.match(/insufficient_balance/)
      expect(response.body['detail']).to.include('insufficient USDC')
      expect(work.calls).to.deep.equal([])
      expect((await fixture().changes()).earned).to.equal(0n)
    })
  })

  describe('between verification and settlement of a payment', () => {
    const meanwhile = async (happens: (payment: string) => Promise<unknown>) => {
      const payment = await sign()
      const { reached, open } = blockWork()
      const answer = send(payment)
      await reached
      await happens(payment)
      open()
      return { payment, response: await answer }
    }

    it('its payer cancels it: nothing is delivered or posted', async () => {
      const { rpcUrl } = fixture().hub.sandbox!
      const { payment, response } = await meanwhile((payment) =>
        cancelAuthorization(rpcUrl, eve, authorizationOf(readPayment(payment).payload).nonce),
      )
      expect(codeOf(response)).to.deep.equal([202, 'payment_pending'])
      expect(response.text).to.not.include('"done"')
      await sold(0n)
      expect(codeOf(await send(payment))).to.deep.equal([402, 'payment_replayed'])
      expect((await send(await sign())).body).to.have.property('reason', 'upfront_required')
      await sold(0n)
    })

    it('it expires: nothing is delivered or posted', async () => {
      const { response } = await meanwhile(() => fixture().advance(130))
      expect(codeOf(response)).to.deep.equal([402, 'payment_invalid'])
      expect(response.text).to.not.include('"done"')
      await fixture().advance(60)
      await sold(0n)
    })

    it('another party settles it: it is posted once and delivered', async () => {
      const { payment, response } = await meanwhile((payment) => {
        const payload = JSON.parse(Buffer.from(payment, 'base64').toString())
        return fixture().sellers.settle(payload)
      })
      expect(response.status).to.be.oneOf([200, 202])
      await sold(1n)
      const again = await send(payment)
      expect([again.status, again.body['done']]).to.deep.equal([200, 1])
      expect(work.done).to.equal(1)
      await sold(1n)
    })

    it('its caller disconnects: it is posted once and delivered on retry', async () => {
      const payment = await sign()
      const { reached, open } = blockWork()
      const controller = new AbortController()
      const lost = request(new URL('/proxy/watched/a', fixture().hub.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'payment-signature': payment },
        body: '{}',
        signal: controller.signal,
      }).catch((error: unknown) => error)
      await reached
      controller.abort()
      await lost
      open()
      await eventually(async () => (await usdc()) !== WALLET)
      await sold(1n)
      const again = await send(payment)
      expect(again.headers).to.include({ 'x-charged-microdollars': '0' })
      expect([again.status, again.body['done']]).to.deep.equal([200, 1])
      await sold(1n)
    })
  })

  it('A018 reveal nothing of the request to the provider except its input', async () => {
    const ada = await fixture().createAgent()
    const answer = await askRaw(fixture().hub.url, [
      'POST /proxy/watched/a HTTP/1.1',
      `Authorization: Bearer ${ada.apiKey}`,
      'Cookie: session=b',
      'X-Forwarded-For: 1.2.3.4',
      'PAYMENT-SIGNATURE: x',
      'Connection: X-Hop',
      'X-Hop: 1',
      'Content-Type: application/json',
      'Content-Length: 2',
      '',
      '{}',
    ])
    expect(answer).to.match(/^HTTP\/1.1 200 .*X-Payment-Source: credits/is)
    const [call] = work.calls as [Record<string, unknown>]
    expect(call['input']).to.deep.equal({})
    const text = JSON.stringify(call, (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    expect(text).to.not.match(/ahk_|session|1\.2\.3\.4|hop/i)
    await fixture().expectMoney(ada, { credits: usd('1') - COST, held: 0n, signed: 0 })
  })
})
