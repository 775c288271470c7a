import { expect } from 'chai'
import { usd } from '../../../../core/money.ts'
import { ask } from '../../../support/ask.ts'
import type { TestAgent } from '../../../support/hub.ts'
import { useHub } from '../../../support/suite.ts'
import {
  buyExternal,
  buyWeather,
  createAdmin,
  openSecondHub,
  startRecordingSeller,
} from './fixture.ts'

const PRICE = usd('0.01')
const ROUTES = ['overview', 'wallets', 'payments', 'outgoing']
const PRODUCT_URL = 'http://watchful.test/goods'

describe('finance routes', () => {
  const admin = createAdmin()
  const outflow = { call: usd('1'), key: usd('2'), host: usd('3'), platform: usd('4') }
  const sandboxHosts = new Map<string, number>()
  let seller: Awaited<ReturnType<typeof startRecordingSeller>>
  before(async () => {
    seller = await startRecordingSeller()
    sandboxHosts.set('watchful.test', seller.port)
  })
  after(() => seller.close())
  const hub = useHub({ config: { admins: [admin.wallet], outflow, sandboxHosts } })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent(usd('5'))
    await hub().credit(ada.keyId, usd('1'))
  })
  afterEach(() => seller.onRequest(() => {}))

  const pause = (paused: boolean) =>
    admin.ask(hub(), 'outgoing', { paused, reason: paused ? 'a test' : 'the test is over' })

  for (const path of ROUTES) {
    it(`require a role for ${path}`, async () => {
      const at = (key?: string) => ask(hub().url, `/v1/finance/${path}`, { key })
      expect((await at()).body).to.include({ status: 401, code: 'invalid_api_key' })
      expect((await at(ada.apiKey)).body).to.include({ status: 403, code: 'finance_only' })
      expect(await admin.ask(hub(), path)).to.have.property('status', 200)
    })
  }

  it('reject a sub-key of an administrator', async () => {
    const response = await ask(hub().url, '/v1/keys', { key: await admin.key(hub()), body: {} })
    const key = String(response.body['api_key'])
    const { body } = await ask(hub().url, '/v1/finance/outgoing', { key })
    expect(body).to.include({ status: 403, code: 'finance_only' })
  })

  it('require a role and a reason to pause payments', async () => {
    const body = { paused: true, reason: 'because' }
    const { body: refused } = await ask(hub().url, '/v1/finance/outgoing', {
      key: ada.apiKey,
      body,
    })
    expect(refused).to.have.property('code', 'finance_only')
    for (const wrong of [{ paused: true }, { ...body, reason: ' ' }, { ...body, paused: 'yes' }]) {
      const { body: problem } = await admin.ask(hub(), 'outgoing', wrong)
      expect(problem).to.have.property('code', 'validation_failed')
    }
    expect((await admin.ask(hub(), 'outgoing')).body).to.include({ paused: false, author: null })
  })

  it('return today’s outflow by host and key, the caps and the worst sellers', async () => {
    await buyWeather(hub(), ada.apiKey)
    await buyWeather(hub(), ada.apiKey, 'fault=took')
    const { body } = await admin.ask(hub(), 'outgoing')
    const amount_microdollars = Number(2n * PRICE)
    expect(body['today']).to.deep.include({
      platform_microdollars: amount_microdollars,
      hosts: [{ host: 'seller.test', amount_microdollars }],
      keys: [{ key_id: ada.keyId, amount_microdollars }],
    })
    expect(body['caps']).to.deep.equal({
      call_microdollars: 1_000_000,
      key_day_microdollars: 2_000_000,
      host_day_microdollars: 3_000_000,
      platform_day_microdollars: 4_000_000,
    })
    const [worst, ...others] = body['worst_sellers'] as Record<string, unknown>[]
    expect(others).to.deep.equal([])
    expect(worst).to.include({ seller: 'http://seller.test/weather', taken: 2, delivered: 1 })
  })

  it('pause payments in all processes before any byte is sent', async () => {
    const another = await openSecondHub(hub(), { sandboxHosts })
    try {
      expect((await pause(true)).body).to.include({
        paused: true,
        author: admin.wallet,
        reason: 'a test',
      })
      const before = { ...seller.seen }
      for (const { url } of [hub(), another]) {
        const { body } = await buyExternal({ url }, ada.apiKey, PRODUCT_URL)
        expect(body).to.include({ code: 'payments_paused', charged_microdollars: 0 })
      }
      expect(seller.seen).to.deep.equal(before)
      for (const { url } of [hub(), another]) {
        const { headers } = await ask(url, '/proxy/echo/say', {
          key: ada.apiKey,
          body: { words: 'hi' },
        })
        expect(headers).to.include({ 'x-payment-source': 'credits' })
      }
      expect(await ada.client.purchase(usd('5'))).to.have.property('status', 201)
      expect((await pause(false)).body).to.include({ paused: false, reason: 'the test is over' })
      for (const { url } of [hub(), another]) await buyExternal({ url }, ada.apiKey, PRODUCT_URL)
      expect(seller.seen.connections).to.be.greaterThan(before.connections)
    } finally {
      await another.close()
    }
  })

  it('pause a call that already has its price, without sending a signature', async () => {
    const before = { credits: await hub().balance(ada.keyId), signed: seller.seen.signed }
    const unpaidBefore = seller.seen.unpaid
    seller.onRequest(() => pause(true))
    const { body } = await buyExternal(hub(), ada.apiKey, PRODUCT_URL)
    expect(body).to.include({ code: 'payments_paused', charged_microdollars: 0 })
    expect(seller.seen).to.include({ unpaid: unpaidBefore + 1, signed: before.signed })
    expect(await hub().balance(ada.keyId)).to.equal(before.credits)
    await pause(false)
    expect(await buyWeather(hub(), ada.apiKey)).to.have.property('status', 200)
  })
})
