import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '../../core/db/pool.ts'
import { openShards } from '../../core/identity/shards.ts'
import { type AccountRef, Ledger } from '../../core/ledger/ledger.ts'
import { LedgerUnavailable } from '../../core/ledger/retry.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { micros, newId, openAgent, openProvider, order } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { Proxy } from './rig/proxy.ts'

const LOST = 3
const CREDITS = 100_000n

/** The database commits, but its response does not arrive. */
describe('The ledger, when the response to a COMMIT is lost,', () => {
  let database: FreshDatabase
  let proxy: Proxy
  let pool: Pool
  let ledger: Ledger
  let owner: AccountRef
  let payee: AccountRef

  before(async () => {
    database = await freshDatabase()
    await openShards(database.pool, 1)
    proxy = await Proxy.open(Number(new URL(database.url).port))
    const url = proxy.through(database.url)
    pool = createPool(url, { role: 'hub_finance', max: 4, responseMs: 4_000 })
    ledger = new Ledger(pool)
    owner = await openAgent(ledger, CREDITS)
    payee = await openProvider(ledger, 'acme')
  })
  beforeEach(() => (proxy.dropped = 0))
  after(async () => {
    await pool.end()
    await proxy.close()
    await database.drop()
  })

  const rowsOf = async (id: string): Promise<number> => {
    const { rowCount } = await database.pool.query('SELECT FROM ledger.journal WHERE id = $1', [id])
    return rowCount ?? 0
  }

  it('reserves and charges a call once, and reports each step as replayed', async () => {
    const call = order(owner, payee, 5_000n)
    proxy.dropResponses(/ledger\.apply/, LOST)
    const reserved = await ledger.reserve(call)
    expect(proxy.dropped, 'lost responses to the reservation').to.equal(LOST)
    expect(reserved.outcome).to.equal('replayed')
    proxy.dropResponses(/ledger\.apply/, LOST)
    const { outcome, balance } = await ledger.settle(call, 4_000n)
    expect(proxy.dropped, 'lost responses').to.equal(2 * LOST)
    expect({ outcome, balance }).to.deep.equal({ outcome: 'replayed', balance: CREDITS - 4_000n })
    expect(await rowsOf(call.call)).to.equal(2)
    expect(await ledger.balance(owner.code)).to.equal(CREDITS - 4_000n)
  })

  it('refuses another outcome after the lost one', async () => {
    const call = order(owner, payee, 700n)
    await ledger.reserve(call)
    proxy.dropResponses(/ledger\.apply/, 1)
    const ends = [await ledger.release(call), await ledger.settle(call, 700n)]
    expect(ends.map(({ outcome }) => outcome)).to.deep.equal([
      'replayed',
      'id_reused_with_other_terms',
    ])
  })

  it('repeats the outcomes of a batch of which half was refused', async () => {
    const poor = await openAgent(ledger, 1_000n)
    const calls = Array.from({ length: 20 }, () => order(poor, payee, 100n))
    proxy.dropResponses(/ledger\.apply/, LOST)
    const results = await Promise.all(calls.map((call) => ledger.reserve(call)))
    expect(proxy.dropped).to.equal(LOST)
    const outcomes = results.map(({ outcome }) => outcome)
    const held = outcomes.filter((outcome) => outcome === 'replayed' || outcome === 'applied')
    expect(held).to.have.length(10)
    expect(outcomes.filter((outcome) => outcome === 'insufficient_funds')).to.have.length(10)
    const posted = await Promise.all(calls.map(({ call }) => rowsOf(call)))
    results.forEach(({ outcome }, i) => {
      expect(posted[i], outcome).to.equal(outcome === 'insufficient_funds' ? 0 : 1)
    })
    await Promise.all(calls.map((call) => ledger.release(call)))
    expect(await ledger.balance(poor.code)).to.equal(1_000n)
  })

  it('posts a single-step entry once', async () => {
    const id = newId()
    const before = await ledger.balance(owner.code)
    proxy.dropResponses(/ledger\.post/, LOST)
    const credits = owner.code
    const outcome = await ledger.post(
      { type: 'credits.purchased', credits, amount: micros(2_500n) },
      { owner, id },
    )
    expect(proxy.dropped).to.equal(LOST)
    expect(outcome).to.equal('replayed')
    expect(await rowsOf(id)).to.equal(1)
    expect(await ledger.balance(owner.code)).to.equal(before + 2_500n)
  })

  it('reports an unresponsive database as unavailable, and retries are safe', async function () {
    this.timeout(120_000)
    const call = order(owner, payee, 300n)
    const id = newId()
    const credits = owner.code
    const event = { type: 'credits.purchased', credits, amount: micros(40n) } as const
    const before = await ledger.balance(owner.code)
    proxy.freeze()
    const [reserved, posted] = await Promise.allSettled([
      ledger.reserve(call),
      ledger.post(event, { owner, id }),
    ])
    proxy.thaw()
    expect(reserved.status === 'rejected' && reserved.reason).to.be.instanceOf(LedgerUnavailable)
    expect(posted.status === 'rejected' && posted.reason).to.be.instanceOf(LedgerUnavailable)
    expect((await ledger.reserve(call)).outcome).to.be.oneOf(['applied', 'replayed'])
    expect(await ledger.post(event, { owner, id })).to.be.oneOf(['applied', 'replayed'])
    expect((await ledger.settle(call, 300n)).outcome).to.equal('applied')
    expect(await ledger.balance(owner.code)).to.equal(before - 300n + 40n)
  })

  it('verifies without errors afterwards', async () => {
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  })
})
