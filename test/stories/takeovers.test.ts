import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { sleep, systemClock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { HoldExpired } from '../../core/ledger/hold-expired.ts'
import { usd } from '../../core/money.ts'
import {
  type Facilitator,
  FacilitatorUnavailable,
} from '../../core/payments/facilitators/facilitator.ts'
import { Intents } from '../../core/payments/paying/intents.ts'
import { readPayment } from '../../core/payments/receiving/payment.ts'
import { StoredResponses } from '../../core/usage/stored-responses.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { signPayment } from './attacks/sign-payment.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

const POLL_MS = 200

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Blocks the first work; returns a function that lets it go on. */
function blockFirst(): { readonly started: () => boolean; readonly resume: () => void } {
  const gate = Promise.withResolvers<void>()
  let runs = 0
  work.before = async () => {
    if (++runs === 1) await gate.promise
  }
  return { started: () => runs > 0, resume: () => gate.resolve() }
}

describe('what a process that is gone had begun', () => {
  const hub = useHub({ plugins: [countingService] })
  let ada: TestAgent
  beforeEach(async () => {
    resetWork()
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    await isSteady(true)
  })
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const pool = () => hub().hub.pool
  const call = (key: string): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/counted/work', {
      key: ada.apiKey,
      body: {},
      headers: { 'idempotency-key': key },
    })
  /** Makes this process one that has beaten for long, or one that has just come back. */
  const isSteady = (steady: boolean) =>
    pool().query(`UPDATE hub.process SET steady_since = now() - $1::interval`, [
      steady ? '1 hour' : '0 s',
    ])
  /** Assigns everything begun to a process that does not beat. */
  const lose = () =>
    pool().query(
      `WITH calls AS (UPDATE hub.idempotent_call SET process = gen_random_uuid() WHERE NOT done)
       UPDATE hub.payment_claim SET process = gen_random_uuid()`,
    )

  const lastAttempt = async (): Promise<string> => {
    const { rows } = await pool().query<{ call: string }>(
      'SELECT call FROM hub.idempotent_call ORDER BY id DESC LIMIT 1',
    )
    return rows[0]!.call
  }

  it('is free at once for the same Idempotency-Key, and charged once', async () => {
    const { started, resume } = blockFirst()
    const first = call('once')
    await eventually(started)
    expect((await call('once')).body).to.include({ code: 'idempotency_in_progress' })
    await lose()
    const second = await call('once')
    expect([second.status, second.body]).to.deep.equal([200, { done: 1 }])
    resume()
    expect((await first).body, 'it was alive after all').to.include({
      code: 'service_unavailable',
      reason: 'hold_expired',
      charged_microdollars: 0,
    })
    expect(await spent()).to.equal(PRICE)
    expect((await call('once')).headers).to.include({ 'idempotency-replayed': 'true' })
  })

  it('cannot be charged if it reserves after others took it over', async () => {
    const { started, resume } = blockFirst()
    const first = call('late')
    await eventually(started)
    await lose()
    const response = { call: await lastAttempt(), status: 200, headers: {}, body: 1 }
    await call('late')
    const responses = new StoredResponses(pool(), hub().hub.secretKeys.of('stored-responses'))
    expect(await responses.storeAttempt(response)).to.equal(false)
    resume()
    await first
    expect(await spent()).to.equal(PRICE)
  })
  it('is not charged again if it was charged, also if the takeover was interrupted', async () => {
    await call('charged')
    await pool().query('UPDATE hub.idempotent_call SET done = false')
    await lose()
    // The next attempt died after it took over and before it saw the charge.
    await pool().query(
      `WITH abandoned AS (INSERT INTO hub.abandoned_attempt (call, request)
         SELECT call, id FROM hub.idempotent_call)
       UPDATE hub.idempotent_call SET call = $1`,
      [uuidv7(Date.now())],
    )
    const again = await call('charged')
    expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
    expect([again.body, work.done]).to.deep.equal([{ done: 1 }, 1])
    expect(await spent()).to.equal(PRICE)
  })

  it('is not taken over by a process that was cut off from the database itself', async () => {
    const { started, resume } = blockFirst()
    const first = call('cut')
    await eventually(started)
    await lose()
    await isSteady(false)
    const { status, body } = await call('cut')
    expect([status, body['code']]).to.deep.equal([409, 'idempotency_in_progress'])
    resume()
    expect((await first).status).to.equal(200)
    expect(await spent()).to.equal(PRICE)
  })

  it('pays no seller once it was taken over', async () => {
    const { started, resume } = blockFirst()
    const first = call('seller')
    await eventually(started)
    await lose()
    const attempt = await lastAttempt()
    const eve = '0x1111111111111111111111111111111111111111'
    await call('seller')
    const signed = {
      header: { name: 'X-PAYMENT', value: '' },
      from: eve,
      to: eve,
      value: 1n,
      isMaximum: false,
      nonce: `0x${'1'.repeat(64)}`,
      validBefore: 1n,
      payloadHash: '0x1',
    } as const
    const seller = { url: 'https://seller.test/', network: 'eip155:8453', asset: '0x1' }
    const order = { call: attempt, payer: ada.keyId, fromBlock: 1n, payeeAccepted: false, signed }
    const caps = { key: 9n, host: 9n, platform: 9n, principal: 9n, seller: 9n }
    const error = await new Intents(pool())
      .commit({ ...seller, ...order }, caps)
      .catch((failed: Error) => failed)
    expect(error).to.be.instanceOf(HoldExpired)
    resume()
    await first
  })

  describe('with an x402 payment', () => {
    let eve: PrivateKeyAccount
    beforeEach(async () => {
      eve = privateKeyToAccount(generatePrivateKey())
      await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('5') })
    })
    let name = 0 // of the payment, for callers without an API key
    const order = (payment?: string, key?: string) => {
      const signature = payment === undefined ? {} : { 'payment-signature': payment }
      const headers = { 'idempotency-key': `x402-${name}`, ...signature }
      return ask(hub().url, '/proxy/counted/work', { body: {}, key, headers })
    }
    const sign = async () => payFor(eve, hub().url, await order())
    const paid = async () => usd('5') - (await hub().hub.paymentDeps.chain.balanceOf(eve.address))

    it('is served for the same payment, which is settled once', async () => {
      const { started, resume } = blockFirst()
      const payment = await sign()
      const first = order(payment)
      await eventually(started)
      const waiting = await order(payment)
      expect([waiting.status, waiting.body['code']]).to.deep.equal([409, 'payment_in_progress'])
      await lose()
      expect((await order(payment)).headers).to.include({ 'x-payment-source': 'x402' })
      resume()
      expect((await first).status).to.be.oneOf([200, 409])
      expect(await paid()).to.equal(PRICE)
      expect((await order(payment)).headers).to.include({ 'idempotency-replayed': 'true' })
    })

    it('is pending, not refused, if that process may have sent the payment', async () => {
      const { started, resume } = blockFirst()
      const payment = await sign()
      const first = order(payment)
      await eventually(started)
      await lose()
      await pool().query(`UPDATE hub.payment_claim SET settling = true WHERE state = 'claimed'`)
      const facilitator: Writable<Facilitator> = hub().sandbox!.money.facilitator
      const { batched } = facilitator
      const verify = () => Promise.reject(new FacilitatorUnavailable('no response'))
      facilitator.batched = { ...batched!, verify }
      const again = await order(payment)
      facilitator.batched = batched!
      expect([again.status, again.body['code']]).to.deep.equal([202, 'payment_pending'])
      resume()
      await first
    })

    describe('that was sent', () => {
      const claims = () => hub().hub.paymentDeps.claims
      beforeEach(() => {
        claims().takeUnfinished = async () => [] // the job finds nothing
      })
      afterEach(() => Reflect.deleteProperty(claims(), 'takeUnfinished'))
      const loseSent = async (payment: string) => {
        await lose()
        await pool().query(`UPDATE hub.payment_claim SET settling = true WHERE state = 'claimed'`)
        const parsed = readPayment(payment)
        await hub().sandbox!.money.facilitator.settle(parsed, parsed.accepted)
      }

      it('is served as soon as the chain shows the payment, without the job', async () => {
        const { started, resume } = blockFirst()
        const payment = await sign()
        const first = order(payment)
        await eventually(started)
        await loseSent(payment)
        expect((await order(payment)).body).to.include({ code: 'payment_pending' })
        await eventually(async () => (await order(payment)).status === 200)
        expect((await order(payment)).headers).to.include({ 'idempotency-replayed': 'true' })
        resume()
        await first
        expect([await paid(), work.done]).to.deep.equal([PRICE, 2])
      })
    })

    it('is pending, not refused, if others settled the payment before it expired', async () => {
      work.before = () => Promise.reject(new Error('broken'))
      const facilitator = hub().sandbox!.money.facilitator
      for (const isSettled of [true, false]) {
        const signed = { seconds: 32 }
        name++
        const payment = await signPayment(eve, await order(), systemClock.now(), { signed })
        expect((await order(payment)).body).to.include({ code: 'plugin_failed' })
        await eventually(async () => {
          const { body } = await order(payment)
          const isLate = body['reason'] === 'invalid_exact_evm_payload_authorization_valid_before'
          expect(body['code']).to.equal(isLate ? 'payment_invalid' : 'plugin_failed')
          await sleep(POLL_MS)
          return isLate
        })
        const parsed = readPayment(payment)
        if (isSettled) await facilitator.settle(parsed, parsed.accepted)
        const expected = isSettled ? [202, 'payment_pending'] : [402, 'payment_invalid']
        const { status, body } = await order(payment)
        expect([status, body['code']]).to.deep.equal(expected)
      }
    })

    it('is paid by credits if that payment was never sent', async () => {
      const bob = await hub().agent()
      const { started, resume } = blockFirst()
      const first = order(await sign(), bob.apiKey)
      await eventually(started)
      await lose()
      await hub().credit(bob.keyId, usd('1'))
      expect((await order(undefined, bob.apiKey)).headers).to.include({
        'x-payment-source': 'credits',
      })
      resume()
      expect((await first).body, 'it cannot be settled any more').to.include({
        charged_microdollars: 0,
      })
      expect(await paid()).to.equal(0n)
      expect(await hub().balance(bob.keyId)).to.equal(usd('1') - PRICE)
    })
  })
})
