import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import type { CallRecord } from '../../core/usage/call-records.ts'
import { CallLog } from '../../core/usage/calls.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

const LARGE = 'x'.repeat(1_200_000)

describe('an x402 payment whose process is gone between its work and its settlement', () => {
  const hub = useHub({ plugins: [countingService] })
  let eve: PrivateKeyAccount
  beforeEach(async () => {
    resetWork()
    eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    await hub().hub.pool.query(`UPDATE hub.process SET steady_since = now() - interval '1 hour'`)
  })
  const send = (payment?: string): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/counted/work', {
      body: {},
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })
  const sign = async () => payFor(eve, hub().url, await send())
  const paid = async () => usd('1') - (await hub().hub.paymentDeps.chain.balanceOf(eve.address))
  const facilitator = () => hub().sandbox!.money.facilitator.batched!
  const resolved = () =>
    eventually(async () => (await resolvePayments(hub().hub.paymentDeps, 0)) === 0)

  /**
   * Sends a payment whose process is gone before it calls a method.
   * @returns a function that lets the process go on, as if it were alive after all
   */
  async function loseBefore<Name extends string>(
    target: Record<Name, (...args: never[]) => Promise<unknown>>,
    method: Name,
    payment: string,
  ): Promise<() => Promise<ApiResponse>> {
    const reached = Promise.withResolvers<void>()
    const resumed = Promise.withResolvers<void>()
    const original = target[method]
    target[method] = async (...args) => {
      target[method] = original
      reached.resolve()
      await resumed.promise
      return original.apply(target, args)
    }
    const first = send(payment)
    await reached.promise
    await hub().hub.pool.query('UPDATE hub.payment_claim SET process = gen_random_uuid()')
    return () => {
      resumed.resolve()
      return first
    }
  }

  const assertReplayed = (
    { headers, text }: ApiResponse,
    original: Pick<ApiResponse, 'text' | 'headers'>,
  ) => {
    expect(text).to.equal(original.text)
    expect(headers).to.include({
      'idempotency-replayed': 'true',
      'x-charged-microdollars': '0',
      'x-charged-earlier-microdollars': String(PRICE),
      'x-call-id': original.headers['x-call-id'],
    })
    const charge = { source: 'x402', charged_microdollars: Number(PRICE) }
    expect(claimsOf(headers['x-receipt'])).to.include(charge)
  }

  it('pays for the work of the process that settles it, which every repetition gets', async () => {
    const payment = await sign()
    const { claims } = hub().hub.paymentDeps
    const resume = await loseBefore(claims, 'beginSettlement', payment)
    const second = await send(payment)
    expect(second.body).to.deep.equal({ done: 2 })
    expect((await resume()).body, 'it was alive after all').to.include({
      code: 'payment_in_progress',
    })
    assertReplayed(await send(payment), second)
    expect([work.done, await paid()]).to.deep.equal([2, PRICE])
  })

  it('pays for the stored response if its settlement had begun', async () => {
    const payment = await sign()
    const resume = await loseBefore(facilitator(), 'settle', payment)
    const second = await send(payment)
    expect(second.body).to.deep.equal({ done: 1 })
    assertReplayed(second, second)
    await resolved()
    await resume()
    assertReplayed(await send(payment), second)
    expect([work.done, await paid()]).to.deep.equal([1, PRICE])
  })

  it('is settled by its next repetition if nothing is known to be sent', async () => {
    const payment = await sign()
    const settle = facilitator().settle
    const failing = () => Promise.reject(new Error('nobody responds'))
    const known = async () => {
      const { rows } = await hub().hub.pool.query(
        'SELECT state, transaction FROM hub.payment_claim WHERE payer = $1',
        [eve.address.toLowerCase()],
      )
      return rows
    }
    /** The chain is asked once a second. */
    const isAsked = () =>
      hub().hub.pool.query(`UPDATE hub.payment_claim SET changed_at = now() - interval '2 seconds'`)
    facilitator().settle = failing
    for (let i = 0; i < 2; i++) {
      const open = await send(payment)
      await isAsked()
      expect([open.status, open.body['code']]).to.deep.equal([202, 'payment_pending'])
      expect(open.headers).to.have.property('retry-after')
      expect(await known()).to.deep.equal([{ state: 'pending', transaction: null }])
    }
    facilitator().settle = settle
    const [one, two] = await Promise.all([send(payment), send(payment)])
    const paidBy = [one, two].find(({ status }) => status === 200)!
    expect(paidBy.body).to.deep.equal({ done: 1 })
    assertReplayed(await send(payment), paidBy)
    expect([work.done, await paid()]).to.deep.equal([1, PRICE])
  })

  it('is not worked for again if sending its settlement fails while it is repeated', async () => {
    const payment = await sign()
    const { claims } = hub().hub.paymentDeps
    const { settle } = facilitator()
    facilitator().settle = () => Promise.reject(new Error('nobody responds'))
    const first = await send(payment)
    facilitator().settle = settle
    const find = claims.find.bind(claims)
    claims.find = async () => {
      claims.find = find
      return undefined // as before the first one
    }
    for (const { status, body } of [first, await send(payment)])
      expect([status, body['code']]).to.deep.equal([202, 'payment_pending'])
    await hub().hub.pool.query(
      `UPDATE hub.payment_claim SET changed_at = now() - interval '2 seconds'`,
    )
    const paidBy = await send(payment)
    expect([paidBy.body, work.done, await paid()]).to.deep.equal([{ done: 1 }, 1, PRICE])
  })

  it('pays for new work if its settlement had begun and its response is not stored', async () => {
    work.answer = () => ({ text: LARGE })
    const payment = await sign()
    const resume = await loseBefore(facilitator(), 'settle', payment)
    work.answer = undefined
    const second = await send(payment)
    expect(second.body).to.deep.equal({ done: 2 })
    assertReplayed(await send(payment), second)
    await resolved()
    await resume()
    expect(await paid()).to.equal(PRICE)
  })

  /** Replaces the next insertion of a call record. */
  function onNextInsert(insert: (log: CallLog, record: CallRecord) => Promise<CallRecord>): void {
    const original = Object.getOwnPropertyDescriptor(CallLog.prototype, 'insert')!
    CallLog.prototype.insert = function (record) {
      Object.defineProperty(CallLog.prototype, 'insert', original)
      return insert(this, record)
    }
  }
  const lose = () =>
    hub().hub.pool.query('UPDATE hub.payment_claim SET process = gen_random_uuid()')

  it('pays for one large response, though its process was only slow', async () => {
    work.answer = () => ({ text: LARGE })
    const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    onNextInsert(async (log, record) => {
      reached.resolve()
      await resumed.promise
      return log.insert(record)
    })
    const payment = await sign()
    const first = send(payment)
    await reached.promise
    await lose()
    const second = await send(payment)
    expect(second.status, second.text.slice(0, 200)).to.equal(200)
    resumed.resolve()
    const { status, body } = await first
    expect([status, body['code']]).to.deep.equal([409, 'payment_in_progress'])
    const { rows } = await hub().hub.pool.query(
      `SELECT outcome, charged FROM hub.call WHERE principal = $1 ORDER BY charged`,
      [`x402:${eve.address.toLowerCase()}`],
    )
    expect(rows).to.deep.equal([
      { outcome: 'failed', charged: 0n },
      { outcome: 'delivered', charged: PRICE },
    ])
    expect(await paid()).to.equal(PRICE)
  })

  it('pays for one response if two processes work for it', async () => {
    const gate = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    work.answer = () => ({ text: LARGE })
    onNextInsert(async () => {
      throw new Error('the process was killed')
    })
    const payment = await sign()
    expect((await send(payment)).status).to.equal(500)
    work.answer = undefined
    work.before = async () => {
      work.before = async () => {}
      started.resolve()
      await gate.promise
    }
    const slow = send(payment)
    await started.promise
    await lose()
    const second = await send(payment)
    expect(second.status).to.equal(200)
    gate.resolve()
    expect((await slow).body).to.include({ code: 'payment_in_progress' })
    assertReplayed(await send(payment), second)
    expect(await paid()).to.equal(PRICE)
  })

  it('is not paid again by credits if it is delivered while it is taken over', async () => {
    const bob = await hub().agent()
    const { pool } = hub().hub
    const order = (headers: Record<string, string> = {}) =>
      ask(hub().url, '/proxy/counted/work', {
        body: {},
        key: bob.apiKey,
        headers: { ...headers, 'idempotency-key': 'delivered-meanwhile' },
      })
    const first = await order({ 'payment-signature': await sign() })
    expect(first.headers).to.include({ 'x-payment-source': 'x402' })
    await hub().credit(bob.keyId, usd('1'))
    await hub().database.admin.query(
      `WITH answers AS (DELETE FROM hub.kept_answer k USING hub.payment_claim c WHERE k.id = c.id),
         claims AS (UPDATE hub.payment_claim SET delivered_at = NULL WHERE payer = $1)
       UPDATE hub.idempotent_call SET done = false, process = gen_random_uuid()
       WHERE call = $2`,
      [eve.address.toLowerCase(), first.headers['x-call-id']],
    )
    // Its process notes the delivery after the takeover has looked for it.
    const query = pool.query.bind(pool)
    const deliver = `UPDATE hub.payment_claim SET delivered_at = now() WHERE payer = $1`
    pool.query = (async (...args: Parameters<typeof query>) => {
      const sent: unknown = args[0]
      if (typeof sent === 'string' && sent.includes("p.state = 'signed'")) {
        Reflect.deleteProperty(pool, 'query')
        await query(deliver, [eve.address.toLowerCase()])
      }
      return query(...args)
    }) as typeof query
    const again = await order()
    expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
    expect([again.text, work.done]).to.deep.equal([first.text, 1])
    expect(await hub().balance(bob.keyId)).to.equal(usd('1'))
  })

  it('comes back after a day if its response was neither stored nor delivered', async () => {
    const wallet = { account: eve, sandbox: true }
    const { keyId } = await new HubClient({ baseUrl: hub().url, wallet }).register()
    const { pool } = hub().hub
    work.answer = () => ({ text: LARGE })
    onNextInsert(async () => {
      await lose()
      throw new Error('the process was killed')
    })
    const lost = await send(await sign())
    expect([lost.status, await paid()]).to.deep.equal([500, PRICE])
    const delivered = await send(await sign())
    expect([delivered.status, await paid()]).to.deep.equal([200, 2n * PRICE])
    await resolved()
    await pool.query(
      `UPDATE hub.payment_claim SET claimed_at = claimed_at - interval '1 day',
         working_until = working_until - interval '1 day' WHERE payer = $1`,
      [eve.address.toLowerCase()],
    )
    await resolved()
    expect(await hub().balance(keyId)).to.equal(PRICE)
  })
})
