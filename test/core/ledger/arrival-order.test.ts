import { expect } from 'chai'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { atMost, timed } from '../../support/timing.ts'
import { agent, granted, order, provider, tally } from './world.ts'

/** Operations that are submitted together share a batch, and are judged in order of arrival. */
describe('operations of one batch', () => {
  let database: FreshDatabase
  let books: Ledger

  before(async () => {
    database = await freshDatabase()
    books = new Ledger(database.pool)
  })
  after(async () => {
    expect((await verifyLedger(database.pool)).ok).to.equal(true)
    await database.drop()
  })

  const outcomes = async (results: Promise<{ outcome: string }>[]): Promise<string[]> =>
    (await Promise.all(results)).map(({ outcome }) => outcome)

  it('let a small reserve pass after large ones were refused', async () => {
    const owner = await agent(books, 1n)
    const payee = await provider(books, 'small')
    const amounts = [10n, 9n, 8n, 7n, 6n, 5n, 4n, 3n, 2n, 1n]
    const results = await outcomes(
      amounts.map((amount) => books.reserve(order(owner, payee, amount))),
    )
    expect(results).to.deep.equal([...Array(9).fill('insufficient_funds'), 'applied'])
    expect(await books.balance(owner.code)).to.equal(0n)
  })

  it('pay for a reserve with what a settlement earlier in the batch gave back', async () => {
    const owner = await agent(books, 10n)
    const payee = await provider(books, 'rest')
    const first = order(owner, payee, 10n)
    await books.reserve(first)
    const early = books.reserve(order(owner, payee, 6n))
    const settled = books.settle(first, 4n)
    const late = books.reserve(order(owner, payee, 6n))
    expect(await outcomes([early, settled, late])).to.deep.equal([
      'insufficient_funds',
      'applied',
      'applied',
    ])
  })

  it('pay for a reserve with what a settlement earlier in the batch paid its owner', async () => {
    const buyer = await agent(books, 100n)
    const seller = await agent(books, 0n)
    const payee = await provider(books, 'chain')
    const sale = order(buyer, seller, 100n)
    await books.reserve(sale)
    const settled = books.settle(sale, 100n)
    const above = books.reserve(order(seller, payee, 91n))
    const within = books.reserve(order(seller, payee, 90n))
    expect(await outcomes([settled, above, within])).to.deep.equal([
      'applied',
      'insufficient_funds',
      'applied',
    ])
  })

  it('may cancel out: a release and a reserve of the same amount', async () => {
    const owner = await agent(books, 10n)
    const payee = await provider(books, 'cancel')
    const first = order(owner, payee, 10n)
    await books.reserve(first)
    const second = order(owner, payee, 10n)
    expect(await outcomes([books.release(first), books.reserve(second)])).to.deep.equal([
      'applied',
      'applied',
    ])
    expect(await books.balance(owner.code)).to.equal(0n)
    await books.settle(second, 10n)
  })

  it('take nothing from any account when a guard refuses', async () => {
    const owner = await agent(books, 100n)
    const payee = await provider(books, 'guard')
    const day = await granted(books, 'ALLOWANCE', 50n)
    const total = await granted(books, 'ALLOWANCE', 5n)
    const refused = books.reserve(order(owner, payee, 6n, { guards: [day, total] }))
    const unguarded = books.reserve(order(owner, payee, 100n))
    expect(await outcomes([refused, unguarded])).to.deep.equal(['insufficient_funds', 'applied'])
    expect(await books.balance(day.code)).to.equal(50n)
    expect(await books.balance(total.code)).to.equal(5n)
  })

  it('of one hold are judged in order too, each in a batch of its own', async () => {
    const owner = await agent(books, 10n)
    const call = order(owner, await provider(books, 'same'), 10n)
    const results = await outcomes([
      books.settle(call, 1n),
      books.reserve(call),
      books.reserve(call),
      books.settle(call, 11n),
      books.settle(call, 3n),
      books.settle(call, 3n),
      books.release(call),
    ])
    expect(results).to.deep.equal([
      'no_such_hold',
      'applied',
      'replayed',
      'above_hold',
      'applied',
      'replayed',
      'id_reused_with_other_terms',
    ])
  })

  it('are not held up by thousands of refusals, nor by an agent without credits', async () => {
    const payee = await provider(books, 'hostile')
    const rich = await agent(books, 2_000n * 2_000n)
    const owner = await agent(books, 1n)
    const all = (of: AccountRef) =>
      Array.from({ length: 2_000 }, (_, i) => books.reserve(order(of, payee, 2_000n - BigInt(i))))
    const [, usual] = await timed(() => Promise.all(all(rich)))
    const [falling, took] = await timed(() => Promise.all(all(owner)))
    expect(tally(falling)).to.deep.equal({ insufficient_funds: 1_999, applied: 1 })
    expect(falling.at(-1)!.outcome).to.equal('applied')
    expect(took).to.be.below(atMost(usual, 2_000))
  })

  it('of a thousand agents pass quickly beside one who cannot pay', async () => {
    const payee = await provider(books, 'many')
    const agents = await Promise.all(Array.from({ length: 999 }, () => agent(books, 5n)))
    const poor = await agent(books, 0n)
    const all = (owners: readonly AccountRef[], amount: bigint) =>
      Promise.all(owners.map((owner) => books.reserve(order(owner, payee, amount))))
    const [, usual] = await timed(() => all(agents, 1n))
    const [results, took] = await timed(() => all([poor, ...agents], 4n))
    expect(tally(results)).to.deep.equal({ insufficient_funds: 1, applied: 999 })
    expect(took).to.be.below(atMost(usual, 2_000))
  })
})
