import { expect } from 'chai'
import { monthName, monthStart } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { closingChecklist } from '../../../core/finance/closing-checklist.ts'
import { ledgerInTransaction } from '../../../core/ledger/in-transaction.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { findException, listExceptions } from '../../../core/reconciliation/exceptions.ts'
import { resolveException } from '../../../core/reconciliation/resolve.ts'
import {
  findSmallDeposits,
  resolveSmallDeposits,
  sumSmallDeposits,
} from '../../../core/reconciliation/small-deposits.ts'
import { CREDITS, exceptionTexts, type ReconciliationFixture, startFixture } from './fixture.ts'

const BY = { author: 'fin', reason: 'dust of strangers' }

describe('small deposits of strangers', () => {
  let fixture: ReconciliationFixture
  before(async () => {
    fixture = await startFixture({ shards: 2 })
  })
  after(async () => {
    const { checks } = await verifyLedger(fixture.pool)
    expect(checks.filter(({ bad }) => bad !== 0n)).to.deep.equal([])
    await fixture.stop()
  })

  const resolveAll = () =>
    inTransaction(fixture.pool, async (client) => {
      const ids = (await findSmallDeposits(client, 'treasury')).map(({ id }) => id)
      const ledger = ledgerInTransaction(fixture.ledger, client)
      return resolveSmallDeposits({ client, ledger }, 'treasury', ids, BY)
    })
  const openOf = async (month: string): Promise<bigint> => {
    const items = await closingChecklist(fixture.pool, month)
    return items.find(({ name }) => name === 'exceptions')!.open
  }

  it('do not keep an earlier month open', async () => {
    await fixture.run()
    // Not that of this machine: the run may end before midnight, and the month after it.
    const { rows } = await fixture.pool.query<{ at: Date }>(
      'SELECT max(block_time) AS at FROM hub.reconciliation',
    )
    const lastMonth = monthName(monthStart(rows[0]!.at, -1))
    const thisMonth = monthName(rows[0]!.at)
    await fixture.sendTogether([1n, 2n, 3n])
    await fixture.mine()
    await fixture.run()
    expect(await openOf(lastMonth)).to.equal(0n)
    expect(await openOf(thisMonth)).to.equal(3n)
  })

  it('are resolved by one entry, after which ledger and chain agree', async () => {
    await fixture.sendTogether([1_000_000n, 1_000_001n])
    await fixture.mine()
    await fixture.run()
    const [sums] = await sumSmallDeposits(fixture.pool)
    expect(sums).to.deep.equal({ wallet: 'treasury', deposits: 4n, amount: 1_000_006n })
    const suspense = await fixture.ledger.balance('liabilities:suspense')
    expect(await resolveAll()).to.have.length(4)
    expect(await resolveAll(), 'once').to.deep.equal([])
    const added = (await fixture.ledger.balance('liabilities:suspense')) - suspense
    expect(added).to.equal(1_000_006n)
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.have.length(1)
    const [large] = await listExceptions(fixture.pool)
    expect(large, 'larger than a small one').to.include({ amount: 1_000_001n })
    expect(await sumSmallDeposits(fixture.pool)).to.deep.equal([])
  })

  it('can be identified one by one later, as credits of a key on another shard', async () => {
    const [found] = await listExceptions(fixture.pool, { resolved: true, small: true })
    const before = await fixture.ledger.balance(CREDITS)
    const identified = await inTransaction(fixture.pool, (client) => {
      const ledger = ledgerInTransaction(fixture.ledger, client)
      const resolution = { decision: 'identified', credits: CREDITS } as const
      return resolveException({ client, ledger }, found!.id, resolution, BY)
    })
    expect(identified).to.equal('resolved')
    expect(await fixture.ledger.balance(CREDITS)).to.equal(before + found!.amount)
    expect(await findException(fixture.pool, found!.id)).to.include({ resolution: 'booked' })
    expect(exceptionTexts(await fixture.run())).to.have.length(1)
  })
})
