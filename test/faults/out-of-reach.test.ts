import { expect } from 'chai'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { openShards } from '../../core/identity/shards.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { CREDITS, createFundedAgents, type FundedAgent, PRICE } from './rig/call-load.ts'
import { HubProcess } from './rig/hub.ts'
import { Proxy } from './rig/proxy.ts'

const ALWAYS = Number.POSITIVE_INFINITY

/** The database is unavailable for longer than the ledger's timeout. */
describe('The hub while its database cannot be reached', function () {
  this.timeout(120_000)
  let database: FreshDatabase
  let proxy: Proxy
  let hub: HubProcess
  let ledger: Ledger
  let agent: FundedAgent

  before(async () => {
    database = await freshDatabase()
    proxy = await Proxy.open(Number(new URL(database.url).port))
    hub = await HubProcess.create(proxy.through(database.url))
    await hub.start()
    await openShards(database.pool, 2)
    ledger = new Ledger(database.pool)
    agent = (await createFundedAgents(1, hub, ledger))[0]!
  })
  after(async () => {
    await hub?.remove()
    await proxy.close()
    await database.drop()
  })

  const call = (): Promise<ApiResponse> =>
    ask(hub.url, '/proxy/slow/work', { key: agent.apiKey, body: { n: 1 } })

  const credits = (): Promise<bigint> => ledger.balance(creditsOf(agent.keyId))

  const settlements = async (): Promise<number> => {
    const { rowCount } = await database.pool.query('SELECT FROM ledger.journal WHERE kind = 2')
    return rowCount ?? 0
  }

  function expectUnavailable({ status, headers, body }: ApiResponse, isRetryable = true): void {
    expect(status).to.equal(503)
    expect(headers['content-type']).to.match(/^application\/problem\+json/)
    expect(body['code']).to.equal('service_unavailable')
    expect(body['retryable']).to.equal(isRetryable)
  }

  async function expectSound(charges: number): Promise<void> {
    for (const end = elapsedMs() + 20_000; elapsedMs() < end; await sleep(250)) {
      await expireHolds(database.pool, ledger)
      const { rowCount } = await database.pool.query('SELECT FROM ledger.open_hold')
      if (rowCount === 0) break
    }
    expect(await settlements()).to.equal(charges)
    expect(await credits()).to.equal(CREDITS - BigInt(charges) * PRICE)
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  }

  it('responds 503 to a frozen connection, charges nothing, and recovers', async () => {
    expect((await call()).status).to.equal(200)
    proxy.freeze()
    const response = await call()
    proxy.thaw()
    expectUnavailable(response)
    await expectSound(1)
    expect((await call()).status).to.equal(200)
    await expectSound(2)
  })

  it('responds 503 when the responses to its COMMITs are lost, and releases the hold', async () => {
    const dropped = proxy.dropped
    proxy.dropResponses(/ledger\.apply/, ALWAYS)
    const response = await call()
    proxy.dropResponses(/ledger\.apply/, 0)
    expectUnavailable(response)
    expect(proxy.dropped - dropped, 'lost responses').to.be.above(1)
    await expectSound(2)
  })

  it('settles once when the responses to the settlement are lost', async () => {
    proxy.dropResponses(/ledger\.apply/, ALWAYS, 1)
    const response = await call()
    proxy.dropResponses(/ledger\.apply/, 0)
    expectUnavailable(response, false) // it may have been charged
    await expectSound(3)
  })

  it('responds 503 at once when connections are refused', async () => {
    proxy.target = undefined
    proxy.cut()
    const response = await call()
    proxy.target = Number(new URL(database.url).port)
    expectUnavailable(response)
    await sleep(100)
    expect((await call()).status).to.equal(200)
    expect(hub.errors).to.deep.equal([])
  })
})
