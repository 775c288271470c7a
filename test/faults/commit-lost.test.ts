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

/** Case A072: the database commits, and its answer does not arrive. */
describe('The answer to a COMMIT is lost on the way', () => {
  let database: FreshDatabase
  let proxy: Proxy
  let pool: Pool
  let books: Ledger
  let owner: AccountRef
  let payee: AccountRef

  before(async () => {
    database = await freshDatabase()
    await openShards(database.pool, 1)
    proxy = await Proxy.open(Number(new URL(database.url).port))
    pool = createPool(proxy.through(database.url), { role: 'hub_app', max: 4, responseMs: 4_000 })
    books = new Ledger(pool)
    owner = await openAgent(books, CREDITS)
    payee = await openProvider(books, 'acme')
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

  it('a call is held and charged once, and each step tells that it is done', async () => {
    const call = order(owner, payee, 5_000n)
    proxy.dropAnswers(/ledger\.apply/, LOST)
    const reserved = await books.reserve(call)
    expect(proxy.dropped, 'answers to the reserve that were lost').to.equal(LOST)
    expect(reserved.outcome).to.equal('replayed')
    proxy.dropAnswers(/ledger\.apply/, LOST)
    const { outcome, balance } = await books.settle(call, 4_000n)
    expect(proxy.dropped, 'all answers that were lost').to.equal(2 * LOST)
    expect({ outcome, balance }).to.deep.equal({ outcome: 'replayed', balance: CREDITS - 4_000n })
    expect(await rowsOf(call.call)).to.equal(2)
    expect(await books.balance(owner.code)).to.equal(CREDITS - 4_000n)
  })

  it('another end is refused by what the lost answer said', async () => {
    const call = order(owner, payee, 700n)
    await books.reserve(call)
    proxy.dropAnswers(/ledger\.apply/, 1)
    const ends = [await books.release(call), await books.settle(call, 700n)]
    expect(ends.map(({ outcome }) => outcome)).to.deep.equal([
      'replayed',
      'id_reused_with_other_terms',
    ])
  })

  it('a batch of operations, half of it refused, is judged as it was the first time', async () => {
    const poor = await openAgent(books, 1_000n)
    const calls = Array.from({ length: 20 }, () => order(poor, payee, 100n))
    proxy.dropAnswers(/ledger\.apply/, LOST)
    const results = await Promise.all(calls.map((call) => books.reserve(call)))
    expect(proxy.dropped).to.equal(LOST)
    const outcomes = results.map(({ outcome }) => outcome)
    const held = outcomes.filter((outcome) => outcome === 'replayed' || outcome === 'applied')
    expect(held).to.have.length(10)
    expect(outcomes.filter((outcome) => outcome === 'insufficient_funds')).to.have.length(10)
    const booked = await Promise.all(calls.map(({ call }) => rowsOf(call)))
    results.forEach(({ outcome }, i) => {
      expect(booked[i], outcome).to.equal(outcome === 'insufficient_funds' ? 0 : 1)
    })
    await Promise.all(calls.map((call) => books.release(call)))
    expect(await books.balance(poor.code)).to.equal(1_000n)
  })

  it('an entry of a single step is posted once', async () => {
    const id = newId()
    const before = await books.balance(owner.code)
    proxy.dropAnswers(/ledger\.post/, LOST)
    const credits = owner.code
    const outcome = await books.post(
      { type: 'credits.purchased', credits, amount: micros(2_500n) },
      { owner, id },
    )
    expect(proxy.dropped).to.equal(LOST)
    expect(outcome).to.equal('replayed')
    expect(await rowsOf(id)).to.equal(1)
    expect(await books.balance(owner.code)).to.equal(before + 2_500n)
  })

  it('a database that answers nothing is told as such, and repeating is safe', async function () {
    this.timeout(120_000)
    const call = order(owner, payee, 300n)
    const id = newId()
    const credits = owner.code
    const event = { type: 'credits.purchased', credits, amount: micros(40n) } as const
    const before = await books.balance(owner.code)
    proxy.freeze()
    const [reserved, posted] = await Promise.allSettled([
      books.reserve(call),
      books.post(event, { owner, id }),
    ])
    proxy.thaw()
    expect(reserved.status === 'rejected' && reserved.reason).to.be.instanceOf(LedgerUnavailable)
    expect(posted.status === 'rejected' && posted.reason).to.be.instanceOf(LedgerUnavailable)
    expect((await books.reserve(call)).outcome).to.be.oneOf(['applied', 'replayed'])
    expect(await books.post(event, { owner, id })).to.be.oneOf(['applied', 'replayed'])
    expect((await books.settle(call, 300n)).outcome).to.equal('applied')
    expect(await books.balance(owner.code)).to.equal(before - 300n + 40n)
  })

  it('and the books are sound after all of it', async () => {
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  })
})
