import { expect } from 'chai'
import { inTransaction } from '../../../core/db/transaction.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { findException } from '../../../core/reconciliation/exceptions.ts'
import type { Resolution } from '../../../core/reconciliation/resolve.ts'
import { NotResolvable, resolveException } from '../../../core/reconciliation/resolve.ts'
import { micros } from '../ledger/world.ts'
import { CREDITS, startWorld, type World, wrong } from './world.ts'

const BY = { author: 'fin', reason: 'seen on the bank day' }
const INVENTED = `0x${'ab'.repeat(32)}`

describe('resolving an exception', () => {
  let world: World
  beforeEach(async () => {
    world = await startWorld({ shards: 2 })
  })
  afterEach(async () => {
    const { checks } = await verifyLedger(world.pool)
    expect(checks.filter(({ bad }) => bad !== 0n)).to.deep.equal([])
    await world.stop()
  })
  const resolve = (id: bigint, resolution: Resolution, by = BY) =>
    resolveWith(world.ledger, id, resolution, by)
  const resolveWith = (ledger: Ledger, id: bigint, resolution: Resolution, by = BY) =>
    inTransaction(world.pool, (client) => resolveException({ client, ledger }, id, resolution, by))
  const refused = async (id: bigint, resolution: Resolution, by = BY) =>
    expect(await resolve(id, resolution, by).catch((error: unknown) => error)).to.be.instanceOf(
      NotResolvable,
    )
  const open = async () => (await world.run()).flatMap(({ exceptions }) => exceptions)
  const balance = (code: string) => world.ledger.balance(code)

  it('books a deposit into suspense, says who and why, and the next run agrees', async () => {
    const tx = await world.send(world.payer, world.treasury, 70n)
    const [found] = await open()
    expect(await resolve(found!.id, { decision: 'surplus' })).to.equal('resolved')
    expect(await balance('liabilities:suspense')).to.equal(70n)
    const runs = await world.run()
    expect(wrong(runs)).to.deep.equal([])
    expect(runs[0]).to.include({ chain: 70n, ledger: 70n })
    const closed = await findException(world.pool, found!.id)
    expect(closed).to.include({ resolution: 'booked', author: 'fin', explanation: BY.reason })
    const { rows } = await world.pool.query('SELECT meta FROM ledger.journal WHERE id = $1', [
      closed!.answer,
    ])
    expect(rows[0].meta).to.deep.equal({ ...BY, tx, exception: String(found!.id) })
  })

  it('books each kind of less as the house’s expense', async () => {
    await world.send(world.spend, world.seller, 80n)
    await world.post(world.purchased(12n), { payer: world.payer, transaction: INVENTED })
    await world.post(world.purchased(14n))
    const { tx } = await world.buy(15n)
    await world.post(world.purchased(15n), { payer: world.payer, transaction: tx })
    await world.mine()
    const found = await open()
    expect(found.map(({ kind }) => kind)).to.have.members([
      'missing_on_chain',
      'no_transaction',
      'booked_twice',
      'unknown_withdrawal',
    ])
    for (const { id } of found) await resolve(id, { decision: 'shortfall' })
    const runs = await world.run()
    expect(wrong(runs)).to.deep.equal([])
    expect(runs.flatMap(({ pending }) => pending)).to.deep.equal([])
    expect(runs.every(({ chain, ledger }) => chain === ledger)).to.equal(true)
    expect(await balance('expenses:reconciliation-difference')).to.equal(-121n)
    expect(await balance('assets:usdc:base:in-transit')).to.equal(0n)
  })

  it('gives a deposit to the key that it was meant for, at once or after suspense', async () => {
    await world.send(world.payer, world.treasury, 70n)
    await world.send(world.payer, world.treasury, 71n)
    const [first, second] = await open()
    const identified = { decision: 'identified', credits: CREDITS } as const
    await refused(first!.id, { decision: 'identified', credits: 'liabilities:agents:no:credits' })
    expect(await resolve(first!.id, identified)).to.equal('resolved')
    expect(await balance(CREDITS)).to.equal(70n)
    await resolve(second!.id, { decision: 'surplus' }) // on the first shard, the key on the other
    expect(await resolve(second!.id, identified)).to.equal('resolved')
    expect(await resolve(second!.id, identified)).to.equal('replayed')
    expect(await balance(CREDITS)).to.equal(141n)
    expect(await balance('liabilities:suspense')).to.equal(0n)
    expect(await balance('equity:opening')).to.equal(1_000_000n)
    await world.ledger.open('liabilities:agents:key_2:credits', 'USDC', { home: 0 })
    await refused(second!.id, {
      decision: 'identified',
      credits: 'liabilities:agents:key_2:credits',
    })
    expect(wrong(await world.run())).to.deep.equal([])
  })

  it('ties an entry without a transaction to its transfer, if they cancel out', async () => {
    await world.send(world.payer, world.treasury, 14n)
    await world.send(world.payer, world.treasury, 15n)
    await world.post(world.purchased(14n), { payer: world.payer })
    const [deposit, other, entry] = await open()
    await refused(deposit!.id, { decision: 'explained' })
    await refused(other!.id, { decision: 'explained', together: [entry!.id] })
    await refused(deposit!.id, { decision: 'explained', together: [999n] })
    const together = { decision: 'explained', together: [entry!.id] } as const
    expect(await resolve(deposit!.id, together)).to.equal('resolved')
    expect(await resolve(deposit!.id, together)).to.equal('replayed')
    expect(wrong(await world.run())).to.deep.equal(['unknown_deposit 15'])
    await refused(deposit!.id, { decision: 'surplus' })
  })

  it('explains alone what makes no difference to the balance', async () => {
    const { id, tx } = await world.buy(1_000n, { confirmed: false })
    const owner = await world.ledger.account('assets:usdc:base:in-transit')
    const confirmed = { type: 'receipt.confirmed', amount: micros(999n) } as const
    await world.ledger.post(confirmed, { owner, id, meta: { tx } })
    const [found] = await open()
    expect(found).to.include({ kind: 'amount_differs', amount: 0n, entry: id })
    await refused(found!.id, { decision: 'shortfall' })
    await resolve(found!.id, { decision: 'explained' })
    const runs = await world.run()
    expect(wrong(runs)).to.deep.equal([])
    expect(runs[0]!.pending).to.deep.equal([])
  })

  it('refuses what would not make chain and books agree, and what nobody stands for', async () => {
    await world.send(world.payer, world.treasury, 70n)
    const [found] = await open()
    await refused(found!.id, { decision: 'shortfall' })
    await refused(found!.id, { decision: 'surplus' }, { ...BY, author: ' ' })
    await refused(found!.id, { decision: 'surplus' }, { ...BY, reason: '' })
    await refused(999n, { decision: 'surplus' })
    expect(await balance('liabilities:suspense')).to.equal(0n)
  })

  it('books once, however often and however many decide at once', async () => {
    await world.send(world.payer, world.treasury, 70n)
    const [found] = await open()
    const all = await Promise.all([1, 2, 3].map(() => resolve(found!.id, { decision: 'surplus' })))
    expect(all.sort()).to.deep.equal(['replayed', 'replayed', 'resolved'])
    expect(await balance('liabilities:suspense')).to.equal(70n)
  })

  it('cut off between entry and closing is closed by the next run, as decided', async () => {
    await world.send(world.payer, world.treasury, 70n)
    const [found] = await open()
    const real = new Ledger(world.pool, { shards: 2 })
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
    expect(await findException(world.pool, found!.id)).to.include({ resolution: null })
    await refused(found!.id, { decision: 'explained' })
    expect(wrong(await world.run())).to.deep.equal([])
    const closed = await findException(world.pool, found!.id)
    expect(closed).to.include({ resolution: 'booked', author: 'fin', explanation: BY.reason })
    expect(await resolve(found!.id, { decision: 'surplus' })).to.equal('replayed')
    expect(await balance('liabilities:suspense')).to.equal(70n)
  })

  it('does not hide the same difference when it comes again', async () => {
    await world.send(world.payer, world.treasury, 70n)
    const [first] = await open()
    await resolve(first!.id, { decision: 'surplus' })
    await world.run()
    await world.send(world.payer, world.treasury, 70n)
    expect(wrong(await world.run())).to.deep.equal(['unknown_deposit 70'])
  })

  it('says so when a reorganisation takes a transfer away that was booked as found', async () => {
    await world.mine(4)
    const before = await world.stack.rpc('evm_snapshot')
    await world.send(world.payer, world.treasury, 70n)
    const [found] = await open()
    await resolve(found!.id, { decision: 'surplus' })
    await world.stack.rpc('evm_revert', before)
    await world.mine(8)
    const [taken] = await open()
    expect(taken).to.include({ kind: 'reorganised', amount: -70n })
    await resolve(taken!.id, { decision: 'shortfall' })
    expect(wrong(await world.run())).to.deep.equal([])
  })
})
