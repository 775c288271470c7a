import { expect } from 'chai'
import { inTransaction } from '../../../core/db/transaction.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { findException } from '../../../core/reconciliation/exceptions.ts'
import type { Resolution } from '../../../core/reconciliation/resolve.ts'
import { NotResolvable, resolveException } from '../../../core/reconciliation/resolve.ts'
import { micros } from '../ledger/fixture.ts'
import { CREDITS, exceptionTexts, type ReconciliationFixture, startFixture } from './fixture.ts'

const BY = { author: 'fin', reason: 'seen on the bank day' }
const INVENTED = `0x${'ab'.repeat(32)}`

describe('resolving an exception', () => {
  let fixture: ReconciliationFixture
  beforeEach(async () => {
    fixture = await startFixture({ shards: 2 })
  })
  afterEach(async () => {
    const { checks } = await verifyLedger(fixture.pool)
    expect(checks.filter(({ bad }) => bad !== 0n)).to.deep.equal([])
    await fixture.stop()
  })
  const resolve = (id: bigint, resolution: Resolution, by = BY) =>
    resolveWith(fixture.ledger, id, resolution, by)
  const resolveWith = (ledger: Ledger, id: bigint, resolution: Resolution, by = BY) =>
    inTransaction(fixture.pool, (client) =>
      resolveException({ client, ledger }, id, resolution, by),
    )
  const refused = async (id: bigint, resolution: Resolution, by = BY) =>
    expect(await resolve(id, resolution, by).catch((error: unknown) => error)).to.be.instanceOf(
      NotResolvable,
    )
  const open = async () => (await fixture.run()).flatMap(({ exceptions }) => exceptions)
  const balance = (code: string) => fixture.ledger.balance(code)

  it('posts a deposit to suspense with author and reason, and clears the next run', async () => {
    const tx = await fixture.send(fixture.payer, fixture.treasury, 70n)
    const [found] = await open()
    expect(await resolve(found!.id, { decision: 'surplus' })).to.equal('resolved')
    expect(await balance('liabilities:suspense')).to.equal(70n)
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(runs[0]).to.include({ chain: 70n, ledger: 70n })
    const closed = await findException(fixture.pool, found!.id)
    expect(closed).to.include({ resolution: 'booked', author: 'fin', explanation: BY.reason })
    const { rows } = await fixture.pool.query('SELECT meta FROM ledger.journal WHERE id = $1', [
      closed!.answer,
    ])
    expect(rows[0].meta).to.deep.equal({ ...BY, tx, exception: String(found!.id) })
  })

  it('posts each kind of shortfall as an expense of the platform', async () => {
    await fixture.send(fixture.spend, fixture.seller, 80n)
    await fixture.post(fixture.purchased(12n), { payer: fixture.payer, transaction: INVENTED })
    await fixture.post(fixture.purchased(14n))
    const { tx } = await fixture.buy(15n)
    await fixture.post(fixture.purchased(15n), { payer: fixture.payer, transaction: tx })
    await fixture.mine()
    const found = await open()
    expect(found.map(({ kind }) => kind)).to.have.members([
      'missing_on_chain',
      'no_transaction',
      'booked_twice',
      'unknown_withdrawal',
    ])
    for (const { id } of found) await resolve(id, { decision: 'shortfall' })
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(runs.flatMap(({ pending }) => pending)).to.deep.equal([])
    expect(runs.every(({ chain, ledger }) => chain === ledger)).to.equal(true)
    expect(await balance('expenses:reconciliation-difference')).to.equal(-121n)
    expect(await balance('assets:usdc:base:in-transit')).to.equal(0n)
  })

  it('credits a deposit to its key, directly or from suspense', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    await fixture.send(fixture.payer, fixture.treasury, 71n)
    const [first, second] = await open()
    const identified = { decision: 'identified', credits: CREDITS } as const
    await refused(first!.id, { decision: 'identified', credits: 'liabilities:agents:no:credits' })
    expect(await resolve(first!.id, identified)).to.equal('resolved')
    expect(await balance(CREDITS)).to.equal(70n)
    await resolve(second!.id, { decision: 'surplus' }) // posted on another shard than the key
    expect(await resolve(second!.id, identified)).to.equal('resolved')
    expect(await resolve(second!.id, identified)).to.equal('replayed')
    expect(await balance(CREDITS)).to.equal(141n)
    expect(await balance('liabilities:suspense')).to.equal(0n)
    expect(await balance('equity:opening')).to.equal(1_000_000n)
    await fixture.ledger.open('liabilities:agents:key_2:credits', 'USDC', { home: 0 })
    await refused(second!.id, {
      decision: 'identified',
      credits: 'liabilities:agents:key_2:credits',
    })
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
  })

  it('matches an entry without a transaction with its transfer if they cancel out', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 14n)
    await fixture.send(fixture.payer, fixture.treasury, 15n)
    await fixture.post(fixture.purchased(14n), { payer: fixture.payer })
    const [deposit, other, entry] = await open()
    await refused(deposit!.id, { decision: 'explained' })
    await refused(other!.id, { decision: 'explained', together: [entry!.id] })
    await refused(deposit!.id, { decision: 'explained', together: [999n] })
    const together = { decision: 'explained', together: [entry!.id] } as const
    expect(await resolve(deposit!.id, together)).to.equal('resolved')
    expect(await resolve(deposit!.id, together)).to.equal('replayed')
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['unknown_deposit 15'])
    await refused(deposit!.id, { decision: 'surplus' })
  })

  it('accepts an explanation only if the balance is unaffected', async () => {
    const { id, tx } = await fixture.buy(1_000n, { confirmed: false })
    const owner = await fixture.ledger.account('assets:usdc:base:in-transit')
    const confirmed = { type: 'receipt.confirmed', amount: micros(999n) } as const
    await fixture.ledger.post(confirmed, { owner, id, meta: { tx } })
    const [found] = await open()
    expect(found).to.include({ kind: 'amount_differs', amount: 0n, entry: id })
    await refused(found!.id, { decision: 'shortfall' })
    await resolve(found!.id, { decision: 'explained' })
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(runs[0]!.pending).to.deep.equal([])
  })

  it('refuses decisions that leave a difference or lack an author', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    const [found] = await open()
    await refused(found!.id, { decision: 'shortfall' })
    await refused(found!.id, { decision: 'surplus' }, { ...BY, author: ' ' })
    await refused(found!.id, { decision: 'surplus' }, { ...BY, reason: '' })
    await refused(999n, { decision: 'surplus' })
    expect(await balance('liabilities:suspense')).to.equal(0n)
  })

  it('posts once, however many decide concurrently', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    const [found] = await open()
    const all = await Promise.all([1, 2, 3].map(() => resolve(found!.id, { decision: 'surplus' })))
    expect(all.sort()).to.deep.equal(['replayed', 'replayed', 'resolved'])
    expect(await balance('liabilities:suspense')).to.equal(70n)
  })

  it('is completed by the next run if interrupted between entry and closing', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    const [found] = await open()
    const real = new Ledger(fixture.pool)
    const cut = Object.assign(Object.create(real) as Ledger, {
      account: (code: string) => real.account(code),
      post: async (...entry: Parameters<Ledger['post']>) => {
        await real.post(...entry)
        throw new Error('killed')
      },
    })
    const error = await resolveWith(cut, found!.id, { decision: 'surplus' }).catch(
      (cause: unknown) => cause,
    )
    expect(error).to.have.property('message', 'killed')
    expect(await findException(fixture.pool, found!.id)).to.include({ resolution: null })
    await refused(found!.id, { decision: 'explained' })
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
    const closed = await findException(fixture.pool, found!.id)
    expect(closed).to.include({ resolution: 'booked', author: 'fin', explanation: BY.reason })
    expect(await resolve(found!.id, { decision: 'surplus' })).to.equal('replayed')
    expect(await balance('liabilities:suspense')).to.equal(70n)
  })

  it('does not hide the same difference if it recurs', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    const [first] = await open()
    await resolve(first!.id, { decision: 'surplus' })
    await fixture.run()
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['unknown_deposit 70'])
  })

  it('reports a reorganization that removes a transfer posted as found', async () => {
    await fixture.mine(4)
    const before = await fixture.stack.rpc('evm_snapshot')
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    const [found] = await open()
    await resolve(found!.id, { decision: 'surplus' })
    await fixture.stack.rpc('evm_revert', before)
    await fixture.mine(8)
    const [taken] = await open()
    expect(taken).to.include({ kind: 'reorganised', amount: -70n })
    await resolve(taken!.id, { decision: 'shortfall' })
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
  })
})
