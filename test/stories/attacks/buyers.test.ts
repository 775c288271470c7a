import { expect } from 'chai'
import { request } from 'undici'
import type { LocalAccount } from 'viem'
import { sleep, systemClock } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { readPayment } from '../../../core/payments/receiving/payment.ts'
import { ask, askRaw, type Told } from '../../support/ask.ts'
import { cancel } from './authorizations.ts'
import { pay, type Spoilt } from './payments.ts'
import { THIEF } from './sellers.ts'
import { useStage } from './stage.ts'
import { anew, COST, gate, watched, work } from './watched.ts'

const WALLET = usd('1')

const cheaper = (value: bigint): Spoilt => ({
  signed: { value },
  accepted: { amount: String(value) },
})

/** Payments to the hub that are used twice, spoilt, taken back or lost on the way. */
describe('attacks of those who pay the hub', () => {
  const stage = useStage({ plugins: [watched] })
  let eve: LocalAccount
  beforeEach(async () => {
    anew()
    eve = await stage().payer(WALLET)
  })
  const send = (payment?: string, path = '/proxy/watched/a', key?: string): Promise<Told> => {
    const body = path.startsWith('/v1') ? { amount_microdollars: Number(usd('1')) } : {}
    const headers: Record<string, string> = payment ? { 'payment-signature': payment } : {}
    return ask(stage().hub.url, path, { body, headers, key })
  }
  const sign = async (spoilt?: Spoilt, offered?: Told): Promise<string> =>
    pay(eve, offered ?? (await send()), stage().clock.now(), spoilt)
  const codeOf = ({ status, body }: Told) => [status, body['code']]
  const usdc = () => stage().hub.hub.ports.chain.balanceOf(eve.address)
  const claims = async (): Promise<number> => {
    const sql = `SELECT count(*)::integer AS n FROM hub.payment_claim
      WHERE payer = $1 AND state <> 'released'`
    const { pool } = stage().hub.hub
    return (await pool.query<{ n: number }>(sql, [eve.address.toLowerCase()])).rows[0]!.n
  }
  /** Sold so often and no more: in the books, on the chain, and by the buyer's wallet. */
  async function sold(times: bigint): Promise<void> {
    await stage().resolves()
    const { earned, treasuryOnChain, credits } = await stage().changed()
    expect({ earned, treasuryOnChain, credits }).to.deep.equal({
      earned: times * COST,
      treasuryOnChain: times * COST,
      credits: 0n,
    })
    expect(await usdc()).to.equal(WALLET - times * COST)
  }
  describe('one payment for many things', () => {
    it('A079 of eight requests at once one is served, and the work is done once', async () => {
      const payment = await sign()
      const { open } = gate()
      const answers = Array.from({ length: 8 }, () => send(payment))
      let refused = 0
      for (const answer of answers) void answer.then(() => ++refused === 7 && open())
      const told = (await Promise.all(answers)).map(codeOf)
      expect(told.filter(([status]) => status === 200)).to.have.length(1)
      expect(told.filter(([, code]) => code === 'payment_in_progress')).to.have.length(7)
      expect(work.calls).to.have.length(1)
      await sold(1n)
    })

    it('A079 … also when they are for different things', async () => {
      const payment = await sign()
      const paths = ['/proxy/watched/a', '/proxy/watched/b', '/proxy/watched/a', '/proxy/watched/b']
      const told = await Promise.all(paths.map((path) => send(payment, path)))
      const served = told.filter(({ status }) => status === 200)
      expect(new Set(served.map(({ text }) => text)).size).to.equal(1)
      for (const [, code] of told.map(codeOf)) {
        expect(code).to.be.oneOf([undefined, 'payment_replayed', 'payment_in_progress'])
      }
      expect(work.calls).to.have.length(1)
      await sold(1n)
    })

    it('A080 what paid one endpoint does not pay another of the same price', async () => {
      const payment = await sign()
      expect(await send(payment)).to.have.property('status', 200)
      const other = await send(payment, '/proxy/watched/b')
      expect(codeOf(other)).to.deep.equal([402, 'payment_replayed'])
      expect(other.headers).to.have.property('payment-required')
      expect(work.done).to.equal(1)
      await sold(1n)
    })

    it('A080 what paid a call does not buy credits, nor the other way round', async () => {
      const ada = await stage().agent(0n)
      const purchase = (payment?: string) => send(payment, '/v1/credits/purchase', ada.apiKey)
      work.price = usd('1')
      const payment = await sign()
      expect(await send(payment)).to.have.property('status', 200)
      expect(codeOf(await purchase(payment))).to.deep.equal([402, 'payment_replayed'])
      await stage().expects(ada, { credits: 0n, held: 0n })
      eve = await stage().payer(WALLET)
      const credits = await sign({}, await purchase())
      expect(await purchase(credits)).to.have.property('status', 201)
      expect(codeOf(await send(credits))).to.deep.equal([402, 'payment_replayed'])
      expect(work.done).to.equal(1)
      await stage().expects(ada, { credits: usd('1'), held: 0n })
    })

    it('one authorization in other letters is the same payment', async () => {
      const payment = await sign()
      expect(await send(payment)).to.have.property('status', 200)
      const { x402Version, accepted, payload } = readPayment(payment)
      const { from, nonce, ...rest } = payload.authorization
      const nonces = [nonce, `0x${nonce.slice(2).toUpperCase()}`]
      for (const other of nonces.map((nonce) => ({ ...rest, nonce, from: from.toLowerCase() }))) {
        const again = { payload: { ...payload, authorization: other }, accepted, x402Version }
        const { status } = await send(Buffer.from(JSON.stringify(again)).toString('base64'))
        expect(status).to.be.oneOf([200, 402])
      }
      expect(work.calls).to.have.length(1)
      await sold(1n)
    })

    it('two payments in one request are none', async () => {
      const payment = `PAYMENT-SIGNATURE: ${await sign()}`
      const lines = ['POST /proxy/watched/a HTTP/1.1', payment, payment, 'Content-Length: 0']
      expect(await askRaw(stage().hub.url, lines)).to.match(/^HTTP\/1.1 400 .*"duplicate_header"/s)
      await sold(0n)
    })
  })

  const spoilt: readonly [string, Spoilt][] = [
    ['another payee', { signed: { to: THIEF } }],
    ['another payee, in the offer too', { signed: { to: THIEF }, accepted: { payTo: THIEF } }],
    ['another network', { accepted: { network: 'eip155:1' } }],
    ['another token', { accepted: { asset: THIEF } }],
    ['one unit too little', { signed: { value: COST - 1n } }],
    ['one unit too little, in the offer too', cheaper(COST - 1n)],
    ['an end that has passed', { signed: { seconds: -1 } }],
    ['an end before the work could be done', { signed: { seconds: 25 } }],
    ['an end that is years away', { signed: { seconds: 3_000_000_000 } }],
    ['a beginning that is still to come', { signed: { validAfter: 1n << 40n } }],
    ['the domain of another token', { domain: { name: 'USDC' } }],
    ['the domain of another chain', { domain: { chainId: 1 } }],
    ['a payer who did not sign', { sent: { from: THIEF } }],
    ['another nonce than was signed', { sent: { nonce: `0x${'11'.repeat(32)}` } }],
  ]
  describe('A081 a payment is refused, and its claim given up, that has', () => {
    for (const [title, spoiling] of spoilt) {
      it(title, async () => {
        const payment = await sign(spoiling)
        const { status, headers, body } = await send(payment)
        expect([status, body['code']]).to.deep.equal([402, 'payment_invalid'])
        expect(headers).to.have.property('payment-required')
        expect([work.calls, await claims()]).to.deep.equal([[], 0])
        await sold(0n)
      })
    }

    it('the same for credits, of which none are given', async () => {
      const ada = await stage().agent(0n)
      const offered = await send(undefined, '/v1/credits/purchase', ada.apiKey)
      const bad = spoilt.filter(([title]) => !title.includes('before the work'))
      const payments = await Promise.all(bad.map(([, spoiling]) => sign(spoiling, offered)))
      // Facilitators go by the time of the real world.
      payments.push(await pay(eve, offered, systemClock.now(), { signed: { seconds: 5 } }))
      for (const [n, payment] of payments.entries()) {
        const told = await send(payment, '/v1/credits/purchase', ada.apiKey)
        const title = bad[n]?.[0] ?? 'an end in five seconds'
        expect(codeOf(told), title).to.deep.equal([402, 'payment_invalid'])
      }
      expect(await claims()).to.equal(0)
      await stage().expects(ada, { credits: 0n, held: 0n })
      await sold(0n)
    })
  })

  describe('an offer', () => {
    it('that became dearer is not paid by the old price, but by the new one', async () => {
      const old = await sign()
      work.price = (2n * COST) as typeof COST
      const refused = await send(old)
      expect(codeOf(refused)).to.deep.equal([402, 'payment_invalid'])
      expect(work.calls).to.deep.equal([])
      expect(await send(await sign({}, refused))).to.have.property('status', 200)
      await sold(2n)
    })

    it('is not paid by a wallet that is empty, and no work is done', async () => {
      eve = await stage().payer(COST - 1n)
      const told = await send(await sign())
      expect(codeOf(told)).to.deep.equal([402, 'payment_invalid'])
      expect(told.body['reason']).to.match(/insufficient_balance/)
      expect(told.body['detail']).to.include('too little USDC')
      expect(work.calls).to.deep.equal([])
      expect((await stage().changed()).earned).to.equal(0n)
    })
  })

  describe('between the check of a payment and its settlement', () => {
    const meanwhile = async (happens: (payment: string) => Promise<unknown>) => {
      const payment = await sign()
      const { reached, open } = gate()
      const answer = send(payment)
      await reached
      await happens(payment)
      open()
      return { payment, told: await answer }
    }
    const authorizationOf = (payment: string) =>
      JSON.parse(Buffer.from(payment, 'base64').toString()).payload.authorization

    it('its payer takes it back: nothing is delivered, nor booked', async () => {
      const { rpcUrl } = stage().hub.sandbox!
      const { payment, told } = await meanwhile((payment) =>
        cancel(rpcUrl, eve, authorizationOf(payment).nonce),
      )
      expect(codeOf(told)).to.deep.equal([202, 'payment_pending'])
      expect(told.text).to.not.include('"done"')
      await sold(0n)
      expect(codeOf(await send(payment))).to.deep.equal([402, 'payment_replayed'])
      expect((await send(await sign())).body).to.have.property('reason', 'upfront_required')
      await sold(0n)
    })

    it('its time runs out: nothing is delivered, nor booked', async () => {
      const { told } = await meanwhile(() => stage().passes(130))
      expect(codeOf(told)).to.deep.equal([402, 'payment_invalid'])
      expect(told.text).to.not.include('"done"')
      await stage().passes(60)
      await sold(0n)
    })

    it('somebody else brings it onto the chain: it is booked once, and answered', async () => {
      const { payment, told } = await meanwhile((payment) => {
        const payload = JSON.parse(Buffer.from(payment, 'base64').toString())
        return stage().sellers.settle(payload)
      })
      expect(told.status).to.be.oneOf([200, 202])
      await sold(1n)
      const again = await send(payment)
      expect([again.status, again.body['done']]).to.deep.equal([200, 1])
      expect(work.done).to.equal(1)
      await sold(1n)
    })

    it('its caller goes away: it is booked once, and answered when it comes again', async () => {
      const payment = await sign()
      const { reached, open } = gate()
      const gone = new AbortController()
      const lost = request(new URL('/proxy/watched/a', stage().hub.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'payment-signature': payment },
        body: '{}',
        signal: gone.signal,
      }).catch((error: unknown) => error)
      await reached
      gone.abort()
      await lost
      open()
      while ((await usdc()) === WALLET) await sleep(10)
      await sold(1n)
      const again = await send(payment)
      expect(again.headers).to.include({ 'x-charged-microdollars': '0' })
      expect([again.status, again.body['done']]).to.deep.equal([200, 1])
      await sold(1n)
    })
  })

  it('A018 a provider sees nothing of what came with a call but its input', async () => {
    const ada = await stage().agent()
    const answer = await askRaw(stage().hub.url, [
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
    expect(JSON.stringify(call)).to.not.match(/ahk_|session|1\.2\.3\.4|hop/i)
    await stage().expects(ada, { credits: usd('1') - COST, held: 0n, signed: 0 })
  })
})
