import { wrapFetchWithPayment } from '@x402/fetch'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { callTool } from '../server/mcp/ask.ts'
import { ask } from '../support/ask.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import { decode, encode, useMeteredPayer } from './metered-payer.ts'
import { COVERED, MAX, metered, RATE, type Step } from './metered-service.ts'
import { itResistsAttacks } from './metered-x402-attacks.ts'
import { itSurvivesFaults } from './metered-x402-faults.ts'

const priceOf = (tokens: bigint): bigint => (tokens * RATE.amount + RATE.per - 1n) / RATE.per
const say = (tokens: number, text: string): Step => ({ meter: tokens, send: text })

describe('a metered price paid by x402 (scheme upto)', () => {
  const hub = useHub({ plugins: [metered('metered')] })
  const payer = useMeteredPayer(hub)
  const { call, sign, spent, claims, resolve } = payer

  it('takes the usage from a wallet that has neither gas nor approved Permit2', async () => {
    const pay = wrapFetchWithPayment(fetch, payer.clientOf())
    const answer = await pay(`${hub().url}/proxy/metered/whole`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ steps: [say(100, 'a'), say(50, 'b')] }),
    })
    expect(await answer.json()).to.deep.equal({ text: 'ab' })
    const receipt = decode(answer.headers.get('payment-response'))
    expect(receipt).to.include({ success: true, amount: '350' })
    const usage = { unit: 'tokens', quantity: 150, price_microdollars: 7, per: 3 }
    expect(claimsOf(answer.headers.get('x-receipt')!)).to.deep.include({
      usage,
      charged_microdollars: 350,
    })
    expect(await spent()).to.equal(350n)
    await resolve()
    expect((await claims())[0]).to.include({ state: 'confirmed', amount: 350n, authorized: MAX })
  })

  it('offers the maximum by upto alone', async () => {
    const { status, headers, body } = await call('whole', [])
    expect(status).to.equal(402)
    const { accepts, extensions } = decode(headers['payment-required'])
    expect(accepts).to.have.length(1)
    expect(accepts[0]).to.include({ scheme: 'upto', amount: String(MAX) })
    expect(extensions).to.include.keys('eip2612GasSponsoring', 'sign-in-with-x')
    expect(headers).not.to.have.property('www-authenticate')
    expect(body['accepts']).to.deep.equal([])
    expect(body['advice']).to.include('via x402, or')
    const actions = (body['next_steps'] as { action: string }[]).map(({ action }) => action)
    expect(actions).to.include('pay_x402').and.not.to.include('pay_mpp')
  })

  it('is announced with its unit and maximum', async () => {
    const read = async (path: string) => (await ask(hub().url, path)).body as never
    const { resources, metered }: Record<string, unknown[]> = await read('/.well-known/x402')
    const offer = {
      resource: `${hub().url}/proxy/metered/whole`,
      method: 'POST',
      scheme: 'upto',
      amount: String(MAX),
      unit: 'tokens',
      unit_price: { amount: '7', per: '3' },
    }
    expect(metered).to.deep.include(offer)
    expect(resources).to.include(offer.resource)
    const card: { capabilities: { extensions: { params: { metered?: unknown[] } }[] } } =
      await read('/.well-known/agent-card.json')
    expect(card.capabilities.extensions[0]?.params.metered).to.deep.equal(metered)
    const { paths }: { paths: Record<string, Record<string, Record<string, unknown>>> } =
      await read('/openapi.json')
    const info = paths['/proxy/metered/whole']?.['post']?.['x-payment-info']
    expect(info).to.have.nested.property('protocols[0].x402.scheme', 'upto')
    expect(info).to.deep.nested.include({
      'price.max': '0.001000',
      metered: { unit: 'tokens', amount: '0.000007', per: 3 },
    })
  })

  it('is paid over MCP', async () => {
    const { apiKey } = await hub().agent()
    const order = {
      service: 'metered',
      endpoint: 'POST /whole',
      input: { steps: [say(30, 'a')] },
      idempotency_key: 'upto-over-mcp',
    }
    const use = (meta?: Record<string, unknown>) => callTool(hub(), apiKey, 'hub_call', order, meta)
    const { structuredContent: offer } = await use()
    const payment = await payer.clientOf().createPaymentPayload(offer as never)
    const { data, _meta: meta } = await use({ 'x402/payment': payment })
    expect(data).to.include({ charged_usd: '0.00007', paid_from: 'x402' })
    expect(meta?.['x402/payment-response']).to.include({ success: true, amount: '70' })
    expect(await spent()).to.equal(70n)
  })

  it('takes nothing without usage or delivery, and the maximum at most', async () => {
    for (const [steps, charged] of [
      [[{ send: 'a' }], '0'],
      [[say(400, 'a'), say(10_000_000, 'b')], String(priceOf(COVERED))],
    ] as const) {
      const { headers } = await call('whole', steps, encode(await sign('whole', steps)))
      expect(headers).to.include({ 'x-charged-microdollars': charged })
    }
    const failing: Step[] = [say(100, 'a'), { end: 'fail' }]
    const failed = await call('whole', failing, encode(await sign('whole', failing)))
    expect(failed.status).to.equal(502)
    await resolve()
    expect(await spent()).to.equal(priceOf(COVERED))
  })

  it('settles a stream at its end, and stops it at the maximum', async () => {
    const steps = Array.from({ length: 100 }, (_, i) => say(10, `${i} `))
    const payment = encode(await sign('stream', steps))
    const { text } = await call('stream', steps, payment)
    const covered = steps.slice(0, 42).map(({ send }) => send)
    expect(text).to.equal(covered.join(''))
    expect(await spent()).to.equal(priceOf(COVERED))
    const again = await call('stream', steps, payment)
    expect(again.text).to.equal(text)
    expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
    expect(decode(again.headers['payment-response'])).to.include({ amount: '999' })
    expect(await spent()).to.equal(priceOf(COVERED))
  })

  itResistsAttacks(hub, payer)
  itSurvivesFaults(hub, payer)

  it('A302 takes from a wallet what its claims say, and none above the maximum', async () => {
    await payer.approve()
    const step = fc.oneof(
      fc.record({ meter: fc.nat(200), send: fc.constant('x') }),
      fc.record({ send: fc.constant('y'), waitMs: fc.nat(20) }),
      fc.record({ meter: fc.nat(2 ** 40) }),
    )
    const plan = fc.record({
      path: fc.constantFrom('stream', 'whole'),
      steps: fc.array(step, { maxLength: 6 }),
      end: fc.option(fc.constantFrom<NonNullable<Step['end']>>('fail', 'overcharge'), {
        freq: 3,
        nil: undefined,
      }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 6 }), async (plans) => {
        const before = [await spent(), (await claims()).length] as const
        await Promise.all(
          plans.map(async ({ path, steps, end }) => {
            const all = end === undefined ? steps : [...steps, { end }]
            await call(path, all, encode(await sign(path, all))).catch(() => undefined)
          }),
        )
        await resolve()
        const made = (await claims()).slice(before[1])
        const taken = made.filter(({ state }) => state === 'confirmed')
        const sum = taken.reduce((total, { amount }) => total + (amount as bigint), 0n)
        const hasEnded = ({ state }: { state?: unknown }) =>
          state === 'confirmed' || state === 'released'
        expect(made.every(hasEnded)).to.equal(true)
        expect(taken.every(({ amount }) => (amount as bigint) <= MAX)).to.equal(true)
        expect((await spent()) - before[0]).to.equal(sum)
      }),
      { numRuns: 6, endOnFailure: true },
    )
  }).timeout(120_000)
})
