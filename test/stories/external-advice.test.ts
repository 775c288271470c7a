import { expect } from 'chai'
import { usd } from '../../core/money.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

describe('the problem of an external call', () => {
  const hub = useHub()
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const buy = (fault: string, key: string): Promise<ApiResponse> =>
    ask(hub().url, '/proxy/external', {
      key: ada.apiKey,
      headers: { 'idempotency-key': key },
      body: { url: `${hub().sandbox!.sellerUrl}/weather?fault=${fault}` },
    })
  const charged = ({ headers, body }: ApiResponse) => [
    headers['x-charged-microdollars'],
    String(body['charged_microdollars']),
  ]

  it('states the charge and forbids a second one if the seller took the money', async () => {
    const price = String(usd('0.01'))
    for (const fault of ['took', 'lost']) {
      const first = await buy(fault, `key-${fault}`)
      if (first.status === 200) continue // delivered, without a receipt
      expect(first.body, first.text).to.include({ retryable: false })
      expect(first.body['advice']).to.match(/^You were charged/)
      expect(first.body['payment']).to.include({ state: 'taken' })
      expect(charged(first)).to.deep.equal([price, price])
      const again = await buy(fault, `key-${fault}`)
      expect(again.body).to.deep.equal(first.body)
      expect(charged(again)).to.deep.equal([price, price])
      expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
    }
  })

  it('does not call a purchase with an unknown outcome retryable', async () => {
    const { body, text, headers } = await buy('late&delay=60000', 'key-late')
    expect(body['payment'], text).to.include({ state: 'unresolved' })
    expect(body).to.include({ retryable: false, charged_microdollars: 0 })
    expect(body['advice']).to.include('same Idempotency-Key')
    expect(headers).to.include({ 'x-charged-microdollars': '0' })
  })
  it('is a fault of the hub, not of the service, while the database is down', async () => {
    const { pool } = hub().hub
    const query = pool.query.bind(pool)
    pool.query = (async (text: unknown, ...rest: unknown[]) => {
      if (typeof text === 'string' && text.includes('hub.outgoing_state')) {
        throw Object.assign(new Error('terminating connection'), { code: '57P01' })
      }
      return (query as (...values: unknown[]) => unknown)(text, ...rest)
    }) as never
    try {
      const { status, body, headers } = await buy('none', 'key-down')
      expect([status, body['code']]).to.deep.equal([503, 'service_unavailable'])
      expect(body).to.include({ charged_microdollars: 0, retryable: true })
      expect(headers).to.have.property('retry-after')
    } finally {
      pool.query = query
    }
  })
})
