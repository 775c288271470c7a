import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { request } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { findTrail } from '../../core/finance/journal.ts'
import { usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { type MppSeller, startMppSeller } from './mpp-seller.ts'

const PRICE = usd('0.01')
const HOST = 'mpp.test'

describe('a purchase from a seller that takes MPP alone', () => {
  const recipient = privateKeyToAccount(generatePrivateKey()).address
  let seller: MppSeller
  let ada: TestAgent
  const hub = useHub(async () => {
    const facilitator = () => hub().sandbox!.money.facilitator
    seller = await startMppSeller(facilitator, { recipient, amount: '0.01' })
    return { config: { sandboxHosts: new Map([[HOST, seller.port]]) } }
  })
  after(() => seller.close())
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    seller.act = 'sell'
    seller.offersX402 = false
    seller.repeats = false
    seller.requests.length = 0
  })
  const buy = (order: object = {}, headers: Record<string, string> = {}) =>
    ask(hub().url, '/proxy/external', {
      key: ada.apiKey,
      headers,
      body: { url: `http://${HOST}/work`, method: 'POST', body: { words: 'hi' }, ...order },
    })
  const recordOf = (id: unknown) => ask(hub().url, `/v1/calls/${String(id)}`, { key: ada.apiKey })
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const received = () => hub().hub.paymentDeps.chain.balanceOf(recipient)
  const resolve = () =>
    eventually(async () => (await resolvePayments(hub().hub.paymentDeps, 0)) === 0)

  it('costs its price, and passes its receipt on', async () => {
    const before = await received()
    const { status, headers, body, text } = await buy()
    expect(status, text).to.equal(200)
    expect(body).to.deep.equal({ sold: '{"words":"hi"}' })
    expect(headers).to.include({ 'x-charged-microdollars': String(PRICE) })
    const header = String(headers['x-upstream-payment-receipt'])
    const receipt = JSON.parse(Buffer.from(header, 'base64url').toString())
    expect(receipt).to.include({ method: 'evm', status: 'success' })
    expect(headers['x-upstream-transaction']).to.equal(receipt.reference)
    expect(String(headers['x-upstream-pay-to'])).to.equal(recipient)
    expect([await spent(), (await received()) - before]).to.deep.equal([PRICE, PRICE])
    await resolve()
    const call = await recordOf(headers['x-call-id'])
    expect(call.body).to.include({ state: 'charged', charged_microdollars: Number(PRICE) })
  })

  it('is paid by x402 if the seller takes both', async () => {
    seller.offersX402 = true
    const { headers, text } = await buy()
    expect(headers, text).to.include({ 'x-charged-microdollars': String(PRICE) })
    expect(seller.requests.every(({ authorization }) => authorization === undefined)).to.equal(true)
    expect(await spent()).to.equal(PRICE)
  })

  it('is limited by the maximum of its caller, before anything is signed', async () => {
    const { status, body } = await buy({ max_price_microdollars: Number(PRICE) - 1 })
    expect([status, body['code']]).to.deep.equal([402, 'price_exceeds_max'])
    expect(seller.requests.every(({ authorization }) => authorization === undefined)).to.equal(true)
    expect(await spent()).to.equal(0n)
  })

  it('never replaces the Authorization of the request', async () => {
    const { status, body } = await buy({ headers: { authorization: 'Bearer of-the-caller' } })
    expect([status, body['code']]).to.deep.equal([502, 'upstream_payment_terms'])
    expect(body['detail']).to.include('Authorization')
    expect(seller.requests.map(({ authorization }) => authorization)).to.deep.equal([
      'Bearer of-the-caller',
    ])
    expect(await spent()).to.equal(0n)
  })

  it('is made once for an Idempotency-Key', async () => {
    const name = { 'idempotency-key': randomBytes(8).toString('hex') }
    const before = await received()
    const { text } = await buy({}, name)
    const again = await buy({}, name)
    expect(again.text).to.equal(text)
    expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
    expect([await spent(), (await received()) - before]).to.deep.equal([PRICE, PRICE])
  })

  it('is charged without a receipt if the chain shows the payment', async () => {
    seller.act = 'no-receipt'
    const { status, headers } = await buy()
    expect(status).to.equal(200)
    expect(headers).to.include({ 'x-charged-microdollars': String(PRICE) })
    expect(await spent()).to.equal(PRICE)
  })

  it('is charged with the evidence of the chain if its seller fails after taking it', async () => {
    seller.act = 'take-and-fail'
    const { status, headers, body } = await buy()
    expect([status, body['code']]).to.deep.equal([502, 'upstream_error'])
    expect(headers).to.include({ 'x-charged-microdollars': String(PRICE) })
    expect(body['payment']).to.include({ state: 'taken' })
    expect(await spent()).to.equal(PRICE)
  })

  it('holds the price while the seller may still take it', async () => {
    seller.act = 'fail'
    const { status, headers, body } = await buy()
    expect([status, body['charged_microdollars']]).to.deep.equal([502, 0])
    const call = await recordOf(headers['x-call-id'])
    expect(call.body).to.include({ state: 'held', reserved_microdollars: Number(PRICE) })
    // The credential is still valid, and may be settled once.
    const { authorization } = seller.requests.at(-1)!
    seller.act = 'sell'
    const late = await request(`http://127.0.0.1:${seller.port}/work`, {
      method: 'POST',
      headers: { authorization: authorization!, host: HOST },
      body: '{"words":"hi"}',
    })
    expect([late.statusCode, await late.body.json()]).to.deep.equal([
      200,
      { sold: '{"words":"hi"}' },
    ])
    await resolve()
    const after = await recordOf(headers['x-call-id'])
    expect(after.body).to.include({ state: 'charged', charged_microdollars: Number(PRICE) })
    expect(await spent()).to.equal(PRICE)
  })

  it('A305 is not made for a challenge that was answered before', async () => {
    seller.repeats = true
    expect((await buy()).status).to.equal(200)
    const before = await received()
    const { status, headers, body } = await buy()
    expect([status, body['code']]).to.deep.equal([502, 'upstream_payment_terms'])
    expect(body['charged_microdollars']).to.equal(0)
    expect(seller.requests.filter(({ authorization }) => authorization)).to.have.length(1)
    const call = await recordOf(headers['x-call-id'])
    expect(call.body).to.include({ charged_microdollars: 0 })
    expect([await spent(), (await received()) - before]).to.deep.equal([PRICE, 0n])
    const { body: credits } = await ask(hub().url, '/v1/credits/balance', { key: ada.apiKey })
    expect(credits, 'nothing is held').to.include({ reserved_microdollars: 0 })
  })

  it('is listed as payable', async () => {
    const { text } = await ask(hub().url, '/v1/listings/validate', {
      key: ada.apiKey,
      body: { url: `http://${HOST}/work`, method: 'POST' },
    })
    expect(text).to.include('MPP (scheme Payment, method evm).')
    expect(text).not.to.include('cannot pay it')
  })

  it('A306 is refunded when the chain shows that a receipt was forged', async () => {
    seller.act = 'forge-receipt'
    const { status, headers } = await buy()
    expect(status).to.equal(200)
    expect(await spent()).to.equal(PRICE)
    const { rpcUrl } = hub().sandbox!
    await callRpc(rpcUrl, 'evm_increaseTime', [120])
    await callRpc(rpcUrl, 'evm_mine', [])
    await resolve()
    expect(await spent()).to.equal(0n)
    const call = await recordOf(headers['x-call-id'])
    expect(call.body).to.include({ charged_microdollars: 0 })
    const trail = await findTrail(hub().hub.pool, String(headers['x-call-id']))
    expect(trail.call, 'as finance sees it').to.include({ charged: 0n, refunded: PRICE })
  })
})
