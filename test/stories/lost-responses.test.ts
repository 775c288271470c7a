import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { createLog } from '../../core/log.ts'
import { CallLog } from '../../core/usage/calls.ts'
import { recoverCalls } from '../../core/usage/recover-calls.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import {
  gratis,
  loseRecordOf,
  PRICE,
  recoverOldCallsOf,
  work,
  works,
} from './lost-response-services.ts'

const LOG = createLog('error')

describe('A220 a charged call whose process died', () => {
  const hub = useHub({ plugins: [works, gratis] })
  let ada: TestAgent
  beforeEach(async () => {
    work.done = 0
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const call = (path: string, key = 'one', by: { apiKey?: string } = ada): Promise<ApiResponse> =>
    ask(hub().url, `/proxy/${path}`, {
      key: by.apiKey,
      body: {},
      headers: { 'idempotency-key': key },
    })
  const callOf = async (id: unknown) =>
    (await ask(hub().url, `/v1/calls/${String(id)}`, { key: ada.apiKey })).body
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const loseRecord = (id: unknown) => loseRecordOf(hub(), id)
  const recoverOldCalls = () => recoverOldCallsOf(hub())

  it('includes its cost in the stored response, and has its record and receipt', async () => {
    const first = await call('works/small')
    const id = first.headers['x-call-id']
    await loseRecord(id)
    const again = await call('works/small')
    expect([again.status, again.body]).to.deep.equal([200, { done: 1 }])
    expect(again.headers).to.include({
      'x-charged-microdollars': '0',
      'x-charged-earlier-microdollars': String(PRICE),
    })
    const { iat: recordedAt, ...recorded } = claimsOf(first.headers['x-receipt'])
    const { iat: startedAt, ...recovered } = claimsOf(again.headers['x-receipt'])
    expect(recovered).to.deep.equal(recorded)
    expect(startedAt).to.be.within(recordedAt - 5, recordedAt)
    const known = await callOf(id)
    expect(known).to.include({ state: 'charged' })
    expect(claimsOf(known['receipt'])).to.deep.equal(claimsOf(again.headers['x-receipt']))
    expect(await spent()).to.equal(PRICE)
  })

  for (const path of ['works/large', 'works/stream']) {
    it(`is refunded once if its response is not stored (${path})`, async () => {
      const first = await call(path)
      const id = first.headers['x-call-id']
      expect(await call(path), 'delivered').to.have.nested.property('body.code', 'answer_expired')
      expect(await spent()).to.equal(PRICE)
      await loseRecord(id)
      const repeats = await Promise.all([call(path), call(path), call(path)])
      for (const { status, headers, body } of [...repeats, await call(path)]) {
        expect(status).to.equal(410)
        expect(body).to.deep.include({
          code: 'response_lost',
          call_id: id,
          charged_microdollars: 0,
          refund: {
            source: 'credits',
            amount_microdollars: Number(PRICE),
            reason: 'response_lost',
          },
        })
        expect(claimsOf(headers['x-receipt'])).to.include({
          outcome: 'failed',
          charged_microdollars: 0,
          ledger_entry: id,
        })
      }
      expect(await spent()).to.equal(0n)
      expect(await callOf(id)).to.include({ state: 'refunded', charged_microdollars: 0 })
      expect(work.done).to.equal(1)
      expect((await call(path, 'two')).status).to.equal(200)
      expect(await spent()).to.equal(PRICE)
    })
  }

  it('is not delivered by a process that lives if a repetition was refunded first', async () => {
    const { pool } = hub().hub
    const original = Object.getOwnPropertyDescriptor(CallLog.prototype, 'insert')!
    CallLog.prototype.insert = async function (record) {
      Object.defineProperty(CallLog.prototype, 'insert', original)
      await pool.query('UPDATE hub.idempotent_call SET done = true WHERE call = $1', [record.id])
      expect((await call('works/large')).body).to.have.property('code', 'response_lost')
      return this.insert(record)
    }
    const late = await call('works/large')
    expect([late.status, late.body['code']]).to.deep.equal([410, 'response_lost'])
    expect(late.body['refund']).to.have.property('amount_microdollars', Number(PRICE))
    expect(await spent()).to.equal(0n)
  })

  it('is found without a repetition: recorded, and refunded if its response was lost', async () => {
    const { pool, ledger } = hub().hub
    await recoverCalls(pool, ledger, LOG) // from now on
    const unkeyed = await ask(hub().url, '/proxy/works/small', { key: ada.apiKey, body: {} })
    const stored = await call('works/small', 'stored')
    const lost = await call('works/large', 'lost')
    const sold = await call('works/large', 'delivered')
    const ids = [unkeyed, stored, lost].map(({ headers }) => headers['x-call-id'])
    for (const id of ids) await loseRecord(id)
    await recoverCalls(pool, ledger, LOG)
    expect(await callOf(ids[2]), 'perhaps not recorded yet').to.have.property('receipt', null)
    await recoverOldCalls()
    for (const id of ids.slice(0, 2)) {
      const known = await callOf(id)
      expect(known).to.include({ state: 'charged', charged_microdollars: Number(PRICE) })
      expect(claimsOf(known['receipt'])).to.include({ outcome: 'delivered', source: 'credits' })
    }
    expect(await callOf(ids[2])).to.include({ state: 'refunded', reason: 'response_lost' })
    expect(await callOf(sold.headers['x-call-id'])).to.include({ state: 'charged', reason: null })
    expect(await spent()).to.equal(3n * PRICE)
    expect((await call('works/large', 'lost')).body).to.have.property('code', 'response_lost')
    expect(await spent()).to.equal(3n * PRICE)
  })

  it('is found if it was free, by all keys of its principal and by nobody else', async () => {
    const { pool, ledger } = hub().hub
    await recoverCalls(pool, ledger, LOG) // from now on
    const unkeyed = await ask(hub().url, '/proxy/gratis/large', { key: ada.apiKey, body: {} })
    const lost = await call('gratis/large', 'lost')
    const ids = [unkeyed, lost].map(({ headers }) => headers['x-call-id'])
    const bob = await hub().agent()
    const seenByBob = async (id: unknown) =>
      (await ask(hub().url, `/v1/calls/${String(id)}`, { key: bob.apiKey })).status
    const amounts = { charged_microdollars: 0, reserved_microdollars: 0 }
    for (const id of ids) {
      await loseRecord(id)
      expect(await callOf(id)).to.include({ state: 'charged', source: 'free', ...amounts })
      expect(await seenByBob(id)).to.equal(404)
    }
    await recoverOldCalls()
    const [kept, returned] = [await callOf(ids[0]), await callOf(ids[1])]
    expect(kept).to.include({ state: 'charged', source: 'free', status: 200, ...amounts })
    expect(claimsOf(kept['receipt'])).to.include({ outcome: 'delivered', source: 'free' })
    expect(returned).to.include({ state: 'released', reason: 'response_lost', ...amounts })
    for (const id of ids) expect(await seenByBob(id)).to.equal(404)
  })

  for (const path of ['works/small', 'gratis/large'] as const) {
    it(`is refunded if it was charged late, without an Idempotency-Key (${path})`, async () => {
      const { pool, ledger } = hub().hub
      await recoverCalls(pool, ledger, LOG) // from now on
      const settle = ledger.settle.bind(ledger)
      let id = ''
      const charged = new Promise<void>((resolve) => {
        ledger.settle = async (...charge) => {
          ledger.settle = settle
          id = charge[0].call
          await sleep(3_000) // longer than a request waits for the database
          const result = await settle(...charge)
          resolve()
          return result
        }
      })
      const late = await ask(hub().url, `/proxy/${path}`, { key: ada.apiKey, body: {} })
      expect([late.status, late.body['code']]).to.deep.equal([503, 'service_unavailable'])
      await charged
      await recoverOldCalls()
      const source = path === 'works/small' ? 'credits' : 'free'
      const state = source === 'credits' ? 'refunded' : 'released'
      const known = await callOf(id)
      expect(known).to.include({ state, reason: 'response_lost', charged_microdollars: 0 })
      expect(claimsOf(known['receipt'])).to.include({ outcome: 'failed', charged_microdollars: 0 })
      expect(await spent()).to.equal(0n)
      const free = source === 'free' ? ['one', 'two'] : []
      for (const _ of free) {
        const { headers } = await ask(hub().url, `/proxy/${path}`, { key: ada.apiKey, body: {} })
        expect(headers).to.include({ 'x-payment-source': 'free' })
      }
    })
  }

  it('gets a free call back', async () => {
    const first = await call('gratis/large')
    expect(first.headers).to.include({ 'x-payment-source': 'free' })
    await loseRecord(first.headers['x-call-id'])
    const lost = await call('gratis/large')
    expect(lost.body['refund']).to.deep.equal({
      source: 'free',
      free_calls: 1,
      reason: 'response_lost',
    })
    await call('gratis/large')
    for (const key of ['two', 'three']) {
      const { headers } = await call('gratis/large', key)
      expect(headers).to.include({ 'x-payment-source': 'free' })
    }
    const paid = await call('gratis/large', 'four')
    expect(paid.headers).to.include({ 'x-payment-source': 'credits' })
  })

  it('is repeated though the database crashed after it had stored the response', async () => {
    const { ledger, pool } = hub().hub
    const settle = ledger.settle.bind(ledger)
    ledger.settle = async (...charge) => {
      ledger.settle = settle
      await pool.query('DELETE FROM hub.kept_answer WHERE id = $1', [charge[0].call])
      await sleep(100) // a crash loses what was not durable, and takes a while
      return settle(...charge)
    }
    const first = await call('works/small')
    const again = await call('works/small')
    expect([again.status, again.text]).to.deep.equal([200, first.text])
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  describe('and was paid by x402', () => {
    let eve: PrivateKeyAccount
    beforeEach(async () => {
      eve = privateKeyToAccount(generatePrivateKey())
      await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    })
    const order = (path: string, headers: Record<string, string>, key?: string) =>
      ask(hub().url, `/proxy/${path}`, { key, body: {}, headers })
    const sign = async (path: string) => payFor(eve, hub().url, await order(path, {}))
    const paid = async () => usd('1') - (await hub().hub.paymentDeps.chain.balanceOf(eve.address))

    it('includes its cost in the stored response', async () => {
      const headers = { 'payment-signature': await sign('works/small') }
      const first = await order('works/small', headers)
      await loseRecord(first.headers['x-call-id'])
      const again = await order('works/small', headers)
      expect(again.headers).to.include({
        'x-charged-microdollars': '0',
        'x-charged-earlier-microdollars': String(PRICE),
      })
      expect(claimsOf(again.headers['x-receipt'])).to.include({
        charged_microdollars: Number(PRICE),
        source: 'x402',
        sub: `x402:${eve.address.toLowerCase()}`,
      })
      const third = await order('works/small', headers)
      expect(third.headers['x-receipt']).to.equal(again.headers['x-receipt'])
      expect([work.done, await paid()]).to.deep.equal([1, PRICE])
    })

    for (const path of ['works/large', 'works/stream']) {
      it(`is served by the same payment if its response is not stored (${path})`, async () => {
        const headers = { 'payment-signature': await sign(path) }
        const first = await order(path, headers)
        const expired = await order(path, headers)
        expect(expired.body).to.include({
          code: 'answer_expired',
          charged_microdollars: Number(PRICE),
        })
        expect(expired.body['payment']).to.include({ amount_microdollars: Number(PRICE) })
        await loseRecord(first.headers['x-call-id'])
        const again = await order(path, headers)
        expect([again.status, work.done]).to.deep.equal([200, 2])
        expect(await order(path, headers)).to.have.nested.property('body.code', 'answer_expired')
        expect(await paid()).to.equal(PRICE)
      })
    }

    it('is served under its Idempotency-Key, too', async () => {
      const bob = await hub().agent()
      const buy = (more: Record<string, string>) =>
        order('works/large', { 'idempotency-key': 'paid', ...more }, bob.apiKey)
      const first = await buy({ 'payment-signature': await sign('works/large') })
      await loseRecord(first.headers['x-call-id'])
      const again = await buy({})
      expect([again.status, again.headers['x-payment-source'], work.done]).to.deep.equal([
        200,
        'x402',
        2,
      ])
      expect(await buy({})).to.have.nested.property('body.code', 'answer_expired')
      expect([work.done, await paid()]).to.deep.equal([2, PRICE])
    })
  })
})
