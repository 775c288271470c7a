import { expect } from 'chai'
import { dayName, daysBefore, monthName, monthStart, systemClock } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf, expectRefused, type Json } from './fixture.ts'

const reason = 'a test'
const DEBIT = 'expenses:free-tier'

describe('value dates', () => {
  const admin = createAdmin()
  const soloAdjustmentMax = usd('10')
  const hub = useHub({ config: { admins: [admin.wallet], soloAdjustmentMax } })
  const today = dayName(systemClock.now())
  const lastMonth = monthName(monthStart(systemClock.now(), -1))
  let fay: Person
  let gus: Person
  before(async () => {
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
  })

  const get = (path: string): Promise<ApiResponse> => fay.ask(`/v1/finance/${path}`)
  const post = (path: string, body: Json, by = fay): Promise<ApiResponse> =>
    by.ask(`/v1/finance/${path}`, { body: { reason, ...body } })
  const adjust = (amount: bigint, value_date: string): Promise<ApiResponse> =>
    post('adjustments', {
      debit: DEBIT,
      credit: 'equity:opening',
      amount: Number(amount),
      value_date,
    })

  /** Sets the time of the first entry. @returns the one before */
  async function startLedgerAt(instant: string): Promise<string> {
    const { admin: owner } = hub().database
    const first = '(SELECT shard, seq_to FROM ledger.seal ORDER BY shard, seq_to LIMIT 1)'
    const where = `WHERE (shard, seq_to) = ${first}`
    const { rows } = await owner.query(`SELECT at::text FROM ledger.seal ${where}`)
    await owner.query('ALTER TABLE ledger.seal DISABLE TRIGGER append_only')
    await owner.query(`UPDATE ledger.seal SET at = $1 ${where}`, [instant])
    await owner.query('ALTER TABLE ledger.seal ENABLE TRIGGER append_only')
    return rows[0].at
  }

  it('are refused in the future and before the ledger began; nothing is posted', async () => {
    const lines = async () => (await get(`accounts/${DEBIT}/statement`)).body['closing']
    const before = await lines()
    const tomorrow = dayName(daysBefore(systemClock.now(), -1))
    for (const day of [tomorrow, '2099-12-31', '2020-01-01']) {
      for (const amount of [5n, soloAdjustmentMax + 5n]) {
        const refused = await adjust(amount, day)
        expectRefused(refused, 422, 'validation_failed')
        expect(refused.text).to.include('/value_date').and.to.include('nothing was posted')
      }
    }
    expect(await lines()).to.equal(before)
    expect(dataOf(await get('proposals?state=open'))).to.deep.equal([])
    const posted = await adjust(5n, today)
    expect(posted.body).to.include({ state: 'booked', value_date_note: null })
    expect(posted.body['used_value_date']).to.equal(`${today}T00:00:00.000Z`)
  })

  it('in a closed month are replaced and stored, and the response says so', async () => {
    const day = `${lastMonth}-20`
    const closing = await post('periods', { month: lastMonth })
    await post(`proposals/${String(closing.body['id'])}/confirm`, {}, gus)
    const [first] = dataOf(await get('periods'))
    expect(first).to.include({ month: lastMonth })
    const began = await startLedgerAt(`${lastMonth}-01T00:00:00Z`)
    try {
      const late = await adjust(5n, day)
      const proposed = await adjust(soloAdjustmentMax + 7n, day)
      expect(proposed.body).to.include({ state: 'proposed', used_value_date: null })
      const id = String(proposed.body['id'])
      const confirmed = await post(`adjustments/${id}/confirm`, {}, gus)
      for (const { body, text } of [late, confirmed]) {
        expect(String(body['used_value_date']).slice(0, 10), text).to.equal(today)
        expect(body['value_date_note']).to.match(new RegExp(`^${lastMonth} is closed: the entry`))
        const { body: trail } = await get(`entries/${String(body['id'])}`)
        const [entry] = trail['entries'] as Json[]
        expect(String(entry!['value_at']).slice(0, 10)).to.equal(today)
        expect(entry!['meta']).to.have.property('value_date').that.includes(day)
      }
    } finally {
      await startLedgerAt(began)
    }
    expectRefused(await post('periods', { month: today.slice(0, 7) }), 409, 'not_closable')
  })
})
