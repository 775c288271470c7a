import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { json, usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { countingService, PRICE, resetWork, work } from '../../stories/counted-service.ts'
import { ask, payFor } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { callTool, modern, type Result } from './ask.ts'
import { hangUp } from './hang-up.ts'
import { priced, responseForms } from './response-forms.ts'

const WORK = { service: 'counted', endpoint: 'POST /work', input: { text: 'a' } }

describe('a paid tool', () => {
  const hub = useHub({ plugins: [countingService, responseForms] })
  let ada: TestAgent
  beforeEach(async () => {
    resetWork()
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const call = (args: object, meta?: Readonly<Record<string, unknown>>, by = ada) =>
    callTool(hub(), by.apiKey, 'hub_call', { ...args }, meta)
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))

  it('reports the charge, the remaining balance and the payer', async () => {
    const { structuredContent, data, isError } = await call({ ...WORK, idempotency_key: 'mine' })
    expect(isError).to.equal(undefined)
    expect(data, 'text and structure are one').to.deep.equal(structuredContent)
    expect(data).to.deep.include({
      status: 200,
      charged_usd: '0.001',
      balance_usd: '0.999',
      paid_from: 'credits',
      idempotency_key: 'mine',
      body: { done: 1 },
    })
    expect(await spent()).to.equal(PRICE)
  })

  it('A101 repeated with its idempotency_key returns the same response, charged once', async () => {
    const order = { ...WORK, idempotency_key: 'lost-answer' }
    const [first, second] = [await call(order), await call(order)]
    expect(second.data).to.deep.include({ body: first.data['body'], charged_usd: '0.00' })
    expect(second.data).to.include({ replayed: true, paid_from: 'none' })
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('A101 called concurrently with one key is charged once; the others must wait', async () => {
    const go = Promise.withResolvers<void>()
    work.before = () => go.promise
    const order = { ...WORK, idempotency_key: 'both' }
    const ended: Awaited<ReturnType<typeof call>>[] = []
    const calls = [1, 2, 3].map(() => call(order).then((result) => void ended.push(result)))
    await eventually(() => ended.length === 2)
    go.resolve()
    await Promise.all(calls)
    for (const { data } of ended.slice(0, 2)) {
      expect(data).to.include({ error: 'idempotency_in_progress', charged_usd: '0.00' })
      expect(data['next']).to.match(/same idempotency_key/)
    }
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('with the idempotency_key of another request is refused', async () => {
    await call({ ...WORK, idempotency_key: 'one' })
    const { isError, data } = await call({ ...WORK, input: {}, idempotency_key: 'one' })
    expect(isError).to.equal(true)
    expect(data).to.include({ error: 'idempotency_key_reused', charged_usd: '0.00' })
    expect(await spent()).to.equal(PRICE)
  })

  it('generates an idempotency_key, with which the rest of a long response is free', async () => {
    const long = { service: 'various', endpoint: '/long', input: { chars: 250 } }
    const first = await call({ ...long, max_chars: 100 })
    const { idempotency_key, next_offset, total_chars, truncated, body } = first.data
    expect({ next_offset, truncated, total_chars }).to.deep.equal({
      next_offset: 100,
      truncated: true,
      total_chars: 250,
    })
    let text = String(body)
    for (let offset: unknown = next_offset; offset !== undefined; ) {
      const { data } = await call({ ...long, max_chars: 100, idempotency_key, offset })
      expect(data).to.include({ charged_usd: '0.00' })
      text += String(data['body'])
      offset = data['next_offset']
    }
    expect(text).to.equal('x'.repeat(250))
    expect(await spent()).to.equal(PRICE)
  })

  it('is refused above max_price_usd, with the price', async () => {
    const { isError, data } = await call({ ...WORK, max_price_usd: '0.0009' })
    expect(isError).to.equal(true)
    expect(data).to.include({ error: 'price_exceeds_max', price_usd: '0.001', charged_usd: '0.00' })
    expect(data['next']).to.include('max_price_usd "0.001"')
    expect([work.done, await spent()]).to.deep.equal([0, 0n])
    expect(await call({ ...WORK, max_price_usd: 0.001 }), 'a number').not.to.have.property(
      'isError',
    )
  })

  it('converts input to the query of a GET, with its types', async () => {
    const order = { service: 'various', endpoint: 'GET /sum', input: { a: 2, b: '3' } }
    expect((await call(order)).data).to.deep.include({ body: { sum: 5 } })
    expect((await call({ ...order, endpoint: 'sum' })).data).to.deep.include({ body: { sum: 5 } })
  })

  it('returns the x402 offer without credits, and accepts the payment in _meta', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const poor = await hub().agent()
    const demand = await call(WORK, undefined, poor)
    expect(demand.isError).to.equal(true)
    const required = demand.structuredContent!
    expect(required).to.deep.include({ x402Version: 2 })
    expect(required['resource']).to.deep.include({ url: 'mcp://tool/hub_call' })
    expect(demand.content[0]!.text, 'the same as text').to.equal(JSON.stringify(required))
    expect(demand.data).to.include({ error: 'insufficient_credits', charged_usd: '0.00' })
    expect(demand.data['next']).to.include('hub_topup')

    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    const offered = { status: 402, headers: { 'payment-required': header }, body: {}, text: '' }
    const signed = await payFor(account, 'mcp://tool', offered)
    const payment = JSON.parse(Buffer.from(signed, 'base64').toString()) as object
    const paid = await call(WORK, { 'x402/payment': payment }, poor)
    expect(paid.data).to.deep.include({
      charged_usd: '0.001',
      paid_from: 'x402',
      body: { done: 1 },
    })
    const { _meta: meta } = paid
    const receipt = meta!['x402/payment-response'] as Record<string, unknown>
    expect(receipt).to.include({ success: true, payer: account.address })

    const again = await call(WORK, { 'x402/payment': payment }, poor)
    expect(again.data, 'the same payment, the same answer').to.deep.include({ body: { done: 1 } })
    const other = await call({ ...WORK, input: {} }, { 'x402/payment': payment }, poor)
    expect(other.isError).to.equal(true)
    expect(other.data).to.include({ error: 'payment_replayed', charged_usd: '0.00' })
    expect(work.done).to.equal(1)
  })

  it('accepts _meta["x402.payment"] with a header of version 1, as x402-mcp sends it', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const poor = await hub().agent()
    const { structuredContent: required } = await call(WORK, undefined, poor)
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    const offered = { status: 402, headers: { 'payment-required': header }, body: {}, text: '' }
    const signed = await payFor(account, 'mcp://tool', offered)
    const { payload } = JSON.parse(Buffer.from(signed, 'base64').toString())
    const payment = { x402Version: 1, scheme: 'exact', network: 'base', payload }
    const meta = { 'x402.payment': Buffer.from(JSON.stringify(payment)).toString('base64') }
    expect((await call(WORK, meta, poor)).data).to.include({
      charged_usd: '0.001',
      paid_from: 'x402',
    })
    expect((await call(WORK, meta, poor)).data).to.include({ charged_usd: '0.00', replayed: true })
    expect(work.done).to.equal(1)
  })

  it('reports an invalid payment, and charges nothing', async () => {
    const poor = await hub().agent()
    for (const payment of ['text', {}, [], { x402Version: 2, payload: {} }, 'x'.repeat(40_000)]) {
      const { isError, data } = await call(WORK, { 'x402/payment': payment }, poor)
      expect(isError).to.equal(true)
      expect(data).to.include({ error: 'payment_invalid', charged_usd: '0.00' })
    }
    expect(work.done).to.equal(0)
  })

  describe('whose client disconnects', () => {
    const lost = (order: object, era: 'modern' | 'legacy') => {
      const params = { name: 'hub_call', arguments: { ...order, idempotency_key: 'hung-up' } }
      return hangUp(hub(), era, params, ada.apiKey)
    }
    const again = async (order: object) => {
      let data: Awaited<ReturnType<typeof call>>['data'] = {}
      await eventually(async () => {
        data = (await call({ ...order, idempotency_key: 'hung-up' })).data
        return data['error'] !== 'idempotency_in_progress'
      })
      return data
    }

    for (const era of ['modern', 'legacy'] as const) {
      it(`after the work began is charged once and can be repeated (${era})`, async () => {
        const started = Promise.withResolvers<void>()
        const go = Promise.withResolvers<void>()
        work.before = () => {
          started.resolve()
          return go.promise
        }
        const client = lost(WORK, era)
        await started.promise
        await client.hangUp()
        go.resolve()
        expect(await again(WORK)).to.deep.include({
          body: { done: 1 },
          replayed: true,
          charged_usd: '0.00',
        })
        expect([work.done, await spent()]).to.deep.equal([1, PRICE])
      })

      const cancels = era === 'modern'
      it(`before it began is ${cancels ? 'not ' : ''}charged (${era})`, async () => {
        const order = { service: 'various', endpoint: '/priced', input: {} }
        const requestArrived = Promise.withResolvers<void>()
        const go = Promise.withResolvers<void>()
        Object.assign(priced, {
          done: 0,
          before: () => {
            requestArrived.resolve()
            return go.promise
          },
        })
        const client = lost(order, era)
        await requestArrived.promise
        await client.hangUp()
        await ask(hub().url, '/livez') // the hub has noticed it by then
        go.resolve()
        if (!cancels) await eventually(() => priced.done === 1)
        const data = await again(order)
        expect(data, 'the key is free, or has a response').to.deep.include({ body: { done: 1 } })
        expect(data['replayed'] ?? false).to.equal(!cancels)
        expect([priced.done, await spent()]).to.deep.equal([1, PRICE])
      })
    }
  })

  describe('with progress', () => {
    it('reports it on an event stream if requested, and ends with the result', async () => {
      const params = { name: 'hub_call', arguments: WORK, _meta: { progressToken: 'p' } }
      const { headers, text } = await modern(hub(), 'tools/call', params, { key: ada.apiKey })
      expect(headers).to.include({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
      const events = text
        .split('\n\n')
        .filter((event) => event.includes('data: '))
        .map((event) => JSON.parse(event.split('data: ')[1]!) as Record<string, unknown>)
      const last = events.pop()!
      expect(last['result']).to.deep.include({ resultType: 'complete' })
      expect((last['result'] as Result).structuredContent).to.include({ charged_usd: '0.001' })
      const data = events.map(({ params: p }) => p as { progress: number; progressToken: string })
      expect(data.map(({ progress }) => progress)).to.deep.equal([1, 2, 3, 4])
      expect(new Set(data.map(({ progressToken }) => progressToken))).to.deep.equal(new Set(['p']))
    })

    it('returns plain JSON without progress, or if the client accepts no stream', async () => {
      const order = { name: 'hub_call', arguments: { ...WORK, endpoint: '/none' } }
      const meta = { progressToken: 7 }
      const key = ada.apiKey
      const none = await modern(hub(), 'tools/call', { ...order, _meta: meta }, { key })
      expect(none.headers['content-type']).to.match(/^application\/json/)
      const plain = await modern(
        hub(),
        'tools/call',
        { name: 'hub_call', arguments: WORK, _meta: meta },
        { key, headers: { accept: 'application/json' } },
      )
      expect(plain.headers['content-type']).to.match(/^application\/json/)
    })
  })

  it('costs exactly the price of an external seller', async () => {
    const order = { url: 'http://seller.test/weather?city=Oslo' }
    const buy = (more: object) =>
      callTool(hub(), ada.apiKey, 'hub_call_external', { ...order, ...more })
    const dear = await buy({ max_price_usd: '0.009' })
    expect(dear.data).to.include({ error: 'price_exceeds_max', price_usd: '0.01' })
    const none = await buy({})
    expect(none.data).to.include({ error: 'invalid_arguments' })
    const bought = await buy({ max_price_usd: '0.01', idempotency_key: 'oslo' })
    expect(bought.data).to.include({ status: 200, charged_usd: '0.01', paid_from: 'credits' })
    expect(bought.data['transaction']).to.match(/^0x[0-9a-f]{64}$/)
    const again = await buy({ max_price_usd: '0.01', idempotency_key: 'oslo' })
    expect(again.data).to.deep.include({ body: bought.data['body'], charged_usd: '0.00' })
    expect(json(await spent())).to.equal(10_000)
  })
})
