import { Reply, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor, type RequestOptions } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

describe('the Idempotency-Key of a call', () => {
  const hub = useHub({ plugins: [countingService] })
  let ada: TestAgent
  beforeEach(async () => {
    resetWork()
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const call = (key: string, text: unknown = 'a', by = ada): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/counted/work', {
      key: by.apiKey,
      body: { text },
      headers: { 'idempotency-key': key },
    })
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))

  it('A060 gives twenty concurrent requests one charge, one response, one execution', async () => {
    work.before = () => sleep(100)
    const responses = await Promise.all(Array.from({ length: 20 }, () => call('same')))
    const served = responses.filter(({ status }) => status === 200)
    const waiting = responses.filter(({ status }) => status === 409)
    expect(served.length + waiting.length).to.equal(20)
    for (const { body } of waiting) expect(body).to.include({ code: 'idempotency_in_progress' })
    const later = await call('same')
    expect(later.body).to.deep.equal({ done: 1 })
    expect(later.headers).to.include({
      'idempotency-replayed': 'true',
      'x-charged-microdollars': '0',
    })
    expect(work.done).to.equal(1)
    expect(await spent()).to.equal(PRICE)
  })

  it('replays the response with its receipt, without a call of its own', async () => {
    const first = await call('again')
    const again = await call('again')
    expect(again.headers).to.include({
      'idempotency-replayed': 'true',
      'x-charged-microdollars': '0',
      'x-payment-source': 'none',
      'x-call-id': first.headers['x-call-id'],
      'x-receipt': first.headers['x-receipt'],
    })
    const { rows } = await hub().hub.pool.query('SELECT FROM hub.call WHERE key_id = $1', [
      ada.keyId,
    ])
    expect(rows, 'one call').to.have.length(1)
  })

  it('A061 belongs to one request and one API key', async () => {
    await call('"quoted"')
    const other = await call('quoted', 'b')
    expect(other.status).to.equal(422)
    expect(other.body).to.include({ code: 'idempotency_key_reused', charged_microdollars: 0 })
    const bob = await hub().agent()
    await hub().credit(bob.keyId, usd('1'))
    expect((await call('quoted', 'b', bob)).body).to.deep.equal({ done: 2 })
    expect(await spent()).to.equal(PRICE)
  })

  it('A062 is 1 to 255 visible characters', async () => {
    for (const key of ['x'.repeat(256), '', '""', 'a b', 'é']) {
      const { status, body } = await call(key)
      expect([status, body['code']], key).to.deep.equal([422, 'validation_failed'])
    }
    expect(await call('x'.repeat(255))).to.have.property('status', 200)
  })

  it('is not used up by failures or bad input', async () => {
    work.before = async () => {
      throw new Error('down')
    }
    expect(await call('again')).to.have.property('status', 502)
    work.before = async () => {}
    expect(await call('again')).to.have.property('status', 200)
    expect(await call('typo', 5)).to.have.property('status', 422)
    expect(await call('typo', 'five')).to.have.property('status', 200)
    expect(await spent()).to.equal(2n * PRICE)
  })

  it('keeps its response if its end could not be recorded, once', async () => {
    const { admin } = hub().database
    await admin.query(`CREATE OR REPLACE FUNCTION public.refuse_end() RETURNS trigger
      LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$`)
    await admin.query(`CREATE TRIGGER refuse BEFORE UPDATE OF done ON hub.idempotent_call
      FOR EACH ROW EXECUTE FUNCTION public.refuse_end()`)
    try {
      const first = await call('unnoted')
      expect([first.status, first.headers['x-charged-microdollars']]).to.deep.equal([200, '1000'])
    } finally {
      await admin.query('DROP TRIGGER refuse ON hub.idempotent_call')
    }
    await admin.query('UPDATE hub.idempotent_call SET busy_until = now()')
    expect((await call('unnoted')).headers).to.include({ 'idempotency-replayed': 'true' })
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('is charged once if a database crash lost the record before the hold', async () => {
    const { pool } = hub().hub
    work.before = async () => {
      await hub().database.admin.query('DELETE FROM hub.idempotent_call')
      expect((await call('lost')).body).to.include({ code: 'idempotency_in_progress' })
      await hub().database.admin.query('DELETE FROM hub.idempotent_call')
    }
    expect((await call('lost')).body).to.deep.equal({ done: 1 })
    expect((await call('lost')).body).to.include({ code: 'idempotency_in_progress' })
    await pool.query('UPDATE hub.idempotent_call SET busy_until = now()')
    expect((await call('lost')).headers).to.include({ 'idempotency-replayed': 'true' })
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('is in progress while an attempt may be charged, and charges once after a crash', async () => {
    const first = await call('crash')
    const { pool } = hub().hub
    const busyFor = (time: string) =>
      pool.query(`UPDATE hub.idempotent_call SET done = false, busy_until = now() + $1::interval`, [
        time,
      ])
    await busyFor('1 hour')
    expect((await call('crash')).body).to.include({ code: 'idempotency_in_progress' })
    await busyFor('0 s')
    expect((await call('crash')).body, 'the journal knows').to.deep.equal({ done: 1 })
    await pool.query('DELETE FROM hub.kept_answer')
    const { status, headers, body } = await call('crash')
    expect(status).to.equal(410)
    expect(body).to.include({ code: 'answer_expired', charged_microdollars: Number(PRICE) })
    expect(headers).to.include({ 'idempotency-replayed': 'true' })
    expect(claimsOf(body['receipt']), 'of what was paid for it').to.deep.equal(
      claimsOf(first.headers['x-receipt']),
    )
    expect(await spent()).to.equal(PRICE)
  })

  describe('that is paid by x402', () => {
    let eve: PrivateKeyAccount
    let bob: TestAgent
    beforeEach(async () => {
      eve = privateKeyToAccount(generatePrivateKey())
      bob = await hub().agent()
      await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    })
    const order = (headers: RequestOptions['headers'], key?: string) =>
      ask(hub().url, '/proxy/counted/work', { key, body: { text: 'a' }, headers: headers ?? {} })
    const sign = async (offered?: ApiResponse) =>
      payFor(eve, hub().url, offered ?? (await order({})))
    const buy = (payment?: string) =>
      order(
        { 'idempotency-key': 'paid', ...(payment && { 'payment-signature': payment }) },
        bob.apiKey,
      )
    /** Simulates a process that died before it recorded the end of an attempt. */
    const loseEnd = () =>
      hub().hub.pool.query('UPDATE hub.idempotent_call SET done = false, busy_until = now()')
    const paid = async () => usd('1') - (await hub().hub.paymentDeps.chain.balanceOf(eve.address))

    it('is paid once, whatever payment a retry sends after a crash', async () => {
      expect((await buy(await sign())).headers).to.include({ 'x-payment-source': 'x402' })
      await loseEnd()
      const again = await buy(await sign())
      expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
      expect([again.status, again.body, work.done]).to.deep.equal([200, { done: 1 }, 1])
      expect(await paid()).to.equal(PRICE)
    })

    describe('before the work', () => {
      beforeEach(async () => {
        await hub().hub.paymentDeps.claims.trust.distrust(eve.address, 'test')
        work.before = async () => {
          throw new Error('down')
        }
      })
      afterEach(async () => expect(await paid()).to.equal(PRICE))

      const upfront = async () => sign(await order({ 'payment-signature': await sign() }))
      /** Makes the first attempt: its payment arrives and its work fails. */
      const failOnce = async () => {
        const payment = await upfront()
        expect((await buy(payment)).body).to.have.nested.property('payment.state', 'kept')
        work.before = async () => {}
        return payment
      }

      it('is paid once if the second attempt dies before its end is recorded', async () => {
        const payment = await failOnce()
        expect((await buy(payment)).body).to.deep.equal({ done: 1 })
        await loseEnd()
        const third = await buy(await upfront())
        expect(third.headers).to.include({ 'idempotency-replayed': 'true' })
        expect([third.body, work.done]).to.deep.equal([{ done: 1 }, 1])
      })

      it('is paid by the received payment, whatever the next attempt sends', async () => {
        await failOnce()
        const second = await buy(await upfront())
        expect([second.body, second.headers['x-payment-source']]).to.deep.equal([
          { done: 1 },
          'x402',
        ])
      })

      it('gets the response of its payment even if that came without the key', async () => {
        const payment = await failOnce()
        const keyless = await order({ 'payment-signature': payment }, bob.apiKey)
        const again = await buy(payment)
        expect(again.headers).to.include({
          'idempotency-replayed': 'true',
          'x-call-id': keyless.headers['x-call-id'],
        })
        expect([again.status, again.body, work.done]).to.deep.equal([200, { done: 1 }, 1])
      })

      it('is paid by the received payment even if there are credits now', async () => {
        const payment = await failOnce()
        await hub().credit(bob.keyId, usd('1'))
        work.before = async () => {
          throw new Error('still down')
        }
        expect((await buy()).body, 'without a payment').to.have.property('payment')
        work.before = async () => {}
        expect((await buy(payment)).body).to.deep.equal({ done: 1 })
        expect(await hub().balance(bob.keyId)).to.equal(usd('1'))
      })
    })
  })

  /** Expires the hold of the call in flight. */
  const loseHold = async () => {
    const { ledger, pool } = hub().hub
    const owner = await ledger.account(creditsOf(ada.keyId))
    const open = 'SELECT id AS call FROM ledger.open_hold WHERE owner = $1'
    const { rows } = await pool.query<{ call: string }>(open, [owner.id])
    await ledger.release({ call: rows[0]!.call, owner })
  }

  it('replays charged responses, not one that came after its hold', async () => {
    work.before = loseHold
    const late = await call('late')
    expect(late.status).to.equal(503)
    expect(late.body).to.deep.include({
      code: 'service_unavailable',
      retryable: true,
      charged_microdollars: 0,
      refund: { source: 'credits', amount_microdollars: Number(PRICE), reason: 'hold_expired' },
    })
    expect(await spent()).to.equal(0n)
    const { body } = await ask(hub().url, `/v1/calls/${String(late.body['call_id'])}`, {
      key: ada.apiKey,
    })
    expect(body, 'nor is the answer had there').to.include({
      state: 'released',
      charged_microdollars: 0,
      status: 503,
      answer: null,
    })
    work.before = async () => {}
    const charged = await call('late')
    expect(charged.body).to.deep.equal({ done: 2 })
    const again = await call('late')
    expect(again.body).to.deep.equal({ done: 2 })
    expect(again.headers).to.include({
      'x-call-id': charged.headers['x-call-id'],
      'x-receipt': charged.headers['x-receipt'],
    })
    expect(await spent()).to.equal(PRICE)
  })

  it('delivers failures even if their hold has expired', async () => {
    work.before = loseHold
    work.answer = () => new Reply({ sorry: true }, { status: 418 })
    const { status, headers, body } = await call('teapot')
    expect([status, body]).to.deep.equal([418, { sorry: true }])
    expect(headers).to.include({ 'x-charged-microdollars': '0' })
    expect(await spent()).to.equal(0n)
  })
})
