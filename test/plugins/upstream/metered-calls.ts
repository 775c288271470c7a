import { wrapFetchWithPayment } from '@x402/fetch'
import { expect } from 'chai'
import { parse, reportUsage } from '../../../plugins/upstream/usage.ts'
import { useMeteredPayer } from '../../stories/metered-payer.ts'
import { claimsOf } from '../../support/receipt-claims.ts'
import { type Body, json, type useUpstream } from './fixture.ts'

/** 7 microdollars for 3 tokens, at most 1,000 for a call. */
const METERED = { unit: 'tokens', amount_microdollars: 7, per: 3 }
const BY_HEADER = { metered: { ...METERED, header: 'X-Tokens' } }
const BY_POINTER = { metered: { ...METERED, pointer: '/usage/a~1b/0' } }
const stating = (usage: unknown) => json({ usage: { 'a/b': [usage] } })

/** An endpoint whose upstream reports the usage that is charged. */
export function itIsMetered(world: ReturnType<typeof useUpstream>): void {
  const { answers, sell, call, put, view, send } = world
  const payer = useMeteredPayer(() => world.hub)
  const header =
    (value: string | string[]): Parameters<typeof answers>[0] =>
    (_, response) =>
      void response.setHeader('X-Tokens', value).end('{}')
  const cost = async (slug: string, status = 200) => {
    const response = await call(slug, '/do', { body: {} })
    expect(response.status, response.text).to.equal(status)
    return (
      response.headers['x-charged-microdollars'] ?? String(response.body['charged_microdollars'])
    )
  }

  it('charges the usage that the upstream reports, and never more than the maximum', async () => {
    const [first, second] = [await sell([BY_HEADER]), await sell([BY_POINTER])]
    const before = await world.hub.balance(world.payer.keyId)
    let sum = 0n
    for (const [usage, charged] of [
      [0, 0],
      [1, 3],
      [150, 350],
      [428, 999],
      [429, 999],
      [Number.MAX_SAFE_INTEGER, 999],
    ] as const) {
      answers(header(String(usage)))
      expect(await cost(first)).to.equal(String(charged))
      answers(stating(usage))
      expect(await cost(second)).to.equal(String(charged))
      sum += 2n * BigInt(charged)
    }
    expect(before - (await world.hub.balance(world.payer.keyId))).to.equal(sum)
    const { headers } = await call(second, '/do', { body: {} })
    const usage = { unit: 'tokens', quantity: 428, price_microdollars: 7, per: 3 }
    expect(claimsOf(headers['x-receipt'])).to.deep.include({ usage })
  })

  it('is paid by x402, of which the usage is taken', async () => {
    const slug = await sell([{ ...BY_POINTER, idempotent: true }])
    answers(stating(150))
    const pay = wrapFetchWithPayment(fetch, payer.clientOf())
    const answer = await pay(`${world.hub.url}/proxy/${slug}/do`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(await answer.json()).to.deep.equal({ usage: { 'a/b': [150] } })
    expect(await payer.spent()).to.equal(350n)
    const [claim] = await payer.claims()
    expect(claim).to.include({ amount: 350n, authorized: 1_000n })
  })

  it('treats a response without usage as it declares, and fails for a wrong one', async () => {
    for (const [rule, status, charged] of [
      [undefined, 502, '0'],
      ['fail', 502, '0'],
      ['maximum', 200, '999'],
      ['free', 200, '0'],
    ] as const) {
      const metered = { ...METERED, ...(rule && { if_absent: rule }) }
      const byHeader = await sell([{ metered: { ...metered, header: 'x-tokens' } }])
      const byPointer = await sell([{ metered: { ...metered, pointer: '/usage/a~1b/0' } }])
      answers((_, response) => void response.end('no JSON'))
      expect(await cost(byHeader, status), rule).to.equal(charged)
      expect(await cost(byPointer, status), rule).to.equal(charged)
      for (const body of [
        {},
        { usage: null },
        { usage: { 'a/b': [] } },
        { 'usage/a/b/0': 1 },
        [],
      ]) {
        answers(json(body))
        expect(await cost(byPointer, status), JSON.stringify(body)).to.equal(charged)
      }
      for (const wrong of ['', '-1', '1.5', '1e3', '0x1', '1, 2', ['1', '2'], '9'.repeat(16)]) {
        answers(header(wrong))
        expect(await cost(byHeader, 502), String(wrong)).to.equal('0')
      }
      for (const wrong of ['7', -1, 1.5, 2 ** 53, true, [1], { length: 1 }]) {
        answers(stating(wrong))
        expect(await cost(byPointer, 502), JSON.stringify(wrong)).to.equal('0')
      }
    }
  })

  it('meters client errors that are results, and asks others for no usage', async () => {
    const slug = await sell([{ ...BY_HEADER, passes: [404, 410], charges: [404] }])
    answers((_, response) => void response.writeHead(404, { 'x-tokens': '3' }).end('{}'))
    expect(await cost(slug, 404)).to.equal('7')
    answers((_, response) => void response.writeHead(410).end('{}'))
    expect(await cost(slug, 410)).to.equal('0')
  })

  it('meters a stream by its header', async () => {
    const slug = await sell([{ ...BY_HEADER, streams: true }])
    answers(header('30'))
    const before = await world.hub.balance(world.payer.keyId)
    const { text } = await call(slug, '/do', { body: {} })
    expect(text).to.equal('{}')
    expect(before - (await world.hub.balance(world.payer.keyId))).to.equal(70n)
  })

  it('costs more only after the notice period', async () => {
    const order = { method: 'POST', path: '/do', summary: 'Does it.', price_microdollars: 1_000 }
    const slug = await sell([BY_HEADER])
    answers(header('30'))
    const set = async (change: Body) => {
      const { body, status, text } = await put(slug, [{ ...order, ...BY_HEADER, ...change }])
      expect(status, text).to.equal(200)
      const [endpoint] = body['endpoints'] as { metered: Body; coming_price: Body | null }[]
      return endpoint!
    }
    for (const change of [
      { metered: { ...BY_HEADER.metered, amount_microdollars: 8 } },
      { metered: { ...BY_HEADER.metered, per: 2 } },
      { metered: { ...BY_HEADER.metered, unit: 'words' } },
      { metered: { ...BY_HEADER.metered, if_absent: 'maximum' } },
      { metered: null },
      { price_microdollars: 1_001 },
    ]) {
      const { coming_price: coming, metered } = await set(change)
      const { metered: next = BY_HEADER.metered } = change as { metered?: Body | null }
      expect(coming, JSON.stringify(change)).to.include({
        price_microdollars: change.price_microdollars ?? 1_000,
      })
      expect(metered).to.deep.include(METERED)
      if (next) expect(coming!['metered']).to.deep.include({ unit: next['unit'], per: next['per'] })
      else expect(coming!['metered']).to.equal(null)
      expect(await cost(slug), JSON.stringify(change)).to.equal('70')
    }
    const { body } = await send('GET', `/v1/services/${slug}`)
    expect(body).to.have.nested.property('endpoints[0].coming_price.price_microdollars', 1_001)
    const kept = await set({ price_microdollars: undefined })
    expect(kept.coming_price, 'stays').to.include({ price_microdollars: 1_001 })
    const cheaper = { ...BY_HEADER.metered, amount_microdollars: 6 }
    expect((await set({ metered: cheaper })).coming_price).to.equal(null)
    expect(await cost(slug)).to.equal('60')
    expect(await view(slug)).to.have.nested.property('endpoints[0].price_microdollars', 1_000)
  })

  it('keeps its price only where the usage can be read and the price covers a unit', async () => {
    const order = { method: 'POST', path: '/do', summary: 'Does it.' }
    const [metered, fixed] = [await sell([BY_POINTER]), await sell([{}])]
    const unpriced = await world.draft()
    const dear = { metered: { ...METERED, amount_microdollars: 3_001, header: 'x-tokens' } }
    for (const [slug, change, at] of [
      [metered, { streams: true }, 'metered'],
      [metered, { max_bytes: 33_554_432 }, 'max_bytes'],
      [metered, { price_microdollars: 2_000, streams: true }, 'metered'],
      [metered, { metered: null }, 'price_microdollars'],
      [fixed, dear, 'price_microdollars'],
      [unpriced, BY_HEADER, 'price_microdollars'],
    ] as const) {
      const { status, body, text } = await put(slug, [{ ...order, ...change }])
      expect([status, body['code']], text).to.deep.equal([422, 'validation_failed'])
      expect(text, text).to.include(`/endpoints/0/${at}`)
    }
    const response = await put(fixed, [{ ...order, metered: null, max_bytes: 33_554_432 }])
    expect(response.status, 'a price per call stays one').to.equal(200)
  })

  it('looks up no usage in a body that is too large to parse', () => {
    const body = Buffer.from(JSON.stringify({ n: 7, more: ' '.repeat(1_048_576) }))
    const report = (ifAbsent: 'fail' | 'free', of: Buffer) => {
      const counted: unknown[] = []
      const meter = { unit: 'tokens', amount: 7, per: 3, pointer: '/n', ifAbsent }
      reportUsage(meter, {}, parse(of), (...usage) => counted.push(usage) > 0)
      return counted
    }
    expect(report('fail', Buffer.from('{"n":7}'))).to.deep.equal([['tokens', 7]])
    expect(report('free', body)).to.deep.equal([])
    expect(() => report('fail', body)).to.throw('is missing')
  })

  it('shows its usage in a test call', async () => {
    const slug = await sell([BY_POINTER])
    answers(stating(12))
    const { body } = await world.act(slug, 'test', { endpoint: 'POST /do', input: {} })
    expect(body).to.include({ delivered: true, usage: 12 })
  })
}
