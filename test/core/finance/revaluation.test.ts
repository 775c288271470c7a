import { expect } from 'chai'
import { monthName, monthStart, systemClock } from '../../../core/clock.ts'
import { closingChecklist } from '../../../core/finance/closing-checklist.ts'
import { isEthValued, submitRevaluation } from '../../../core/finance/revaluation.ts'
import type { FinanceDeps, Staff } from '../../../core/finance/staff-acts.ts'
import { prefixedId, uuidv7 } from '../../../core/ids.ts'
import type { SingleStepEvent } from '../../../core/ledger/events.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { GAS } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('ETH that did not change in a month', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let fay: Staff
  const [first = '', second = '', third = ''] = [-3, -2, -1].map((offset) =>
    monthName(monthStart(systemClock.now(), offset)),
  )
  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
    const principal = prefixedId('prn')
    await database.admin.query(
      'INSERT INTO hub.principal (id, wallet_address, shard) VALUES ($1, $2, 0)',
      [principal, `0x${'ab'.repeat(20)}`],
    )
    const about = { via: 'session', role: 'finance', requestId: null, network: null } as const
    fay = { name: 'fay@house.example', principal, ...about }
    await post({ type: 'balance.opened', account: GAS, amount: 50_000_000n, asset: 'GWEI' }, first)
  })
  after(() => database.drop())

  /** Posts an event at the beginning of a month. */
  async function post(event: SingleStepEvent, month: string): Promise<void> {
    const effectiveAt = new Date(`${month}-02T00:00:00Z`)
    const entry = { owner: await ledger.account(GAS), id: uuidv7(effectiveAt.getTime()) }
    expect(await ledger.post(event, { ...entry, effectiveAt })).to.equal('applied')
  }
  const value = (month: string, price: string) => {
    const { pool } = database
    const deps: FinanceDeps = { pool, ledger, clock: systemClock, soloAdjustmentMax: usd('9000') }
    const order = { month, price: usd(price), source: 'Exchange, 23:59' }
    return submitRevaluation(deps, fay, order, 'a test').then(
      ({ state }) => state,
      ({ message }: Error) => message,
    )
  }
  const isMissing = async (month: string): Promise<boolean> => {
    const items = await closingChecklist(database.pool, month)
    return items.some(({ name, open }) => name === 'revalued' && open !== 0n)
  }
  const entries = async (): Promise<bigint> => {
    const { rows } = await database.pool.query<{ n: bigint }>(
      'SELECT count(*) AS n FROM ledger.journal WHERE kind = 45',
    )
    return rows[0]!.n
  }

  it('is valued by stating its price, without an entry and once', async () => {
    expect(await value(first, '2000')).to.equal('booked')
    expect(await isMissing(second)).to.equal(true)
    expect(await value(second, '2000')).to.equal('booked')
    expect(await isMissing(second)).to.equal(false)
    expect(await entries()).to.equal(1n)
    expect(await value(second, '2000')).to.match(/has this value .* already/)
    expect(await isMissing(third), 'each month has a price of its own').to.equal(true)
  })

  it('is valued by an entry once gas was posted later, or the price corrected', async () => {
    await post({ type: 'gas.paid', gwei: 1_000_000n, cost: usd('3') }, second)
    expect(await isMissing(second)).to.equal(true)
    for (const price of ['2000', '2500', '2000']) {
      expect(await value(second, price)).to.equal('booked')
      expect(await isMissing(second)).to.equal(false)
    }
    expect(await entries()).to.equal(4n)
  })

  it('is valued if it is worth less than a microdollar', async () => {
    await post({ type: 'gas.paid', gwei: 48_999_999n, cost: usd('90') }, third)
    expect(await value(third, '100')).to.equal('booked')
    expect(await isEthValued(database.pool, third)).to.equal(true)
  })
})
