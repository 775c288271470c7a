import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { countingService, PRICE, resetWork, work } from '../../stories/counted-service.ts'
import { flawed } from '../../stories/failing-services.ts'
import { ask, type RequestOptions } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

type Case = readonly [status: number, code: string, path: string, question: RequestOptions]
const json = { 'content-type': 'application/json' }
const raw = (
  body: string | Uint8Array,
  headers: Record<string, string> = json,
): RequestOptions => ({
  body,
  headers: { ...json, ...headers },
})
const analyze = (bytes: number): RequestOptions => ({
  body: { text: 'é'.repeat(bytes / 2) + 'x'.repeat(bytes % 2), instructions: 'Count.' },
})
const BODY_MAX = 524_288
const LIMITS = ['-1', '0', '1.5', '1e9', 'abc', '', '1&limit=2']
const AMOUNTS = [
  '-1',
  '0',
  '1.5',
  '"5"',
  '1e400',
  '9007199254740993',
  '-0',
  'null',
  'true',
  '"1e3"',
]

/** Attack cases that are rejected before any money moves. */
const FREE: Readonly<Record<string, Case>> = {
  'A029 NUL in a slug': [404, 'service_not_found', '/v1/services/%00', {}],
  'A030 half a JSON': [400, 'malformed_json', '/v1/search', raw('{"query":')],
  'A132 a byte order mark': [400, 'malformed_json', '/v1/search', raw('\ufeff{"query":"a"}')],
  'A132 a member twice': [400, 'duplicate_member', '/v1/search', raw('{"query":"a","query":"b"}')],
  'A132 a member twice, for a service': [
    400,
    'duplicate_member',
    '/proxy/echo/say',
    raw('{"words":"a","words":"b"}'),
  ],
  'A031 20,000 deep, outside': [400, 'json_too_deep', '/proxy/external', raw('['.repeat(20_000))],
  'A031 20,000 deep, inside': [400, 'json_too_deep', '/proxy/echo/say', raw('['.repeat(20_000))],
  'A032 a byte too many': [413, 'body_too_large', '/v1/search', raw('x'.repeat(BODY_MAX + 1))],
  'A033 a compression bomb': [
    415,
    'unsupported_content_encoding',
    '/v1/search',
    raw(gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' }),
  ],
  'A034 51,201 bytes': [413, 'text_too_large', '/proxy/analysis/analyze', analyze(51_201)],
  'A035 __proto__': [
    422,
    'validation_failed',
    '/v1/search',
    raw('{"query":"x","__proto__":{"admin":true}}'),
  ],
  ...Object.fromEntries(
    ['text/plain', 'application/json; charset=utf-16', 'multipart/form-data; boundary=x'].map(
      (type): [string, Case] => [
        `A036 ${type}`,
        [415, 'unsupported_media_type', '/v1/search', raw('{}', { 'content-type': type })],
      ],
    ),
  ),
  ...Object.fromEntries(
    LIMITS.map((limit): [string, Case] => [
      `A037 limit=${limit}`,
      [422, 'validation_failed', `/v1/credits/history?limit=${limit}`, {}],
    ]),
  ),
  ...Object.fromEntries(
    AMOUNTS.map((amount): [string, Case] => [
      `A063 ${amount}`,
      [422, 'validation_failed', '/v1/credits/purchase', raw(`{"amount_microdollars":${amount}}`)],
    ]),
  ),
}

describe('the attack catalog at REST and the proxy', () => {
  const hub = useHub({ plugins: [countingService, flawed] })
  let ada: TestAgent
  before(async () => {
    resetWork()
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const holds = () => hub().hub.ledger.balance('liabilities:holds')

  for (const [what, [status, code, path, question]] of Object.entries(FREE)) {
    it(`responds ${status} ${code} without charge to ${what}`, async () => {
      const response = await ask(hub().url, path, { key: ada.apiKey, ...question })
      expect([response.status, response.body['code']]).to.deep.equal([status, code])
      expect(response.body['charged_microdollars']).to.equal(0)
      expect([await hub().balance(ada.keyId), await holds()]).to.deep.equal([usd('1'), 0n])
      expect(({} as Record<string, unknown>)['admin']).to.equal(undefined)
    })
  }

  it('A034 accepts a text of 51,200 bytes', async () => {
    const { apiKey } = await hub().agent()
    const question = { key: apiKey, ...analyze(51_200) }
    const { body } = await ask(hub().url, '/proxy/analysis/analyze', question)
    expect(body['code'], 'judged as a text').not.to.be.oneOf([
      'text_too_large',
      'validation_failed',
    ])
  })

  it('A050 responds 401 with WWW-Authenticate and no-store to an invalid key', async () => {
    const wrong = [
      '',
      'Bearer',
      'Basic YTpi',
      `Bearer ahk_${'0'.repeat(49)}`,
      `Bearer ${'x'.repeat(8_000)}`,
    ]
    for (const authorization of [...wrong, undefined]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
      const {
        status,
        body,
        headers: received,
      } = await ask(hub().url, '/v1/credits/balance', { headers })
      expect([status, body['code']], authorization).to.deep.equal([401, 'invalid_api_key'])
      expect(received['www-authenticate']).to.match(/^Bearer realm="hub"/)
      expect(received['cache-control']).to.equal('no-store')
    }
    const inQuery = await ask(hub().url, `/v1/credits/balance?api_key=${ada.apiKey}`)
    expect(inQuery.status).to.equal(401)
  })

  it('A058 makes exactly ten of fifty concurrent calls with credits for ten', async () => {
    const bob = await hub().agent()
    await hub().credit(bob.keyId, PRICE * 10n)
    const all = await Promise.all(
      Array.from({ length: 50 }, () =>
        ask(hub().url, '/proxy/counted/work', { key: bob.apiKey, body: {} }),
      ),
    )
    expect(all.filter(({ status }) => status === 200)).to.have.length(10)
    expect(all.filter(({ body }) => body['code'] === 'insufficient_credits')).to.have.length(40)
    expect([await hub().balance(bob.keyId), await holds()]).to.deep.equal([0n, 0n])
  })

  it('A059 makes exactly fifteen of forty concurrent calls with fifteen free calls', async () => {
    const { apiKey } = await hub().agent()
    const question = { key: apiKey, body: { text: 'A lovely day.' } }
    const all = await Promise.all(
      Array.from({ length: 40 }, () => ask(hub().url, '/proxy/analysis/sentiment', question)),
    )
    expect(all.filter(({ status }) => status === 200)).to.have.length(15)
    expect(all.filter(({ status }) => status === 402)).to.have.length(25)
  })

  it('A067 charges once after a disconnect and replays by idempotency key', async () => {
    const before = await hub().balance(ada.keyId)
    const started = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    work.before = () => {
      started.resolve()
      return go.promise
    }
    const done = work.done
    const { hostname, port, host } = new URL(hub().url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST /proxy/counted/work HTTP/1.1\r\nHost: ${host}\r\n` +
        `Authorization: Bearer ${ada.apiKey}\r\n` +
        'Idempotency-Key: gone-1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    )
    await started.promise
    socket.destroy()
    const again = () =>
      ask(hub().url, '/proxy/counted/work', {
        key: ada.apiKey,
        body: {},
        headers: { 'idempotency-key': 'gone-1' },
      })
    let replay = await again()
    expect(replay.status, 'still in progress').to.equal(409)
    go.resolve()
    await eventually(async () => (replay = await again()).status !== 409)
    work.before = async () => {}
    expect(replay.status).to.equal(200)
    expect(replay.headers['idempotency-replayed']).to.equal('true')
    expect(work.done).to.equal(done + 1)
    expect(before - (await hub().balance(ada.keyId))).to.equal(PRICE)
  })

  const FAILED = { throws: 502, lies: 502, hangs: 504, 'status-500': 500, 'status-nan': 502 }
  for (const [path, status] of Object.entries(FAILED)) {
    it(`A042 A068 refunds with a reason if the service ${path} (${status})`, async () => {
      const before = await hub().balance(ada.keyId)
      const response = await ask(hub().url, `/proxy/flawed/${path}`, { key: ada.apiKey, body: {} })
      expect(response.status).to.equal(status)
      expect(response.headers['x-refund-reason']).to.match(/^[a-z]+_\w+$|^deadline$/)
      expect(response.headers['x-charged-microdollars']).to.equal('0')
      expect([await hub().balance(ada.keyId), await holds()]).to.deep.equal([before, 0n])
    })
  }
})
