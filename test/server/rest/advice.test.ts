import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { FAULTS } from '../../../core/errors.ts'
import { usd } from '../../../core/money.ts'
import { findMisfits } from '../../support/advice.ts'
import { type ApiResponse, ask, type RequestOptions } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { readOpenApi } from '../../support/openapi.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from '../mcp/ask.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** Files whose texts are advice. */
const ADVICE_FILES = [
  'core/request-faults.ts',
  'core/server-faults.ts',
  'core/guidance.ts',
  'core/usage/rate-limit.ts',
  'core/usage/key-transfers.ts',
  'core/webhooks/webhooks.ts',
  'core/identity/provider-keys.ts',
  'server/proxy/payment-required.ts',
]
const ROUTE = /\b(GET|POST|PUT|PATCH|DELETE) (\/[\w/{}-]+)/g

interface Operation {
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
}

describe('the advice of a problem', () => {
  const hub = useHub()
  let ada: TestAgent
  let operations: readonly Operation[]
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1')) // for the higher rate limit
    const { body } = await readOpenApi(hub().url)
    type Item = Record<string, { parameters?: readonly { in: string; name: string }[] }>
    operations = Object.entries(body['paths'] as Record<string, Item>).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { parameters = [] }]) => ({
        method: method.toUpperCase(),
        path,
        query: parameters.filter((each) => each.in === 'query').map(({ name }) => name),
      })),
    )
  })
  const get = (path: string, options: RequestOptions = {}): Promise<ApiResponse> =>
    ask(hub().url, path, { key: ada.apiKey, ...options })

  it('names routes that exist, and links to a page of its code', async () => {
    const known = new Set(operations.map(({ method, path }) => `${method} ${path}`))
    for (const file of ADVICE_FILES) {
      const text = readFileSync(join(ROOT, file), 'utf8')
      for (const [route] of text.matchAll(ROUTE)) expect(known, file).to.include(route)
    }
    for (const code of Object.keys(FAULTS)) {
      const page = await fetch(`${hub().url}/docs/problems/${code}`)
      expect(page.status, code).to.equal(200)
      await page.body?.cancel()
    }
  })

  it('fits whatever is wrong with a request of any route', async () => {
    let refused = 0
    for (const [i, { method, path, query }] of operations.entries()) {
      const target = path.replaceAll(/\{\w+\}/g, 'none')
      const isBody = method !== 'GET' && method !== 'DELETE'
      const wrong: readonly (readonly [string, RequestOptions])[] = [
        [target, { method, key: undefined, ...(isBody && { body: {} }) }],
        ...(i < 5
          ? [[target, { method, key: 'ahk_wrong', body: isBody ? {} : undefined }] as const]
          : []),
        [target, { method, ...(isBody && { body: { unknown_member: 1 } }) }],
        ...(isBody ? [[target, { method, body: '[' }] as const] : []),
        ...(query.includes('limit') ? [[`${target}?limit=1000`, { method }] as const] : []),
      ]
      for (const [address, options] of wrong) {
        const { status } = await get(address, options) // throws if the advice does not fit
        if (status >= 400) refused++
      }
    }
    expect(refused).to.be.above(operations.length)
  })

  it('states the range of a limit, and where a key comes from', async () => {
    const { body } = await get('/v1/credits/history?limit=1000')
    const [issue] = body['issues'] as readonly { path: string; message: string }[]
    expect(issue!.path).to.equal('/limit')
    expect(issue!.message).to.match(/\b100\b/)
    const { body: keyless } = await get('/v1/keys', { key: undefined })
    expect(keyless['advice']).to.include('GET /v1/register/challenge')
    const { body: cursor } = await get('/v1/credits/history?cursor=x')
    expect(cursor['advice']).to.not.include('issues')
  })

  it('offers no way to pay that the request does not have', async () => {
    const order = { body: { amount_microdollars: 5_000_000 } }
    const { body: purchase } = await get('/v1/credits/purchase', order)
    expect(purchase['advice']).to.include('via x402').and.not.include('buy credits')
    const say = { body: { words: 'hello' } }
    const { apiKey: key } = await hub().agent()
    const { body: unpaid } = await get('/proxy/echo/say', { ...say, key })
    expect(unpaid['advice']).to.equal(
      'Pay this request via x402 or MPP, or buy credits: POST /v1/credits/purchase.',
    )
    const { body: keyless } = await get('/proxy/echo/say', { ...say, key: undefined })
    expect(keyless['advice']).to.include('register for a key, GET /v1/register/challenge')
  })

  it('names the limit of a sub-key, and when it resets', async () => {
    const make = async (limits: object) =>
      String((await get('/v1/keys', { body: limits })).body['api_key'])
    const say = (key: string) => get('/proxy/echo/say', { key, body: { words: 'hello' } })
    for (const scope of ['call', 'day', 'total'] as const) {
      const key = await make({ [`max_${scope}_microdollars`]: 50 })
      for (const refused of [
        await say(key),
        await get('/proxy/echo/say?dry_run', { key, body: { words: 'hello' } }),
      ]) {
        const { body } = refused
        expect(body).to.include({ code: 'key_limit_reached', scope, limit_microdollars: 50 })
        expect(body['detail']).to.match(
          /^This call costs 100 microdollars; key_\w+ may spend 50 microdollars /,
        )
        expect(body['resets_at'] !== undefined, scope).to.equal(scope === 'day')
      }
    }
  })

  it('names the rate limit, when it resets, and that credits raise it', async () => {
    const { apiKey: key } = await hub().agent()
    const requests = Array.from({ length: 101 }, () => get('/v1/credits/balance', { key }))
    const limited = (await Promise.all(requests)).find(({ status }) => status === 429)
    expect(limited?.body['advice']).to.match(/credits .* 1000 requests per minute instead of 100/)
    const reset = String(limited?.headers['x-ratelimit-reset'])
    expect(limited?.body['detail']).to.equal(
      `The limit "free" allows 100 requests in 60 seconds. It resets in ${reset} s.`,
    )
  })

  describe('on a purchase from a seller', () => {
    const weather = () => `${hub().sandbox!.sellerUrl}/weather`
    const buy = (more: object = {}, options: RequestOptions = {}, query = '') =>
      get(`/proxy/external${query}`, { body: { url: weather(), ...more }, ...options })

    it('names the price of the seller to a key without credits, by every entry point', async () => {
      const { apiKey: key } = await hub().agent()
      for (const query of ['', '?dry_run']) {
        const { body } = await buy({}, { key }, query)
        expect(body).to.include({ code: 'insufficient_credits', price_microdollars: 10_000 })
        expect(body['detail']).to.equal(
          'This call costs 10000 microdollars. 0 microdollars are available.',
        )
        expect(body['advice']).to.equal('Buy credits: POST /v1/credits/purchase.')
      }
      const args = { url: weather(), max_price_usd: '0.05' }
      const { data } = await callTool(hub(), key, 'hub_call_external', args)
      expect(data).to.include({ error: 'insufficient_credits', price_usd: '0.01' })
      expect(data['next']).to.not.include('x402')
    })

    it('names an input error to a key without credits', async () => {
      const { apiKey: key } = await hub().agent()
      const { body } = await get('/proxy/external', { key, body: {} })
      expect(body).to.include({ code: 'validation_failed' })
    })

    it('names the limit that the price exceeds, as the caller sent it', async () => {
      const field = await buy({ max_price_microdollars: 9_999 })
      expect(field.body['advice']).to.include('max_price_microdollars of at least 10000')
      const header = await buy({}, { headers: { 'x-max-price': '9999' } })
      expect(header.body['advice']).to.include('Raise X-Max-Price to at least 10000')
      const crawler = await buy({}, { headers: { 'crawler-max-price': 'USD 0.001' } })
      expect(crawler.body['advice']).to.include('Raise crawler-max-price')
      const { body: keyless } = await buy({}, { key: undefined })
      expect(keyless['advice']).to.include('GET /v1/register/challenge')
      const cap = await buy({ url: `${weather()}?fault=dear` })
      expect(cap.body).to.include({ code: 'price_exceeds_max', limit: 'purchase_max' })
    })

    it('refuses hub_call for it, and names the tool', async () => {
      const args = { service: 'external', endpoint: 'POST /', input: { url: weather() } }
      const { data, isError } = await callTool(hub(), ada.apiKey, 'hub_call', args)
      expect([isError, data['charged_usd']]).to.deep.equal([true, '0.00'])
      expect(data['next']).to.include('hub_call_external')
    })
  })

  it('is found not to fit by the check, if it does not', () => {
    const problem = (advice: string, more: object = {}) => ({
      headers: {},
      body: { advice, code: 'refused', type: '/docs/problems/refused', ...more },
    })
    const request = { path: '/v1/keys', headers: {} }
    for (const advice of [
      'See issues[].path.',
      'Raise X-Max-Price, or do not call.',
      'Pay this request via x402 or MPP, or buy credits.',
      'Wait for the seconds given in Retry-After.',
    ]) {
      expect(findMisfits(request, problem(advice)), advice).to.have.length(1)
    }
    expect(findMisfits(request, problem('See reason.', { reason: 'x' }))).to.deep.equal([])
    expect(findMisfits(request, problem('Ask.', { type: '/nowhere' }))).to.have.length(1)
  })
})
