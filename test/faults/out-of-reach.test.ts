import { expect } from 'chai'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { openShards } from '../../core/identity/shards.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { ask, type Told } from '../support/ask.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { HubProcess } from './rig/hub.ts'
import { Proxy } from './rig/proxy.ts'
import { CREDITS, PRICE, type Shopper, shoppers } from './rig/shoppers.ts'

const ALWAYS = Number.POSITIVE_INFINITY

/** Case A072 at the doors: the database is away for longer than the patience of the ledger. */
describe('The hub while its database cannot be reached', function () {
  this.timeout(120_000)
  let database: FreshDatabase
  let proxy: Proxy
  let hub: HubProcess
  let books: Ledger
  let shopper: Shopper

  before(async () => {
    database = await freshDatabase()
    proxy = await Proxy.open(Number(new URL(database.url).port))
    hub = await HubProcess.create(proxy.through(database.url))
    await hub.start()
    books = new Ledger(database.pool, { shards: await openShards(database.pool, 2) })
    shopper = (await shoppers(1, hub, books))[0]!
  })
  after(async () => {
    await hub?.remove()
    await proxy.close()
    await database.drop()
  })

  const call = (): Promise<Told> =>
    ask(hub.url, '/proxy/slow/work', { key: shopper.apiKey, body: { n: 1 } })

  const credits = (): Promise<bigint> => books.balance(creditsOf(shopper.keyId))

  const settlements = async (): Promise<number> => {
    const { rowCount } = await database.pool.query('SELECT FROM ledger.journal WHERE kind = 2')
    return rowCount ?? 0
  }

  function expectUnavailable({ status, headers, body }: Told): void {
    expect(status).to.equal(503)
    expect(headers['content-type']).to.match(/^application\/problem\+json/)
    expect(body['code']).to.equal('service_unavailable')
    expect(body['retryable']).to.equal(true)
  }

  async function expectSound(charges: number): Promise<void> {
    for (const end = elapsedMs() + 20_000; elapsedMs() < end; await sleep(250)) {
      await expireHolds(database.pool, books)
      const { rowCount } = await database.pool.query('SELECT FROM ledger.open_hold')
      if (rowCount === 0) break
    }
    expect(await settlements()).to.equal(charges)
    expect(await credits()).to.equal(CREDITS - BigInt(charges) * PRICE)
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  }

  it('answers 503 when nothing comes back, charges nothing, and goes on afterwards', async () => {
    expect((await call()).status).to.equal(200)
    proxy.freeze()
    const told = await call()
    proxy.thaw()
    expectUnavailable(told)
    await expectSound(1)
    expect((await call()).status).to.equal(200)
    await expectSound(2)
  })

  it('answers 503 when the answers to its COMMITs are lost, and the hold goes back', async () => {
    const dropped = proxy.dropped
    proxy.dropAnswers(/ledger\.apply/, ALWAYS)
    const told = await call()
    proxy.dropAnswers(/ledger\.apply/, 0)
    expectUnavailable(told)
    expect(proxy.dropped - dropped, 'answers that were lost').to.be.above(1)
    await expectSound(2)
  })

  it('settles once when the answers to the settlement are lost', async () => {
    proxy.dropAnswers(/ledger\.apply/, ALWAYS, 1)
    const told = await call()
    proxy.dropAnswers(/ledger\.apply/, 0)
    expectUnavailable(told)
    await expectSound(3)
  })

  it('answers 503 at once when connections are refused', async () => {
    proxy.target = undefined
    proxy.cut()
    const told = await call()
    proxy.target = Number(new URL(database.url).port)
    expectUnavailable(told)
    await sleep(100)
    expect((await call()).status).to.equal(200)
    expect(hub.faults).to.deep.equal([])
  })
})
