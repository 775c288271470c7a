import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { sleep, systemClock } from '../../core/clock.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

const PRICE = usd('0.001')
/** Lifetime of expiring keys: long enough for a call on a busy machine. */
const LIFE_MS = 4_000
const worked = defineService({
  slug: 'worked',
  name: 'Worked',
  category: 'test',
  summary: 'Works.',
  provider: 'example',
  endpoints: {
    'POST /work': { summary: 'Works.', price: PRICE, input: s.object({}), handle: () => ({}) },
    'POST /fail': {
      summary: 'Fails.',
      price: PRICE,
      input: s.object({}),
      handle: () => {
        throw new Error('down')
      },
    },
  },
})

interface Key {
  readonly id: string
  readonly secret: string
}

describe('sub-keys', () => {
  const hub = useHub({ plugins: [worked] })
  let ada: TestAgent
  let root: Key
  beforeEach(async () => {
    ada = await hub().agent()
    root = { id: ada.keyId, secret: ada.apiKey }
    await hub().credit(ada.keyId, usd('1'))
  })
  const keys = (by: Key, path = '', question: object = {}): Promise<ApiResponse> =>
    ask(hub().url, `/v1/keys${path}`, { key: by.secret, ...question })
  const make = async (by: Key, limits: object = {}): Promise<Key> => {
    const { status, body } = await keys(by, '', { body: limits })
    expect(status, JSON.stringify(body)).to.equal(201)
    return { id: String(body['key_id']), secret: String(body['api_key']) }
  }
  const work = (by: Key, path = 'worked/work'): Promise<ApiResponse> =>
    ask(hub().url, `/proxy/${path}`, { key: by.secret, body: {} })
  const codes = async (pending: Promise<ApiResponse>[]) => {
    const tally: Record<string, number> = {}
    for (const { status, body } of await Promise.all(pending)) {
      const code = status === 200 ? 'served' : String(body['code'])
      tally[code] = (tally[code] ?? 0) + 1
    }
    return tally
  }
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const micros = (calls: number) => calls * Number(PRICE)

  it('spend the credits of their main key', async () => {
    const child = await make(root, { name: 'reader' })
    const { headers } = await work(child)
    expect(headers['x-balance-microdollars']).to.equal(String(usd('1') - PRICE))
    expect(await spent()).to.equal(PRICE)
  })

  it('exceed no limit by a microdollar, three levels deep, with 200 concurrent calls', async () => {
    const child = await make(root, { max_total_microdollars: micros(60) })
    const grandchild = await make(child, { max_day_microdollars: micros(45) })
    const last = await make(grandchild, { max_total_microdollars: micros(20) })
    const pending = Array.from({ length: 200 }, (_, i) => work([child, grandchild, last][i % 3]!))
    const all = await Promise.all(pending)
    const served = (from: number) =>
      all.filter(({ status }, i) => status === 200 && i % 3 >= from).length
    expect(served(2), 'by the last').to.be.at.most(20)
    expect(served(1), 'by the two below').to.be.at.most(45)
    expect(served(0), 'in all').to.equal(60)
    expect(await spent()).to.equal(60n * PRICE)
    expect(await codes([work(child)])).to.deep.equal({ key_limit_reached: 1 })
    expect(await codes([work(root)])).to.deep.equal({ served: 1 })
  })

  it('are refunded for failures', async () => {
    const child = await make(root, { max_total_microdollars: micros(1) })
    expect(await work(child, 'worked/fail')).to.have.property('status', 502)
    expect(await codes([work(child), work(child)])).to.deep.equal({
      served: 1,
      key_limit_reached: 1,
    })
  })

  it('are limited by price per call and by service', async () => {
    const cheap = await make(root, { max_call_microdollars: micros(1) - 1 })
    const dear = await work(cheap)
    expect(dear.status).to.equal(403)
    expect(dear.body).to.include({ code: 'key_limit_reached', scope: 'call', key_id: cheap.id })
    const other = await make(root, { services: ['echo'] })
    const below = await make(other, { services: ['worked', 'echo'] })
    expect((await work(below)).body).to.include({ code: 'service_not_allowed' })
    const { status } = await ask(hub().url, '/proxy/echo/say', {
      key: below.secret,
      body: { words: 'hi' },
    })
    expect(status).to.equal(200)
    expect(await spent()).to.equal(100n)
  })

  it("pay sellers from their main key's credits, within their limits", async () => {
    const child = await make(root, { max_total_microdollars: 10_000 })
    const buy = () =>
      ask(hub().url, '/proxy/external', {
        key: child.secret,
        body: { url: `${hub().sandbox!.sellerUrl}/weather` },
      })
    expect(await codes([buy()])).to.deep.equal({ served: 1 })
    expect(await codes([buy()])).to.deep.equal({ key_limit_reached: 1 })
    expect(await spent()).to.equal(10_000n)
  })

  it('end with their parent, everywhere within a second (A051)', async () => {
    const child = await make(root)
    const below = await make(child)
    expect(await codes([work(below)])).to.deep.equal({ served: 1 })
    expect(await keys(root, `/${child.id}`, { method: 'DELETE' })).to.have.property('status', 200)
    hub().advanceCaches(1_000)
    expect(await codes([work(below), work(child), work(root)])).to.deep.equal({
      revoked_api_key: 2,
      served: 1,
    })
  })

  it('expire', async () => {
    const expires_at = new Date(systemClock.now().getTime() + LIFE_MS).toISOString()
    const child = await make(root, { expires_at })
    expect(await codes([work(child)])).to.deep.equal({ served: 1 })
    await sleep(LIFE_MS + 1_000)
    expect(await codes([work(child)])).to.deep.equal({ revoked_api_key: 1 })
  })

  it('keep name, credits and limits when rotated', async () => {
    const child = await make(root, { max_total_microdollars: micros(2) })
    expect(await codes([work(child)])).to.deep.equal({ served: 1 })
    const { body } = await keys(child, `/${child.id}/rotate`, {
      body: { overlap_seconds: LIFE_MS / 1_000 },
    })
    expect(body['key_id']).to.equal(child.id)
    const renewed = { id: child.id, secret: String(body['api_key']) }
    expect(await codes([work(child)]), 'the old one for a while').to.deep.equal({ served: 1 })
    expect(await codes([work(renewed)])).to.deep.equal({ key_limit_reached: 1 })
    await sleep(LIFE_MS + 1_000)
    expect(await codes([work(child)])).to.deep.equal({ revoked_api_key: 1 })
  })

  it('are listed in pages and managed only by their ancestors', async () => {
    const child = await make(root, { name: 'a', services: ['echo'], max_day_microdollars: 5 })
    const below = await make(child, { name: 'b' })
    const first = await keys(root, '?limit=2')
    expect(first.body['has_more']).to.equal(true)
    const rest = await keys(root, `?limit=2&cursor=${String(first.body['next_cursor'])}`)
    const pages = [first, rest].flatMap(({ body }) => body['data'] as Record<string, unknown>[])
    expect(pages.map(({ key_id }) => key_id)).to.deep.equal([root.id, child.id, below.id])
    expect(pages[1]).to.deep.include({ name: 'a', services: ['echo'], max_day_microdollars: 5 })
    expect(JSON.stringify(pages)).to.not.include(child.secret.slice(13))
    for (const [method, path, body] of [
      ['PATCH', `/${root.id}`, { name: 'mine' }],
      ['DELETE', `/${root.id}`, undefined],
      ['POST', `/${root.id}/rotate`, {}],
    ] as const) {
      const { status } = await keys(child, path, { method, ...(body && { body }) })
      expect(status, `${method} ${path}`).to.equal(404)
    }
    const renamed = await keys(root, `/${below.id}`, { method: 'PATCH', body: { name: 'c' } })
    expect(renamed.status).to.equal(200)
  })

  describe('whose limits change', () => {
    const change = async (by: Key, key: Key, limits: object) => {
      const response = await keys(by, `/${key.id}`, { method: 'PATCH', body: limits })
      hub().advanceCaches(1_000)
      return response
    }
    const remaining = async (key: Key) => {
      const { body } = await keys(key, `/${key.id}`)
      const { body: account } = await ask(hub().url, '/v1/wallet/balance', { key: key.secret })
      const { day_remaining_microdollars: day, total_remaining_microdollars: total } = body
      expect(account['key_limits']).to.deep.include({
        day_remaining_microdollars: day,
        total_remaining_microdollars: total,
      })
      return [day, total]
    }

    it('may spend the changed limit less what it spent, and not a microdollar more', async () => {
      const child = await make(root, {
        max_day_microdollars: micros(3),
        max_total_microdollars: micros(5),
      })
      expect(await remaining(child)).to.deep.equal([micros(3), micros(5)])
      expect(await codes([work(child), work(child)])).to.deep.equal({ served: 2 })
      expect((await change(root, child, { max_total_microdollars: micros(3) })).status).to.equal(
        200,
      )
      expect(await remaining(child)).to.deep.equal([micros(1), micros(1)])
      const lowered = await codes([work(child), work(child), work(child)])
      expect(lowered).to.deep.equal({ served: 1, key_limit_reached: 2 })
      const raised = { max_day_microdollars: micros(8), max_total_microdollars: micros(7) }
      await change(root, child, raised)
      await change(root, child, raised) // repeated: the same
      expect(await remaining(child)).to.deep.equal([micros(5), micros(4)])
      const calls = Array.from({ length: 9 }, () => work(child))
      expect(await codes(calls)).to.deep.equal({ served: 4, key_limit_reached: 5 })
      await change(root, child, { max_total_microdollars: micros(1) })
      expect(await remaining(child)).to.deep.equal([micros(1), 0])
      await change(root, child, { max_total_microdollars: null, max_day_microdollars: null })
      expect(await codes([work(child)])).to.deep.equal({ served: 1 })
      expect(await remaining(child)).to.deep.equal([null, null])
      await change(root, child, { max_total_microdollars: micros(2) })
      expect(await remaining(child), 'counts from now on').to.deep.equal([null, micros(2)])
    })

    it('may spend no more than the lowest limit that it had, under concurrent calls', async () => {
      const child = await make(root, { max_total_microdollars: micros(40) })
      expect(await codes([work(child)])).to.deep.equal({ served: 1 })
      const calls = Array.from({ length: 30 }, () => work(child))
      await change(root, child, { max_total_microdollars: micros(10) })
      const { served = 0 } = await codes(calls)
      const after = await codes(Array.from({ length: 12 }, () => work(child)))
      expect(1 + served + (after['served'] ?? 0)).to.equal(Math.max(10, 1 + served))
    })

    it('are changed by the keys above them alone, in services that exist', async () => {
      const child = await make(root, { services: ['echo'] })
      const limits = { max_call_microdollars: 5 }
      const own = await change(child, child, limits)
      expect([own.status, own.body['code']]).to.deep.equal([422, 'validation_failed'])
      expect((await change(root, root, limits)).status).to.equal(422)
      const other = await hub().agent()
      const stranger = { id: other.keyId, secret: other.apiKey }
      expect((await change(stranger, child, limits)).status).to.equal(404)
      for (const refused of [
        await change(root, child, { services: ['echo', 'ehco'] }),
        await keys(root, '', { body: { services: ['echo', 'ehco'] } }),
      ]) {
        expect([refused.status, refused.body['code']]).to.deep.equal([422, 'validation_failed'])
        expect(refused.body['detail']).to.include('/services/1').and.to.include('"ehco"')
      }
      expect(await codes([work(child)])).to.deep.equal({ service_not_allowed: 1 })
      expect((await change(root, child, { services: null })).status).to.equal(200)
      expect(await codes([work(child)])).to.deep.equal({ served: 1 })
      const past = new Date(systemClock.now().getTime() - 1_000).toISOString()
      await change(root, child, { expires_at: past })
      expect(await codes([work(child)])).to.deep.equal({ revoked_api_key: 1 })
    })
  })

  it('nest four levels deep', async () => {
    let key = root
    for (let depth = 0; depth < 4; depth++) key = await make(key)
    const { status, body } = await keys(key, '', { body: {} })
    expect([status, body['code']]).to.deep.equal([403, 'key_limit_reached'])
  })
})
