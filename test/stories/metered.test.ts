import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { Client, type Dispatcher } from 'undici'
import { systemClock } from '../../core/clock.ts'
import { parseEntry } from '../../core/hosting/entry.ts'
import { type HostedPlugin, hostPlugin } from '../../core/hosting/host-plugin.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { createLog } from '../../core/log.ts'
import { usd } from '../../core/money.ts'
import type { AnyService } from '../../core/plugin/index.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { injectedHost } from '../support/injected-host.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import { COVERED, type ListedCall, MAX, metered, RATE, type Step } from './metered-service.ts'

const APART = fileURLToPath(new URL('./metered-plugin.ts', import.meta.url))
const deps = {
  host: { ...injectedHost, clock: systemClock },
  databaseUrl: '',
  log: createLog('silent'),
  passwordsOf: () => [''] as const,
}
const settings = { memoryMb: 128, node: '/bin/false', backOffMs: [0, 0] }

const priceOf = (tokens: bigint): bigint => (tokens * RATE.amount + RATE.per - 1n) / RATE.per
const say = (tokens: number, text: string): Step => ({ meter: tokens, send: text })

describe('a metered price', () => {
  let apart: HostedPlugin
  const hub = useHub(async () => {
    apart = await hostPlugin(parseEntry(`${APART}=worker`), deps, settings)
    return {
      plugins: [metered('metered'), metered('free-tokens', 1_000), apart.declaration as AnyService],
    }
  })
  after(() => apart.close())
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })

  const call = (path: string, steps: readonly Step[], headers: Record<string, string> = {}) =>
    ask(hub().url, `/proxy/${path}`, { key: ada.apiKey, body: { steps }, headers })
  const callOf = async (id: unknown) =>
    (await ask(hub().url, `/v1/calls/${String(id)}`, { key: ada.apiKey })).body
  const over = async (id: unknown) => {
    let call: ApiResponse['body'] = {}
    await eventually(async () => {
      call = await callOf(id)
      return call['state'] !== 'held' && call['receipt'] !== null
    })
    return call
  }
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const holds = () => hub().hub.ledger.balance('liabilities:holds')

  it('reserves the maximum, charges the usage and releases the rest', async () => {
    const response = await call('metered/whole', [say(100, 'a'), say(50, 'b')])
    expect(response.body).to.deep.equal({ text: 'ab' })
    expect(response.headers).to.include({
      'x-charged-microdollars': '350',
      'x-usage': 'tokens;quantity=150;price_microdollars=7;per=3',
    })
    expect([await spent(), await holds()]).to.deep.equal([350n, 0n])
    const usage = { unit: 'tokens', quantity: 150, price_microdollars: 7, per: 3 }
    expect(claimsOf(response.headers['x-receipt'])).to.deep.include({
      usage,
      charged_microdollars: 350,
    })
    const shown = await over(response.headers['x-call-id'])
    expect(shown).to.deep.include({ usage, reserved_microdollars: 1_000, state: 'charged' })
    expect(claimsOf(shown['receipt'])).to.deep.equal(claimsOf(response.headers['x-receipt']))
    for (const path of ['/v1/calls', '/v1/credits/history']) {
      const { body } = await ask(hub().url, path, { key: ada.apiKey })
      expect((body['data'] as object[])[0], path).to.deep.include({ usage })
    }
  })

  it('charges the maximum, and no more, for more usage than it covers', async () => {
    for (const slug of ['metered', 'metered-apart']) {
      const { headers, body } = await call(`${slug}/whole`, [say(400, 'a'), say(10_000_000, 'b')])
      expect(body).to.deep.equal({ text: 'a' })
      expect(headers).to.include({
        'x-charged-microdollars': String(priceOf(COVERED)),
        'x-usage': `tokens;quantity=${COVERED};price_microdollars=7;per=3`,
      })
    }
  })

  it('costs nothing without usage', async () => {
    const { headers } = await call('metered/whole', [{ send: 'a' }])
    expect(headers).to.include({ 'x-charged-microdollars': '0' })
    expect([await spent(), await holds()]).to.deep.equal([0n, 0n])
  })

  it('ends a stream with what was sent before the maximum was reached', async () => {
    const steps = Array.from({ length: 100 }, (_, i) => say(10, `${i} `))
    const lines = steps.slice(0, 42).map(({ send }) => send)
    for (const slug of ['metered', 'metered-apart']) {
      const { headers, text } = await call(`${slug}/stream`, steps)
      expect(text, slug).to.equal(lines.join(''))
      const shown = await over(headers['x-call-id'])
      expect(shown, slug).to.deep.include({
        state: 'charged',
        charged_microdollars: 999,
        reason: 'max_price_reached',
        usage: { unit: 'tokens', quantity: 428, price_microdollars: 7, per: 3 },
      })
    }
  })

  it('charges what was used when the reader leaves, or all if it can be repeated', async () => {
    const long = { meter: 30, bytes: 1_100_000 } // too long to be stored
    for (const [headers, first, tokens] of [
      [{}, say(30, 'a'), 30n],
      [{ 'idempotency-key': 'later' }, say(30, 'a'), 90n],
      [{ 'idempotency-key': 'never' }, long, 60n],
    ] as const) {
      const before = await spent()
      const client = new Client(hub().url)
      const answer = await client.request({
        method: 'POST',
        path: '/proxy/metered/stream',
        headers: {
          authorization: `Bearer ${ada.apiKey}`,
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({
          steps: [first, { waitMs: 500 }, say(30, 'b'), { waitMs: 300 }, say(30, 'c')],
        }),
      })
      await new Promise((resolve) => answer.body.once('data', resolve))
      answer.body.on('error', () => undefined)
      await client.destroy()
      await over(answer.headers['x-call-id'])
      expect((await spent()) - before).to.equal(priceOf(tokens))
    }
  })

  it('is refused where the handler breaks its contract', async () => {
    for (const end of ['other-unit', 'overcharge'] as const) {
      for (const slug of ['metered', 'metered-apart']) {
        const { status, body } = await call(`${slug}/whole`, [say(10, 'a'), { end }])
        expect(status, `${slug} ${end}`).to.equal(502)
        expect(body, `${slug} ${end}`).to.include({ code: 'plugin_contract' })
      }
    }
    const response = await ask(hub().url, '/proxy/metered/fixed', { key: ada.apiKey, body: {} })
    expect(response.body).to.include({ code: 'plugin_contract' })
    expect([await spent(), await holds()]).to.deep.equal([0n, 0n])
  })

  it('spends free units while they cover the maximum, then credits', async () => {
    for (const [source, charged] of [
      ['free', '0'],
      ['free', '0'],
      ['credits', '999'],
    ] as const) {
      const { headers } = await call('free-tokens/whole', [say(400, 'a'), say(28, 'b')])
      expect(headers).to.include({ 'x-payment-source': source, 'x-charged-microdollars': charged })
    }
    const { body } = await ask(hub().url, '/v1/wallet/balance', { key: ada.apiKey })
    const left = (body['free_calls'] as { service: string }[]).find(
      ({ service }) => service === 'free-tokens',
    )
    expect(left).to.deep.include({ unit: 'tokens', remaining: 1_000 - 2 * 428 })
  })

  it('is shown with unit and unit price', async () => {
    const { body } = await ask(hub().url, '/v1/services/metered')
    const shown = (body['endpoints'] as { path: string }[]).find(({ path }) => path === '/whole')
    expect(shown).to.deep.include({
      price_microdollars: 1_000,
      price_is_maximum: true,
      metered: { unit: 'tokens', quantity: 428, price_microdollars: 7, per: 3 },
    })
    const page = await ask(hub().url, '/services/metered', { headers: { accept: 'text/html' } })
    expect(page.text)
      .to.contain('$0.000007 for 3 tokens, up to $0.001')
      .and.to.contain('<dt>Price per call</dt><dd>up to $0.001</dd>')
  })

  describe('in any interleaving of usage reports, disconnects and kills', () => {
    const anyStep: fc.Arbitrary<Step> = fc.oneof(
      { weight: 6, arbitrary: fc.record({ meter: fc.nat(200), send: fc.constant('x') }) },
      { weight: 2, arbitrary: fc.record({ send: fc.constant('y'), waitMs: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ meter: fc.nat(2 ** 40) }) },
    )
    const anyEnd = fc.option(
      fc.constantFrom<NonNullable<Step['end']>>('fail', 'exit', 'hang', 'other-unit', 'overcharge'),
      { freq: 3, nil: undefined },
    )

    /** Sends a call and leaves after some time, if the plan says so. */
    const begin = async (
      path: string,
      steps: readonly Step[],
      leavesAfterMs: number | undefined,
    ): Promise<Dispatcher.ResponseData['headers'] | undefined> => {
      const client = new Client(hub().url)
      const leaves = leavesAfterMs !== undefined
      const leave = leaves ? setTimeout(() => void client.destroy(), leavesAfterMs) : undefined
      try {
        const answer = await client.request({
          method: 'POST',
          path: `/proxy/${path}`,
          headers: { authorization: `Bearer ${ada.apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ steps }),
        })
        await answer.body.text().catch(() => undefined)
        return answer.headers
      } catch {
        return undefined
      } finally {
        clearTimeout(leave)
        await client.destroy()
      }
    }

    it('A300 charges at most the usage and the maximum, once, and leaves no hold', async () => {
      const known = new Set<string>()
      let begun = 0
      const plan = fc.record({
        slug: fc.constantFrom('metered', 'metered-apart', 'free-tokens'),
        endpoint: fc.constantFrom('stream', 'whole'),
        steps: fc.array(anyStep, { maxLength: 12 }),
        end: anyEnd,
        leavesAfterMs: fc.option(fc.nat(60), { nil: undefined }),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 8 }), async (plans) => {
          const before = await spent()
          await Promise.all(
            plans.map(async ({ slug, endpoint, steps, end, leavesAfterMs }) => {
              const kill = end === 'exit' && slug !== 'metered-apart' ? 'fail' : end
              const all = kill === undefined ? steps : [...steps, { end: kill }]
              await begin(`${slug}/${endpoint}`, all, leavesAfterMs)
            }),
          )
          begun += plans.length
          let calls: readonly ListedCall[] = []
          // A request whose caller left may arrive after the others have ended.
          await eventually(async () => {
            const { body } = await ask(hub().url, '/v1/calls?limit=100', { key: ada.apiKey })
            calls = (body['data'] as ListedCall[]).filter(({ id }) => !known.has(id))
            const sum = calls.reduce((total, call) => total + BigInt(call.charged_microdollars), 0n)
            return (await holds()) === 0n && (await spent()) - before === sum
          })
          for (const { id } of calls) known.add(id)
          expect(known.size).to.be.at.most(begun)
          for (const { charged_microdollars: charged, usage, source } of calls) {
            const quantity = BigInt(usage?.quantity ?? 0)
            expect(quantity <= COVERED).to.equal(true)
            expect(BigInt(charged)).to.equal(source === 'credits' ? priceOf(quantity) : 0n)
            expect(BigInt(charged) <= MAX).to.equal(true)
          }
        }),
        { numRuns: 15, endOnFailure: true },
      )
      expect(await verifyLedger(hub().hub.pool)).to.have.property('ok', true)
    }).timeout(180_000)
  })

  it('charges the quoted price of units if it is lower than the present one', async () => {
    const order = { slug: 'metered', path: '/whole', input: { steps: [say(3, 'a')] } }
    const metered = { unit: 'tokens', quantity: 428, price_microdollars: 7, per: 3 }
    const { admin } = hub().database
    for (const [unitAmount, charged] of [
      [6, '6'], // the price has risen since the quote
      [9, '7'], // it has fallen
    ] as const) {
      const { body } = await ask(hub().url, '/v1/quotes', { key: ada.apiKey, body: order })
      expect(body).to.deep.include({ price_microdollars: 1_000, metered })
      const id = String(body['quote_id'])
      await admin.query(
        `WITH quoted AS (INSERT INTO hub.price (endpoint, version, amount, computed, commission_bps,
             since, unit, unit_amount, unit_per)
           SELECT p.endpoint, 100 + $2, p.amount, p.computed, p.commission_bps, p.since, p.unit, $2,
             p.unit_per
           FROM hub.quote q JOIN hub.price p USING (endpoint)
           WHERE q.id = $1 AND p.version = q.price_version RETURNING version)
         UPDATE hub.quote SET price_version = (SELECT version FROM quoted) WHERE id = $1`,
        [id, unitAmount],
      )
      const response = await call('metered/whole', order.input.steps, { 'x-quote-id': id })
      expect(response.headers).to.include({ 'x-charged-microdollars': charged })
    }
    const dry = await call('metered/whole', order.input.steps, { 'x-dry-run': 'true' })
    expect(dry.body).to.deep.include({ price_microdollars: 1_000, metered })
  })
})
