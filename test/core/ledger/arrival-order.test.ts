import { expect } from 'chai'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { atMost, timed } from '../../support/timing.ts'
import { openAgent, openGranted, openProvider, order, tally } from './fixture.ts'

/** Operations submitted together share a batch, and are applied in order of arrival. */
describe('operations of one batch', () => {
  let database: FreshDatabase
  let ledger: Ledger

  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
  })
  after(async () => {
    expect((await verifyLedger(database.pool)).ok).to.equal(true)
    await database.drop()
  })

  const outcomes = async (results: Promise<{ outcome: string }>[]): Promise<string[]> =>
    (await Promise.all(results)).map(({ outcome }) => outcome)

  it('let a small reserve pass after large ones were refused', async () => {
    const owner = await openAgent(ledger, 1n)
    const payee = await openProvider(ledger, 'small')
    const amounts = [10n, 9n, 8n, 7n, 6n, 5n, 4n, 3n, 2n, 1n]
    const results = await outcomes(
      amounts.map((amount) => ledger.reserve(order(owner, payee, amount))),
    )
    expect(results).to.deep.equal([...Array(9).fill('insufficient_funds'), 'applied'])
    expect(await ledger.balance(owner.code)).to.equal(0n)
  })

  it('pay for a reserve with the amount released by an earlier settlement', async () => {
    const owner = await openAgent(ledger, 10n)
    const payee = await openProvider(ledger, 'rest')
    const first = order(owner, payee, 10n)
    await ledger.reserve(first)
    const early = ledger.reserve(order(owner, payee, 6n))
    const settled = ledger.settle(first, 4n)
    const late = ledger.reserve(order(owner, payee, 6n))
    expect(await outcomes([early, settled, late])).to.deep.equal([
      'insufficient_funds',
      'applied',
      'applied',
    ])
  })

  it('pay for a reserve with the amount an earlier settlement paid its owner', async () => {
    const buyer = await openAgent(ledger, 100n)
    const seller = await openAgent(ledger, 0n)
    const payee = await openProvider(ledger, 'chain')
    const sale = order(buyer, seller, 100n)
    await ledger.reserve(sale)
    const settled = ledger.settle(sale, 100n)
    const above = ledger.reserve(order(seller, payee, 91n))
    const within = ledger.reserve(order(seller, payee, 90n))
    expect(await outcomes([settled, above, within])).to.deep.equal([
      'applied',
      'insufficient_funds',
      'applied',
    ])
  })

  it('may cancel out: a release and a reserve of the same amount', async () => {
    const owner = await openAgent(ledger, 10n)
    const payee = await openProvider(ledger, 'cancel')
    const first = order(owner, payee, 10n)
    await ledger.reserve(first)
    const second = order(owner, payee, 10n)
    expect(await outcomes([ledger.release(first), ledger.reserve(second)])).to.deep.equal([
      'applied',
      'applied',
    ])
    expect(await ledger.balance(owner.code)).to.equal(0n)
    await ledger.settle(second, 10n)
  })

  it('take nothing from any account when a guard refuses', async () => {
    const owner = await openAgent(ledger, 100n)
    const payee = await openProvider(ledger, 'guard')
    const day = await openGranted(ledger, 'ALLOWANCE', 50n)
    const total = await openGranted(ledger, 'ALLOWANCE', 5n)
    const refused = ledger.reserve(order(owner, payee, 6n, { guards: [day, total] }))
    const unguarded = ledger.reserve(order(owner, payee, 100n))
    expect(await outcomes([refused, unguarded])).to.deep.equal(['insufficient_funds', 'applied'])
    expect(await ledger.balance(day.code)).to.equal(50n)
    expect(await ledger.balance(total.code)).to.equal(5n)
  })

  it('are applied in order for one hold, each in its own batch', async () => {
    const owner = await openAgent(ledger, 10n)
    const call = order(owner, await openProvider(ledger, 'same'), 10n)
    const results = await outcomes([
      ledger.settle(call, 1n),
      ledger.reserve(call),
      ledger.reserve(call),
      ledger.settle(call, 11n),
      ledger.settle(call, 3n),
      ledger.settle(call, 3n),
      ledger.release(call),
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

  it('are not delayed by thousands of refusals or an agent without credits', async () => {
    const payee = await openProvider(ledger, 'hostile')
    const rich = await openAgent(ledger, 2_000n * 2_000n)
    const owner = await openAgent(ledger, 1n)
    const all = (of: AccountRef) =>
      Array.from({ length: 2_000 }, (_, i) => ledger.reserve(order(of, payee, 2_000n - BigInt(i))))
    const [, usual] = await timed(() => Promise.all(all(rich)))
    const [falling, took] = await timed(() => Promise.all(all(owner)))
    expect(tally(falling)).to.deep.equal({ insufficient_funds: 1_999, applied: 1 })
    expect(falling.at(-1)!.outcome).to.equal('applied')
    expect(took).to.be.below(atMost(usual, 2_000))
  })

  it('pass quickly for a thousand agents beside one who cannot pay', async () => {
    const payee = await openProvider(ledger, 'many')
    const agents = await Promise.all(Array.from({ length: 999 }, () => openAgent(ledger, 5n)))
    const poor = await openAgent(ledger, 0n)
    const all = (owners: readonly AccountRef[], amount: bigint) =>
      Promise.all(owners.map((owner) => ledger.reserve(order(owner, payee, amount))))
    const [, usual] = await timed(() => all(agents, 1n))
    const [results, took] = await timed(() => all([poor, ...agents], 4n))
    expect(tally(results)).to.deep.equal({ insufficient_funds: 1, applied: 999 })
    expect(took).to.be.below(atMost(usual, 2_000))
  })
})
