import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { executeRecovery } from '../../../core/finance/receivables.ts'
import { uuidv7 } from '../../../core/ids.ts'
import type { Micros } from '../../../core/money.ts'
import { refundSubscriber } from '../../../core/webhooks/sources.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, createVisitor, expectRefused, type Json } from './fixture.ts'
import { EARNINGS, PRICE, works } from './paid-service.ts'

const SHARE = Number(PRICE - PRICE / 10n)

describe('the debts of providers', () => {
  const admin = createAdmin()
  const hub = useHub({
    plugins: [works],
    config: { admins: [admin.wallet], soloAdjustmentMax: usd('100') },
  })
  let ada: TestAgent
  let fay: Person
  let gus: Person
  let owner: Person
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    owner = await createVisitor(hub(), 'owner@shop.example')
    await hub().database.admin.query(
      `UPDATE hub.provider SET owner = (SELECT principal FROM hub.person
         WHERE email = 'owner@shop.example') WHERE id = 'example'`,
    )
  })

  const post = (path: string, body: Json = {}, by = fay): Promise<ApiResponse> =>
    by.ask(`/v1/finance/${path}`, { body: { reason: 'a test', ...body } })
  const read = async () => (await fay.ask('/v1/finance/receivables')).body
  const balance = (account: string): Promise<bigint> => hub().hub.ledger.balance(account)

  const earn = async (): Promise<void> => {
    const sold = await ada.client.call('works', '/do', {})
    expect([sold.charged, sold.source], JSON.stringify(sold.body)).to.deep.equal([PRICE, 'credits'])
    await eventually(async () => (await balance(EARNINGS)) > 0n)
  }

  /** Refunds a call that the provider was already paid for. */
  async function refundedAfterPayout(): Promise<string> {
    const { ledger, pool } = hub().hub
    await earn()
    const account = await ledger.account(EARNINGS)
    const earned = await pool.query<{ shard: number; amount: Micros }>(
      'SELECT shard, balance AS amount FROM ledger.balance WHERE account = $1 AND balance > 0',
      [account.id],
    )
    for (const { shard, amount } of earned.rows) {
      const payout = { type: 'payout.started', earnings: EARNINGS, amount } as const
      const entry = { owner: { ...account, shard }, id: uuidv7(systemClock.now().getTime()) }
      expect(await ledger.post(payout, entry)).to.equal('applied')
    }
    const { rows } = await pool.query<{ id: string }>(
      'SELECT id FROM ledger.journal WHERE kind = 2 ORDER BY at DESC LIMIT 1',
    )
    expect((await post(`calls/${rows[0]!.id}/refund`)).status).to.equal(200)
    return rows[0]!.id
  }

  it('are listed by origin and age, for finance and for the provider', async () => {
    const call = await refundedAfterPayout()
    const found = await read()
    const origin = { provider_id: 'example', entry_id: call, event: 'call.reversed', age_days: 0 }
    const amounts = { amount_microdollars: SHARE, open_microdollars: SHARE }
    expect(found).to.include({ total_microdollars: SHARE })
    expect((found['data'] as Json[])[0]).to.include({ ...origin, ...amounts })
    const own = (await owner.ask('/v1/provider/balance')).body
    expect(own['totals']).to.include({ debt_microdollars: SHARE })
    const [provider] = own['data'] as Json[]
    expect((provider!['debts'] as Json[])[0]).to.include({ entry_id: call, ...amounts })
    const page = await owner.ask('/provider')
    expect(page.text).to.include('You owe').and.to.include(call).and.to.include('$0.009')
  })

  it('are announced to the provider when they arise, without waiting for a payout', async () => {
    const { pool } = hub().hub
    await pool.query(
      `INSERT INTO hub.webhook (id, principal, url, events)
       SELECT 'whk_0000000000000001', owner, 'https://shop.example/hook', '{earnings.owed}'
       FROM hub.provider WHERE id = 'example'`,
    )
    const [first] = (await read())['data'] as Json[]
    const { rows } = await pool.query<{ shard: number; seq: bigint }>(
      'SELECT shard, seq FROM ledger.journal WHERE id = $1 AND kind = 29',
      [first!['entry_id']],
    )
    const { shard, seq } = rows[0]!
    const page = { shard, from: 1n, to: seq, replay: false }
    await inTransaction(pool, (client) => refundSubscriber.handle(client, page))
    const events = await pool.query<{ data: Json }>(
      `SELECT data FROM hub.webhook_event WHERE type = 'earnings.owed'`,
    )
    expect(events.rows.map(({ data }) => data)).to.deep.equal([
      {
        provider_id: 'example',
        entry_id: first!['entry_id'],
        amount_microdollars: SHARE,
        debt_microdollars: SHARE,
      },
    ])
  })

  it('are recovered from earnings, the oldest first', async () => {
    const second = await refundedAfterPayout()
    await earn()
    const response = await post('receivables/example/recovery')
    expect([response.status, response.body['state']], response.text).to.deep.equal([200, 'booked'])
    expect(await balance(EARNINGS)).to.equal(0n)
    const found = await read()
    expect((found['data'] as Json[]).map((each) => each['entry_id'])).to.deep.equal([second])
    expect(found['total_microdollars']).to.equal(SHARE)
    expectRefused(await post('receivables/example/recovery'), 409, 'not_booked')
  })

  it('are written off by two people, and never beyond the debt', async () => {
    const more = await post('receivables/example/write-off', { amount_microdollars: SHARE + 1 })
    expectRefused(more, 409, 'not_booked')
    const part = await post('receivables/example/write-off', { amount_microdollars: 1_000 })
    expect([part.status, part.body['state']], part.text).to.deep.equal([202, 'proposed'])
    const confirm = `proposals/${String(part.body['id'])}/confirm`
    expectRefused(await post(confirm), 403, 'second_person_required')
    expect((await post(confirm, {}, gus)).status).to.equal(200)
    expect((await read())['total_microdollars']).to.equal(SHARE - 1_000)
    expect(await balance('expenses:bad-debt')).to.equal(-1_000n)
  })

  it('are corrected only with the name of a provider who owes as much', async () => {
    const sides = { debit: 'expenses:bad-debt', credit: 'assets:receivable:providers', amount: 5 }
    const nameless = await post('adjustments', sides)
    expectRefused(nameless, 409, 'not_booked')
    expectRefused(
      await post('adjustments', { ...sides, provider_id: 'upstream' }),
      409,
      'not_booked',
    )
    const named = await post('adjustments', { ...sides, provider_id: 'example' })
    expect([named.status, named.body['state']]).to.deep.equal([202, 'proposed'])
    const id = String(named.body['id'])
    expect((await post(`adjustments/${id}/confirm`, {}, gus)).status).to.equal(200)
    expect((await read())['total_microdollars']).to.equal(SHARE - 1_005)
  })

  it('are recovered up to the amount that was ordered, whatever was earned since', async () => {
    const { ledger } = hub().hub
    const open = Number((await read())['total_microdollars'])
    await earn()
    const act = {
      id: uuidv7(systemClock.now().getTime()),
      subject: 'example',
      terms: { amount: '1000' },
    }
    const recover = executeRecovery({ ledger, clock: systemClock }, act)
    await inTransaction(hub().database.admin, (on) =>
      recover(on, { author: 'gus', reason: 'a test' }),
    )
    expect(await balance(EARNINGS)).to.equal(BigInt(SHARE - 1_000))
    expect((await read())['total_microdollars']).to.equal(open - 1_000)
  })
})
