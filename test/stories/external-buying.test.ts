import { expect } from 'chai'
import { request } from 'undici'
import { usd } from '../../core/money.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

const PRICE = usd('0.01')
const ELSEWHERE = '0x00000000000000000000000000000000000e15e0'

/** Reports of money sent to sellers, and the limits that stop it. */
describe('payments to sellers', () => {
  const platform = usd('0.08')
  const hub = useHub({
    config: { outflow: { call: usd('1'), key: usd('0.05'), host: platform, platform } },
  })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const weather = (query: string, by = ada, accept_pay_to?: string): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/external', {
      key: by.apiKey,
      body: { url: `${hub().sandbox!.sellerUrl}/weather?${query}`, accept_pay_to },
    })
  const callOf = async (id: unknown, by = ada) =>
    (await ask(hub().url, `/v1/calls/${String(id)}`, { key: by.apiKey })).body
  const balance = () => hub().balance(ada.keyId)
  const outflow = async (scope: string): Promise<bigint> => {
    const { rows } = await hub().hub.pool.query<{ amount: bigint }>(
      'SELECT amount FROM hub.outflow WHERE scope LIKE $1',
      [scope],
    )
    return rows.reduce((sum, { amount }) => sum + amount, 0n)
  }

  it('taken without delivery are charged and shown with the evidence of the chain', async () => {
    const { status, headers, body } = await weather('fault=took')
    expect(status).to.equal(502)
    expect(headers['x-charged-microdollars']).to.equal(String(PRICE))
    expect(body).to.include({ code: 'upstream_error', charged_microdollars: Number(PRICE) })
    expect(body['payment']).to.include({ state: 'taken', amount_microdollars: Number(PRICE) })
    expect(body['payment'])
      .to.have.property('transaction')
      .that.matches(/^0x[0-9a-f]{64}$/)
    expect(body['upstream']).to.include({ status: 500, body: '{"error":"boom"}' })
    expect(await balance()).to.equal(usd('1') - PRICE)
    const call = await callOf(headers['x-call-id'])
    expect(call).to.include({ state: 'charged', charged_microdollars: Number(PRICE) })
    expect(call['payment']).to.include({ state: 'paid', upstream_status: 500 })
    const { rows } = await hub().hub.pool.query('SELECT taken, delivered FROM hub.seller_record')
    expect(rows).to.deep.equal([{ taken: 1n, delivered: 0n }])
  })

  it('whose outcome is open are shown as held, with the seller’s answer', async () => {
    const { status, headers, body } = await weather('fault=failing')
    expect(status).to.equal(502)
    const call = await callOf(headers['x-call-id'])
    expect(call).to.include({ state: 'held', reserved_microdollars: Number(PRICE) })
    expect(call['payment']).to.include({ state: 'unresolved', reason: 'upstream_error' })
    expect(body['charged_microdollars']).to.equal(0)
    expect(body['payment']).to.include({ state: 'unresolved' })
    expect(body['payment']).to.include.keys('nonce', 'valid_before', 'next')
    expect(body['upstream']).to.include({ status: 500, body: '{"error":"boom"}' })
  })

  it('are shown only to the key that made the call', async () => {
    const { headers } = await weather('city=Oslo')
    const call = await callOf(headers['x-call-id'])
    expect(call).to.include({ state: 'charged', charged_microdollars: Number(PRICE) })
    expect(await callOf(headers['x-call-id'], await hub().agent())).to.include({
      code: 'not_found',
    })
    expect(await callOf('no-call')).to.include({ code: 'not_found' })
  })

  it('pass what is large as a stream, whole', async () => {
    const { statusCode, headers, body } = await request(`${hub().url}/proxy/external`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ada.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${hub().sandbox!.sellerUrl}/weather?fault=large&mib=6` }),
    })
    expect(statusCode).to.equal(200)
    expect(headers['x-charged-microdollars']).to.equal(String(PRICE))
    expect((await body.arrayBuffer()).byteLength).to.equal(6 * 1_048_576)
  })

  it('let go of a large answer that nobody waits for', async () => {
    const controller = new AbortController()
    const pending = request(`${hub().url}/proxy/external`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ada.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${hub().sandbox!.sellerUrl}/weather?fault=large&mib=200` }),
      signal: controller.signal,
    })
    const { body } = await pending
    await body.iterator().next()
    controller.abort()
    body.on('error', () => undefined)
    const id = (await pending).headers['x-call-id']
    // Closing the hub waits for every open connection.
    await eventually(async () => (await callOf(id))['reason'] !== null)
    expect(await balance()).to.equal(usd('1') - PRICE)
    const left = await callOf(id)
    expect(left, 'the seller has the money').to.include({ state: 'charged', reason: 'caller_left' })
  })

  it('to another address than before need consent and carry a caution', async () => {
    const before = await weather('city=Oslo')
    expect(before.headers).to.not.have.property('x-upstream-caution')
    const refused = await weather(`pay_to=${ELSEWHERE}`)
    expect([refused.status, refused.body['code']]).to.deep.equal([409, 'pay_to_changed'])
    const { status, headers } = await weather(`pay_to=${ELSEWHERE}`, ada, ELSEWHERE)
    expect(status).to.equal(200)
    expect(headers['x-upstream-caution']).to.equal('pay_to_changed')
    expect(String(headers['x-upstream-pay-to']).toLowerCase()).to.equal(ELSEWHERE)
  })

  it('stop while paused, before a byte is sent, and continue afterwards', async () => {
    const { pool } = hub().hub
    const set = (paused: boolean) =>
      pool.query('SELECT hub.switch_outgoing($1, $2, $3)', [paused, 'ops', 'test'])
    await set(true)
    const paused = await weather('city=Oslo')
    expect(paused).to.have.property('status', 503)
    expect(paused.body).to.include({ code: 'payments_paused', retryable: true })
    expect(await balance()).to.equal(usd('1'))
    await set(false)
    expect(await weather('city=Oslo')).to.have.property('status', 200)
  })

  it('stop at the daily caps, to which untaken payments return', async () => {
    const left = platform - (await outflow('platform'))
    const calls = Number(left / PRICE)
    const bob = await hub().agent()
    await hub().credit(bob.keyId, usd('1'))
    const responses = await Promise.all(
      Array.from({ length: calls + 4 }, (_, i) => weather('city=Oslo', i % 2 ? ada : bob)),
    )
    expect(responses.filter(({ status }) => status === 200)).to.have.length(calls)
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused).to.have.length(4)
    for (const { body } of refused) {
      expect(body).to.include({ code: 'outflow_cap_reached', charged_microdollars: 0 })
    }
    expect(await outflow('platform')).to.equal(platform)
    expect(await outflow('key:%')).to.equal(platform)
  })
})
