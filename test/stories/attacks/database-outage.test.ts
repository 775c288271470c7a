import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { Proxy } from '../../faults/rig/proxy.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { startTestHub, type TestAgent, type TestHub } from '../../support/hub.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { Sellers } from './sellers.ts'
import { blockWork, COST, resetWork, watchedService, work } from './watched-service.ts'

const CREDITS = usd('1')
const NOTHING_CHARGED = 'Nothing was charged. Try again later.'

describe('A085 a hub whose database is down when a request arrives', () => {
  realSockets()
  let database: FreshDatabase
  let proxy: Proxy
  let sellers: Sellers
  let hub: TestHub
  let ada: TestAgent

  before(async () => {
    sellers = await Sellers.open()
    database = await freshDatabase()
    proxy = await Proxy.open(Number(new URL(database.url).port))
    hub = await startTestHub({
      plugins: [watchedService],
      config: {
        databaseUrl: proxy.through(database.url),
        sandboxHosts: new Map([['shop.test', sellers.port]]),
      },
    })
    sellers.facilitator = hub.sandbox!.money.facilitator
    sellers.serve('shop.test')
    ada = await hub.agent()
    await hub.credit(ada.keyId, CREDITS)
    resetWork()
  })
  after(async () => {
    await hub?.close()
    await proxy.close()
    await database.drop()
    await sellers.close()
  })

  const calls = (): Promise<ApiResponse> =>
    ask(hub.url, '/proxy/watched/a', { key: ada.apiKey, body: {} })
  const buys = (): Promise<ApiResponse> =>
    ask(hub.url, '/proxy/external', { key: ada.apiKey, body: { url: 'http://shop.test/' } })

  it('starts no work or payment and charges nothing', async () => {
    const { target } = proxy
    proxy.target = undefined
    proxy.cut()
    for (const response of await Promise.all([calls(), buys(), calls(), buys()])) {
      expect([response.status, response.body['code']]).to.deep.equal([503, 'service_unavailable'])
      expect(response.headers).to.have.property('retry-after')
      expect(response.body).to.include({ retryable: true, charged_microdollars: 0 })
    }
    expect((await ask(hub.url, '/health')).status).to.equal(503)
    expect((await ask(hub.url, '/readyz')).status).to.equal(503)
    expect((await ask(hub.url, '/livez')).status).to.equal(200)
    expect([work.calls, sellers.visits]).to.deep.equal([[], []])
    proxy.target = target
    expect(await hub.balance(ada.keyId)).to.equal(CREDITS)
    const { rows } = await database.pool.query('SELECT FROM ledger.open_hold')
    expect(rows).to.deep.equal([])
    expect([(await calls()).status, (await buys()).status]).to.deep.equal([200, 200])
  })

  it('responds while the database hangs; each call is charged once at most', async () => {
    resetWork()
    const before = await hub.balance(ada.keyId)
    const bob = await hub.agent()
    const call = (key: string, headers = {}): Promise<ApiResponse> =>
      ask(hub.url, '/proxy/watched/a', { key, body: {}, headers })
    const name = { 'idempotency-key': randomUUID() }
    const blocked = blockWork()
    const begun = [call(ada.apiKey, name), call(ada.apiKey)] as const
    await eventually(() => work.calls.length === 2)
    proxy.freeze()
    blocked.open()
    // None of these waits for the database, which responds only after them.
    const [named, unnamed, unknown, ready] = await Promise.all([
      ...begun,
      call(bob.apiKey),
      ask(hub.url, '/readyz'),
    ])
    proxy.thaw()
    for (const { status, body } of [named, unnamed, unknown]) {
      expect([status, body['code']]).to.deep.equal([503, 'service_unavailable'])
    }
    expect(ready.status).to.equal(503)
    expect(unknown.body).to.include({ retryable: true, advice: NOTHING_CHARGED })
    expect(named.headers).to.have.property('retry-after')
    expect(unnamed.body).to.have.property('retryable', false)
    expect(unnamed.body['advice']).to.match(/may have been charged/)
    await eventually(async () => (await call(ada.apiKey, name)).status === 200)
    await eventually(async () => {
      const { rows } = await database.pool.query('SELECT FROM ledger.open_hold')
      return rows.length === 0
    })
    expect(before - (await hub.balance(ada.keyId))).to.equal(2n * COST)
  })
})
