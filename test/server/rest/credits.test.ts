import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { countingService, resetWork } from '../../stories/counted-service.ts'
import { flawed } from '../../stories/failing-services.ts'
import { ask, pageOf } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from '../mcp/ask.ts'

type Item = Readonly<Record<string, unknown>>

describe('credits of a key', () => {
  const hub = useHub({ plugins: [countingService, flawed] })
  const agentWith = async (credits: string) => {
    const agent = await hub().agent()
    if (credits !== '0') await hub().credit(agent.keyId, usd(credits))
    const get = (path: string) => ask(hub().url, path, { key: agent.apiKey })
    return { ...agent, get }
  }

  it('GET /v1/credits/balance returns available and reserved credits', async () => {
    const ada = await agentWith('1')
    expect((await ada.get('/v1/credits/balance')).body).to.deep.equal({
      balance_microdollars: 1_000_000,
      reserved_microdollars: 0,
    })
    const [started, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    resetWork().before = () => {
      started.resolve()
      return end.promise
    }
    const failing = ada.client.call('counted', '/work', {}).catch(() => undefined)
    await started.promise
    expect((await ada.get('/v1/credits/balance')).body).to.include({
      balance_microdollars: 999_000,
      reserved_microdollars: 1_000,
    })
    end.reject(new Error('down'))
    await failing
    expect((await ada.get('/v1/credits/balance')).body).to.include({
      balance_microdollars: 1_000_000,
    })
  })

  it('GET /v1/wallet/balance returns credits, spending, free calls and limits', async () => {
    const ada = await agentWith('1')
    for (let i = 0; i < 16; i++) await ada.client.call('analysis', '/sentiment', { text: 'Good.' })
    await ada.client.call('echo', '/say', { words: 'hi' })
    await ada.client.call('flawed', '/throws', {}).catch(() => undefined)
    const day = /^\d{4}-\d\d-\d\d$/
    let body: Item = {}
    do {
      await sleep(50)
      ;({ body } = await ada.get('/v1/wallet/balance'))
    } while ((body['spending'] as { by_service: Item[] }).by_service.length < 3)
    expect(body).to.deep.include({
      wallet_address: ada.address,
      balance_microdollars: 997_900,
      reserved_microdollars: 0,
      rate_limit: { tier: 'paid', requests_per_minute: 1_000 },
    })
    const [free] = body['free_calls'] as Item[]
    expect(free).to.include({ service: 'analysis', remaining: 0 })
    const { by_day, by_service } = body['spending'] as { by_day: Item[]; by_service: Item[] }
    expect(by_service).to.deep.equal([
      { service: 'analysis', calls: 16, free_calls: 15, charged_microdollars: 2_000 },
      { service: 'echo', calls: 1, free_calls: 0, charged_microdollars: 100 },
      { service: 'flawed', calls: 1, free_calls: 0, charged_microdollars: 0 },
    ])
    expect(by_day).to.have.length(1)
    expect(by_day[0]).to.include({ calls: 18, free_calls: 15, charged_microdollars: 2_100 })
    expect(by_day[0]?.['day']).to.match(day)
  })

  it('are never shown to other keys', async () => {
    const [ada, bob] = [await agentWith('1'), await agentWith('0')]
    await ada.client.call('echo', '/say', { words: 'hi' })
    const { body } = await bob.get('/v1/wallet/balance')
    expect(body).to.include({ balance_microdollars: 0 })
    const [unused] = body['free_calls'] as readonly object[]
    expect(unused).to.include({ service: 'analysis', remaining: 15 })
    expect(body['rate_limit']).to.deep.equal({ tier: 'free', requests_per_minute: 100 })
    const { body: page } = await bob.get('/v1/credits/history')
    expect(page).to.deep.equal({ data: [], next_cursor: null, has_more: false })
  })

  it('GET /v1/credits/history sums to the balance across pages, newest first', async () => {
    const ada = await agentWith('1')
    for (let i = 0; i < 4; i++) await ada.client.call('echo', '/say', { words: 'hi' })
    await ada.client.call('flawed', '/throws', {}).catch(() => undefined)
    await ada.client.call('flawed', '/cheap', {})
    const seen: Item[] = []
    let path: string | undefined = '/v1/credits/history?view=movements&limit=5'
    while (path !== undefined) {
      const { status, headers, body } = await ada.get(path)
      expect(status).to.equal(200)
      const { data, has_more } = pageOf(body)
      expect(data.length).to.be.at.most(5)
      seen.push(...data)
      const link: string | undefined = /^<(.*)>; rel="next"$/.exec(String(headers['link']))?.[1]
      expect(link !== undefined).to.equal(has_more)
      path = link
    }
    expect(seen).to.have.length(13)
    expect(new Set(seen.map(({ id, event }) => `${String(id)} ${String(event)}`)).size).to.equal(13)
    const sum = seen.reduce((total, item) => total + Number(item['change_microdollars']), 0)
    expect(sum).to.equal(1_000_000 - 400 - 400)
    const charged = seen.reduce((total, item) => total + Number(item['charged_microdollars']), 0)
    expect(charged).to.equal(800)
    const times = seen.map(({ at }) => String(at))
    expect(times).to.deep.equal(times.toSorted().toReversed())
    expect(seen[0]).to.include({ event: 'call.settled', endpoint: 'flawed POST /cheap' })
    expect(seen.at(-1)).to.include({ event: 'credits.purchased', change_microdollars: 1_000_000 })
  })

  const id = '01900000-0000-7000-8000-000000000000'
  const cursor = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')
  for (const position of [[id], [id, 70_000], [id, -1], ['x', 1], { id }, null]) {
    it(`rejects the cursor ${JSON.stringify(position)}`, async () => {
      const { get } = await agentWith('0')
      const { status, body } = await get(`/v1/credits/history?cursor=${cursor(position)}`)
      expect([status, body['code']]).to.deep.equal([422, 'validation_failed'])
    })
  }

  describe('POST /v1/credits/purchase', () => {
    it('responds to an unpaid order with the offer', async () => {
      const { apiKey: key } = await agentWith('0')
      const body = { amount_microdollars: 5_000_000 }
      const response = await ask(hub().url, '/v1/credits/purchase', { key, body })
      expect([response.status, response.body['code']]).to.deep.equal([402, 'payment_required'])
      expect(response.headers['cache-control']).to.equal('no-store')
      const header = String(response.headers['payment-required'])
      const offer = JSON.parse(Buffer.from(header, 'base64').toString()) as { accepts: Item[] }
      expect(offer.accepts[0]).to.include({
        scheme: 'exact',
        network: 'eip155:8453',
        amount: '5000000',
        payTo: hub().sandbox!.money.treasury,
      })
    })

    const wrong: readonly unknown[] = [
      {},
      { amount_microdollars: 4_999_999 },
      { amount_microdollars: 10_000_000_001 },
      { amount_microdollars: 5_000_000.5 },
      { amount_microdollars: '5000000' },
      { amount_microdollars: -5_000_000 },
      { amount_usd: 5 },
    ]
    for (const body of wrong) {
      it(`rejects ${JSON.stringify(body)}`, async () => {
        const { apiKey: key } = await agentWith('0')
        const response = await ask(hub().url, '/v1/credits/purchase', { key, body })
        expect([response.status, response.body['code']]).to.deep.equal([422, 'validation_failed'])
        expect(response.body['issues']).to.be.an('array').that.is.not.empty
      })
    }

    it('has one minimum at every entry point: the 5 USD of the command line', async () => {
      const { apiKey: key, keyId } = await agentWith('0')
      const { url } = hub()
      const order = { key_id: keyId, purchase_id: `pur_${randomUUID()}` }
      for (const [amount, status] of [
        [4_999_999, 422],
        [5_000_000, 402],
      ] as const) {
        const body = { amount_microdollars: amount }
        const bought = await ask(url, '/v1/credits/purchase', { key, body })
        const toppedUp = await ask(url, '/v1/topups', { body: { ...order, ...body } })
        expect([bought.status, toppedUp.status], String(amount)).to.deep.equal([status, status])
        const usd = (amount / 1e6).toFixed(6)
        const query = new URLSearchParams({ ...order, amount_usd: usd })
        const page = await ask(url, `/topup?${query.toString()}`)
        expect(page.text.includes('Enter $5.00 to'), usd).to.equal(status === 422)
        const { data } = await callTool(hub(), key, 'hub_topup', { amount_usd: usd })
        expect(JSON.stringify(data)).to.match(
          status === 422 ? /must be 5\.00 to/ : /"min_usd":"5\.00"/,
        )
      }
      const unpaid = await ask(url, '/proxy/echo/say', { key, body: { words: 'hi' } })
      expect(unpaid.body['next_steps']).to.deep.include({
        action: 'topup',
        method: 'POST',
        href: '/v1/credits/purchase',
        min_microdollars: 5_000_000,
      })
      const { text } = await ask(url, '/openapi.json')
      expect(text.match(/"amount_microdollars":\{[^}]*"minimum":5000000\b/)).to.not.equal(null)
    })

    it('rejects an invalid payment and repeats the offer', async () => {
      const { apiKey: key } = await agentWith('0')
      for (const signature of [
        'x',
        '!!',
        Buffer.from('{}').toString('base64'),
        'a'.repeat(17_000),
      ]) {
        const headers = { 'payment-signature': signature }
        const body = { amount_microdollars: 5_000_000 }
        const response = await ask(hub().url, '/v1/credits/purchase', { key, body, headers })
        expect([response.status, response.body['code']]).to.deep.equal([402, 'payment_invalid'])
        expect(response.body['reason']).to.be.a('string')
        expect(response.headers).to.have.property('payment-required')
      }
    })
  })
})
