import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { CallLog } from '../../core/usage/calls.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import { loseRecordOf, PRICE } from './lost-response-services.ts'

describe('A220 a purchase whose response was lost after the seller took the money', () => {
  const hub = useHub()
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const weather = (query: string): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/external', {
      key: ada.apiKey,
      body: { url: `${hub().sandbox!.sellerUrl}/weather?${query}` },
      headers: { 'idempotency-key': 'bought' },
    })
  const callOf = async (id: unknown) =>
    (await ask(hub().url, `/v1/calls/${String(id)}`, { key: ada.apiKey })).body
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))

  it('states transaction, receipt and charge, and is not refunded', async () => {
    const buy = () => weather('city=Oslo')
    const id = (await buy()).headers['x-call-id']
    await loseRecordOf(hub(), id)
    await hub().hub.pool.query('DELETE FROM hub.kept_answer WHERE id = $1', [id])
    for (const { status, headers, body } of [await buy(), await buy()]) {
      expect([status, headers['x-charged-microdollars']]).to.deep.equal([410, String(PRICE)])
      expect(body).to.include({
        code: 'response_lost',
        charged_microdollars: Number(PRICE),
        retryable: false,
      })
      expect(body['advice']).to.include('the seller took the money')
      expect(body['payment']).to.include({ state: 'taken', amount_microdollars: Number(PRICE) })
      expect(body['payment']).to.include.keys('url', 'pay_to', 'transaction', 'nonce')
      expect(body).to.not.have.property('refund')
      expect(claimsOf(headers['x-receipt'])).to.include({
        outcome: 'taken',
        charged_microdollars: Number(PRICE),
      })
      expect(await callOf(id)).to.include({ state: 'charged', receipt: headers['x-receipt'] })
    }
    expect(await spent()).to.equal(PRICE)
  })

  it('states them too if the call was recorded after a job had charged it', async () => {
    const { paymentDeps, pool } = hub().hub
    const flush = Object.getOwnPropertyDescriptor(CallLog.prototype, 'flush')!
    const buy = () => weather('fault=late')
    CallLog.prototype.flush = async () => {} // the database is out of reach
    let id: unknown
    try {
      const first = await buy()
      expect(first.body['payment'], first.text).to.include({ state: 'unresolved' })
      id = first.headers['x-call-id']
      await eventually(async () => {
        await resolvePayments(paymentDeps, 0)
        const sql = `SELECT FROM hub.payment_intent WHERE call = $1 AND state = 'confirmed'`
        return (await pool.query(sql, [id])).rowCount === 1
      })
    } finally {
      Object.defineProperty(CallLog.prototype, 'flush', flush)
    }
    const { status, headers, body } = await buy()
    expect([status, body['code']]).to.deep.equal([410, 'response_lost'])
    expect(body).to.include({ charged_microdollars: Number(PRICE) })
    expect(body['payment']).to.include({ state: 'taken' }).and.have.property('transaction')
    expect(claimsOf(headers['x-receipt'])).to.include({
      outcome: 'taken',
      charged_microdollars: Number(PRICE),
    })
    expect(await callOf(id)).to.include({ state: 'charged', receipt: headers['x-receipt'] })
  })
})
