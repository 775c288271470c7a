import { expect } from 'chai'
import { usd } from '../../../core/plugin/index.ts'
import { metered } from '../../stories/metered-service.ts'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { market, variablePriceService } from './variable-price-service.ts'

const WORK = '/proxy/moving/work'

describe('quotes and dry runs', () => {
  const hub = useHub({ plugins: [variablePriceService, metered('metered')] })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  beforeEach(() => {
    market.price = 1_000n
  })
  const call = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(hub().url, path, { key: ada.apiKey, body, headers })

  describe('a quote', () => {
    const quote = (more: object = {}, key = ada.apiKey) =>
      ask(hub().url, '/v1/quotes', {
        key,
        body: { slug: 'moving', path: '/work', input: { n: 1 }, ...more },
      })

    it('guarantees its price for exactly the quoted request', async () => {
      const { status, body } = await quote()
      expect(status).to.equal(201)
      expect(body).to.include({ price_microdollars: 1_000, method: 'POST' })
      market.price = 5_000n
      const headers = { 'x-quote-id': String(body['quote_id']) }
      const held = await call(WORK, { n: 1 }, headers)
      expect(held.headers['x-charged-microdollars']).to.equal('1000')
      const other = await call(WORK, { n: 2 }, headers)
      expect([other.status, other.body['code']]).to.deep.equal([422, 'quote_mismatch'])
      const without = await call(WORK, { n: 1 })
      expect(without.headers['x-charged-microdollars']).to.equal('5000')
    })

    it('does not make a call more expensive than the current price', async () => {
      const { body } = await quote()
      market.price = 400n
      const { headers } = await call(WORK, { n: 1 }, { 'x-quote-id': String(body['quote_id']) })
      expect(headers['x-charged-microdollars']).to.equal('400')
    })

    /** Changes a quote as if the price had been of that unit, or fixed, when it was made. */
    const requote = (id: unknown, amount: bigint, unit: string | null) =>
      hub().database.admin.query(
        `WITH quoted AS (INSERT INTO hub.price (endpoint, version, amount, computed, commission_bps,
             unit, unit_amount, unit_per)
           SELECT p.endpoint, 1 + max(p.version), $2, false, 1000, $3::text,
             CASE WHEN $3 IS NOT NULL THEN 1 END, CASE WHEN $3 IS NOT NULL THEN 1 END
           FROM hub.quote q JOIN hub.price p USING (endpoint) WHERE q.id = $1 GROUP BY p.endpoint
           RETURNING version)
         UPDATE hub.quote SET amount = $2, price_version = (SELECT version FROM quoted)
         WHERE id = $1`,
        [id, amount, unit],
      )

    it('is a fixed price if it was metered and the price is fixed now', async () => {
      const { body } = await quote()
      await requote(body['quote_id'], 400n, 'tokens')
      const { status, headers } = await call(
        WORK,
        { n: 1 },
        { 'x-quote-id': String(body['quote_id']) },
      )
      expect([status, headers['x-charged-microdollars']]).to.deep.equal([200, '400'])
    })

    for (const unit of [null, 'pages']) {
      it(`is a limit if the price is metered now (quoted unit: ${unit})`, async () => {
        const input = { steps: [{ meter: 400, send: 'a' }] }
        const { body } = await quote({ slug: 'metered', path: '/whole', input })
        await requote(body['quote_id'], 300n, unit)
        const quoted = { 'x-quote-id': String(body['quote_id']) }
        const { status, headers } = await call('/proxy/metered/whole', input, quoted)
        // The most whole tokens for 300.
        expect([status, headers['x-charged-microdollars']]).to.deep.equal([200, '299'])
      })
    }

    it('covers the query of a GET', async () => {
      const { body } = await quote({ method: 'GET', input: { n: 3 } })
      market.price = 5_000n
      const { headers } = await ask(hub().url, `${WORK}?n=3`, {
        key: ada.apiKey,
        headers: { 'x-quote-id': String(body['quote_id']) },
      })
      expect(headers['x-charged-microdollars']).to.equal('1000')
    })

    it('belongs to its key and expires after five minutes', async () => {
      const { body } = await quote()
      const headers = { 'x-quote-id': String(body['quote_id']) }
      const eve = await hub().agent()
      await hub().credit(eve.keyId, usd('1'))
      const foreign = await ask(hub().url, WORK, { key: eve.apiKey, body: { n: 1 }, headers })
      expect([foreign.status, foreign.body['code']]).to.deep.equal([404, 'quote_not_found'])
      await hub().database.admin.query(
        `UPDATE hub.quote SET expires_at = now() - interval '1 second' WHERE id = $1`,
        [body['quote_id']],
      )
      const late = await call(WORK, { n: 1 }, headers)
      expect([late.status, late.body['code']]).to.deep.equal([410, 'quote_expired'])
    })

    it('is not created for invalid input or for external prices', async () => {
      expect((await quote({ input: {} })).body['code']).to.equal('validation_failed')
      expect((await quote({ slug: 'nowhere' })).body['code']).to.equal('service_not_found')
      const outside = await quote({ slug: 'external', path: '/', input: {} })
      expect(outside.body['code']).to.equal('not_quotable')
    })
  })

  it('A066 a price increase during a call does not affect that call', async () => {
    const before = await hub().balance(ada.keyId)
    market.during = async () => void (market.price = 5_000n)
    const { status, headers } = await call(WORK, { n: 1 })
    market.during = async () => {}
    expect([status, headers['x-charged-microdollars']]).to.deep.equal([200, '1000'])
    expect(before - (await hub().balance(ada.keyId))).to.equal(1_000n)
    const record = await ask(hub().url, `/v1/calls/${String(headers['x-call-id'])}`, {
      key: ada.apiKey,
    })
    expect(record.body).to.include({ reserved_microdollars: 1_000, charged_microdollars: 1_000 })
    const next = await call(WORK, { n: 1 })
    expect(next.headers['x-charged-microdollars']).to.equal('5000')
    expect(await hub().hub.ledger.balance('liabilities:holds')).to.equal(0n)
  })

  describe('a dry run', () => {
    it('returns price, payment source and remaining balance without running the call', async () => {
      const before = await hub().balance(ada.keyId)
      const ran = market.runs
      for (const [path, headers] of [
        [`${WORK}?dry_run`, {}],
        [WORK, { 'x-dry-run': 'true' }],
      ] as const) {
        const { status, headers: dry, body } = await call(path, { n: 1 }, headers)
        expect(status).to.equal(200)
        expect(dry['content-type']).to.equal('application/vnd.agenthub.dry-run+json')
        expect(dry['x-charged-microdollars']).to.equal('0')
        expect(body).to.include({
          dry_run: true,
          price_microdollars: 1_000,
          source: 'credits',
          balance_microdollars: Number(before),
          balance_after_microdollars: Number(before) - 1_000,
        })
      }
      expect(market.runs).to.equal(ran)
      expect(await hub().balance(ada.keyId)).to.equal(before)
    })

    it('counts free calls without using one', async () => {
      const bob = await hub().agent()
      const dry = () =>
        ask(hub().url, '/proxy/analysis/sentiment?dry_run', {
          key: bob.apiKey,
          body: { text: 'a' },
        })
      for (let i = 0; i < 2; i++) {
        expect((await dry()).body).to.include({ source: 'free', free_calls_after: 14 })
      }
    })

    it('fails if the call would fail', async () => {
      const poor = await hub().agent()
      const broke = await ask(hub().url, `${WORK}?dry_run=1`, { key: poor.apiKey, body: { n: 1 } })
      expect([broke.status, broke.body['code']]).to.deep.equal([402, 'insufficient_credits'])
      expect((await call(`${WORK}?dry_run`, {})).body['code']).to.equal('validation_failed')
      expect((await call(`${WORK}?dry_run=maybe`, { n: 1 })).status).to.equal(422)
    })

    it('is off for dry_run=false', async () => {
      const { headers } = await call(`${WORK}?dry_run=false`, { n: 1 })
      expect(headers['x-charged-microdollars']).to.equal('1000')
    })
  })
})
