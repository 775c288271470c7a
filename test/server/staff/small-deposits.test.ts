import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf, expectRefused, type Json } from './fixture.ts'

describe('many small deposits of strangers', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], soloAdjustmentMax: usd('1') } })
  let fay: Person
  let gus: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
  })

  /** Plants deposits to the spend wallet, as a run of the reconciliation finds them. */
  const plant = (count: number, amount: number) =>
    hub().database.admin.query(
      `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
       SELECT 'spend', 'unknown_deposit', gen_random_uuid()::text, $2, 'Nobody knows.'
       FROM generate_series(1, $1::integer)`,
      [count, amount],
    )
  const resolve = (by = fay): Promise<ApiResponse> =>
    by.ask('/v1/finance/small-deposits/resolve', { body: { wallet: 'spend', reason: 'dust' } })
  const open = async (): Promise<unknown> => {
    const { body } = await fay.ask('/v1/finance/small-deposits')
    return (body['wallets'] as Json[]).find(({ wallet }) => wallet === 'spend')
  }

  it('are resolved a thousand at a time, and hide no other difference', async () => {
    await plant(1_001, 5)
    await plant(1, 1_000_001)
    const path = '/v1/finance/exceptions?wallet=spend&limit=100&small_deposits='
    const [large, ...more] = dataOf(await fay.ask(`${path}none`))
    expect([large?.['amount_microdollars'], more]).to.deep.equal([1_000_001, []])
    expect(dataOf(await fay.ask(`${path}only`))).to.have.length(100)
    expect(await open()).to.include({ deposits: 1_001 })
    const response = await resolve()
    expect(
      [response.status, response.body['state'], response.body['deposits']],
      response.text,
    ).to.deep.equal([200, 'booked', 1_000])
    expect(await open()).to.include({ deposits: 1, amount_microdollars: 5 })
    expect((await resolve()).body['deposits']).to.equal(1)
    expectRefused(await resolve(), 404, 'not_found')
  })

  it('need a second person once their sum of the day exceeds the limit', async () => {
    await plant(2, 400_000)
    expect((await resolve()).status).to.equal(200)
    await plant(1, 400_000)
    const proposed = await resolve()
    expect([proposed.status, proposed.body['state']]).to.deep.equal([202, 'proposed'])
    expect(await open()).to.include({ deposits: 1 })
    const path = `/v1/finance/proposals/${String(proposed.body['id'])}/confirm`
    const body = { reason: 'dust' }
    expectRefused(await fay.ask(path, { body }), 403, 'second_person_required')
    await plant(1, 7)
    expectRefused(await resolve(gus), 409, 'not_booked')
    expect((await gus.ask(path, { body })).body['state']).to.equal('booked')
    expect(await open(), 'came after the proposal').to.include({ deposits: 1 })
  })
})
