import { createHash, createPublicKey, verify } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { canonicalJson } from '../../../core/canonical-json.ts'
import { defineService, micros, Reply, s, usd } from '../../../core/plugin.ts'
import { ask, type Told } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

let price = 1_000n
let runs = 0

/** Its price moves, and it counts how often it works. */
const moving = defineService({
  slug: 'moving',
  name: 'Moving',
  category: 'test',
  summary: 'Has a price that moves.',
  provider: 'example',
  endpoints: {
    'POST /work': {
      summary: 'Works.',
      price: { max: usd('0.01'), of: () => ({ amount: micros(price) }) },
      input: s.object({ n: s.integer() }),
      handle: ({ input }) => {
        runs++
        return { n: input.n }
      },
    },
    'GET /work': {
      summary: 'Works on a query.',
      price: { max: usd('0.01'), of: () => ({ amount: micros(price) }) },
      input: s.object({ n: s.integer() }),
      handle: ({ input }) => ({ n: input.n }),
    },
    'POST /stream': {
      summary: 'Answers piece by piece.',
      price: usd('0.001'),
      input: s.object({}),
      handle: () =>
        new Reply(Readable.from([Buffer.from('data: 1\n\n'), Buffer.from('data: 2\n\n')])),
    },
    'POST /fails': {
      summary: 'Fails.',
      price: usd('0.001'),
      input: s.object({}),
      handle: () => {
        throw new Error('broken')
      },
    },
    'POST /missing': {
      summary: 'Finds nothing.',
      price: usd('0.001'),
      input: s.object({}),
      handle: () => new Reply({ found: false }, { status: 404 }),
    },
  },
})

const WORK = '/proxy/moving/work'
const sha = (data: string): string => createHash('sha256').update(data).digest('base64url')
const claimsOf = (receipt: unknown) =>
  JSON.parse(Buffer.from(String(receipt).split('.')[1]!, 'base64url').toString()) as Told['body']

describe('receipts, quotes and dry runs', () => {
  const hub = useHub({ plugins: [moving] })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  beforeEach(() => {
    price = 1_000n
  })
  const call = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(hub().url, path, { key: ada.apiKey, body, headers })
  const callOf = (id: unknown) => ask(hub().url, `/v1/calls/${String(id)}`, { key: ada.apiKey })
  const verdict = (receipt: unknown) => ask(hub().url, '/v1/receipts/verify', { body: { receipt } })

  describe('a receipt', () => {
    it('states what was asked, answered and charged, and anybody can verify it by the JWKS', async () => {
      const { headers, text } = await call(WORK, { n: 7 })
      const receipt = String(headers['x-receipt'])
      const [head = '', body = '', signature = ''] = receipt.split('.')
      const { kid, alg } = JSON.parse(Buffer.from(head, 'base64url').toString())
      expect(alg).to.equal('EdDSA')
      const { body: jwks } = await ask(hub().url, '/.well-known/jwks.json')
      const jwk = (jwks['keys'] as { kid: string }[]).find((one) => one.kid === kid)
      const key = createPublicKey({ key: jwk as never, format: 'jwk' })
      const good = verify(
        null,
        Buffer.from(`${head}.${body}`),
        key,
        Buffer.from(signature, 'base64url'),
      )
      expect(good).to.equal(true)
      expect(claimsOf(receipt)).to.include({
        iss: hub().url,
        jti: headers['x-call-id'],
        sub: ada.keyId,
        endpoint: 'POST /moving/work',
        charged_microdollars: 1_000,
        source: 'credits',
        outcome: 'delivered',
        status: 200,
        request_sha256: sha(`POST /moving/work\n${canonicalJson({ n: 7 })}`),
        response_sha256: sha(text),
        ledger_entry: headers['x-call-id'],
      })
      expect(receipt.length, 'fits into any header').to.be.below(2_000)
    })

    it('is the same when the call is looked up, with its state and charge', async () => {
      const { headers } = await call(WORK, { n: 8 })
      const { status, body } = await callOf(headers['x-call-id'])
      expect(status).to.equal(200)
      expect(body).to.include({
        state: 'charged',
        source: 'credits',
        charged_microdollars: 1_000,
        receipt: headers['x-receipt'],
        answer: null,
      })
    })

    it('is verified by the hub, which says whether its books agree', async () => {
      const { headers } = await call(WORK, { n: 9 })
      await callOf(headers['x-call-id'])
      expect((await verdict(headers['x-receipt'])).body).to.deep.include({
        valid: true,
        reason: null,
        books: 'agree',
      })
    })

    it('does not survive the change of one character', async () => {
      const receipt = String((await call(WORK, { n: 1 })).headers['x-receipt'])
      const [head, body, signature = ''] = receipt.split('.')
      const other = Buffer.from(JSON.stringify({ ...claimsOf(receipt), charged_microdollars: 1 }))
      const forged: Readonly<Record<string, string>> = {
        [`${head}.${other.toString('base64url')}.${signature}`]: 'bad_signature',
        [`${head}.${body}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`]:
          'bad_signature',
        [`${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.${signature}`]:
          'malformed',
        [`${Buffer.from('{"alg":"EdDSA","kid":"other","typ":"agenthub-receipt+jws"}').toString(
          'base64url',
        )}.${body}.${signature}`]: 'unknown_key',
        'no receipt': 'malformed',
      }
      for (const [text, reason] of Object.entries(forged)) {
        expect((await verdict(text)).body, text).to.deep.include({ valid: false, reason })
      }
    })

    it('of a stream lies at the call, with the hash of all that was sent', async () => {
      const { headers, text } = await call('/proxy/moving/stream', {})
      expect(headers).not.to.have.property('x-receipt')
      const { body } = await callOf(headers['x-call-id'])
      expect(claimsOf(body['receipt'])).to.include({ response_sha256: sha(text) })
    })

    it('of a call that failed says that nothing was charged', async () => {
      const failed = await call('/proxy/moving/fails', {})
      expect(failed.body).to.deep.include({
        code: 'plugin_failed',
        charged_microdollars: 0,
        call_id: failed.headers['x-call-id'],
        refund: { source: 'credits', amount_microdollars: 1_000, reason: 'handler_threw' },
      })
      expect(failed.headers['x-refund-reason']).to.equal('handler_threw')
      const { body } = await callOf(failed.headers['x-call-id'])
      expect(body).to.include({
        state: 'released',
        reason: 'plugin_failed',
        charged_microdollars: 0,
      })
      expect(claimsOf(body['receipt'])).to.include({ outcome: 'failed', charged_microdollars: 0 })
    })

    it('of an answer that is no success tells the reason of the refund', async () => {
      const { status, headers } = await call('/proxy/moving/missing', {})
      expect(status).to.equal(404)
      expect(headers).to.include({ 'x-charged-microdollars': '0', 'x-refund-reason': 'status_404' })
      await callOf(headers['x-call-id'])
      const { body } = await ask(hub().url, '/v1/credits/history?limit=1', { key: ada.apiKey })
      const [item] = body['data'] as Record<string, unknown>[]
      expect(item).to.include({ event: 'call.released', reason: 'status_404' })
    })
  })

  it('a call that was keyed keeps its answer for the key that made it, and for no other', async () => {
    const { headers } = await call(WORK, { n: 5 }, { 'idempotency-key': 'kept-1' })
    const { body } = await callOf(headers['x-call-id'])
    expect(body['answer']).to.deep.equal({
      status: 200,
      content_type: 'application/json',
      encoding: 'json',
      body: { n: 5 },
    })
    const eve = await hub().agent()
    const path = `/v1/calls/${String(headers['x-call-id'])}`
    const { status, body: told } = await ask(hub().url, path, { key: eve.apiKey })
    expect([status, told['code']]).to.deep.equal([404, 'not_found'])
  })

  describe('a quote', () => {
    const quote = (more: object = {}, key = ada.apiKey) =>
      ask(hub().url, '/v1/quotes', {
        key,
        body: { slug: 'moving', path: '/work', input: { n: 1 }, ...more },
      })

    it('holds its price though it rises, for exactly the request that was quoted', async () => {
      const { status, body } = await quote()
      expect(status).to.equal(201)
      expect(body).to.include({ price_microdollars: 1_000, method: 'POST' })
      price = 5_000n
      const headers = { 'x-quote-id': String(body['quote_id']) }
      const held = await call(WORK, { n: 1 }, headers)
      expect(held.headers['x-charged-microdollars']).to.equal('1000')
      const other = await call(WORK, { n: 2 }, headers)
      expect([other.status, other.body['code']]).to.deep.equal([422, 'quote_mismatch'])
      const without = await call(WORK, { n: 1 })
      expect(without.headers['x-charged-microdollars']).to.equal('5000')
    })

    it('does not make a call dearer than it is today', async () => {
      const { body } = await quote()
      price = 400n
      const { headers } = await call(WORK, { n: 1 }, { 'x-quote-id': String(body['quote_id']) })
      expect(headers['x-charged-microdollars']).to.equal('400')
    })

    it('of a GET is for its query', async () => {
      const { body } = await quote({ method: 'GET', input: { n: 3 } })
      price = 5_000n
      const { headers } = await ask(hub().url, `${WORK}?n=3`, {
        key: ada.apiKey,
        headers: { 'x-quote-id': String(body['quote_id']) },
      })
      expect(headers['x-charged-microdollars']).to.equal('1000')
    })

    it('is the key’s own, and ends after five minutes', async () => {
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

    it('is not given for bad input, nor for the price of somebody else', async () => {
      expect((await quote({ input: {} })).body['code']).to.equal('validation_failed')
      expect((await quote({ slug: 'nowhere' })).body['code']).to.equal('service_not_found')
      const outside = await quote({ slug: 'external', path: '/', input: {} })
      expect(outside.body['code']).to.equal('not_quotable')
    })
  })

  describe('a dry run', () => {
    it('tells price, payer and what would be left; nothing runs and nothing moves', async () => {
      const before = await hub().balance(ada.keyId)
      const ran = runs
      for (const [path, headers] of [
        [`${WORK}?dry_run`, {}],
        [WORK, { 'x-dry-run': 'true' }],
      ] as const) {
        const { status, headers: told, body } = await call(path, { n: 1 }, headers)
        expect(status).to.equal(200)
        expect(told['content-type']).to.equal('application/vnd.agenthub.dry-run+json')
        expect(told['x-charged-microdollars']).to.equal('0')
        expect(body).to.include({
          dry_run: true,
          price_microdollars: 1_000,
          source: 'credits',
          balance_microdollars: Number(before),
          balance_after_microdollars: Number(before) - 1_000,
        })
      }
      expect(runs).to.equal(ran)
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

    it('is refused where the call would be', async () => {
      const poor = await hub().agent()
      const broke = await ask(hub().url, `${WORK}?dry_run=1`, { key: poor.apiKey, body: { n: 1 } })
      expect([broke.status, broke.body['code']]).to.deep.equal([402, 'insufficient_credits'])
      expect((await call(`${WORK}?dry_run`, {})).body['code']).to.equal('validation_failed')
      expect((await call(`${WORK}?dry_run=maybe`, { n: 1 })).status).to.equal(422)
    })

    it('answers no to no: dry_run=false is a call', async () => {
      const { headers } = await call(`${WORK}?dry_run=false`, { n: 1 })
      expect(headers['x-charged-microdollars']).to.equal('1000')
    })
  })
})
