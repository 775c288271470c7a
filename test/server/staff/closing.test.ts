import { expect } from 'chai'
import { monthName, monthStart, systemClock } from '../../../core/clock.ts'
import { recordVerification } from '../../../core/ledger/verify/last-verification.ts'
import { usd } from '../../../core/money.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createException, createStaff, dataOf, expectRefused, type Json } from './fixture.ts'

const reason = 'a test'

describe('closing a month', () => {
  const admin = createAdmin()
  const hub = useHub({
    config: { admins: [admin.wallet], soloAdjustmentMax: usd('1') },
  })
  const monthBefore = (months: number): string => monthName(monthStart(systemClock.now(), -months))
  let fay: Person
  let gus: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
  })

  const get = (path: string): Promise<ApiResponse> => fay.ask(`/v1/finance/${path}`)
  const post = (path: string, body: Json, by = fay): Promise<ApiResponse> =>
    by.ask(`/v1/finance/${path}`, { body: { reason, ...body } })
  const close = (month: string, more: Json = {}) => post('periods', { month, ...more })
  const confirm = ({ body }: ApiResponse, by: Person) =>
    post(`proposals/${String(body['id'])}/confirm`, {}, by)
  const missing = async (month: string): Promise<unknown[]> => {
    const { body } = await get(`periods/${month}/checklist`)
    const items = (body['items'] as Json[]).filter(({ open }) => open !== 0)
    expect(body['complete']).to.equal(items.length === 0)
    return items.map(({ name }) => name)
  }
  const closedMonths = async () => dataOf(await get('periods')).map(({ month }) => month)

  it('is prepared by one person and done by another', async () => {
    const month = monthBefore(6)
    expect(await missing(month)).to.deep.equal([])
    const proposed = await close(month)
    expect([proposed.status, proposed.body['state']]).to.deep.equal([202, 'proposed'])
    expect(await closedMonths()).to.deep.equal([])
    expectRefused(await confirm(proposed, fay), 403, 'second_person_required')
    expect((await confirm(proposed, gus)).body['state']).to.equal('booked')
    expect(dataOf(await get('periods'))[0]).to.include({
      month,
      author: `${fay.email}, confirmed by ${gus.email}`,
    })
    const again = await close(month)
    expect([again.status, again.body]).to.deep.equal([200, { id: null, state: 'closed' }])
  })

  it('is refused by the database for one person alone', async () => {
    const { rows } = await hub().database.admin.query<{ id: string }>(
      'SELECT id FROM hub.principal LIMIT 1',
    )
    const alone = hub().database.admin.query(
      `INSERT INTO hub.staff_act (id, kind, subject, terms, accounts, exposure, reason, proposed_by,
         proposer, person, state, decided_at)
       VALUES (gen_random_uuid(), 'period', '2026-01', '{}', '{}', 0, 'x', 'x', $1, '{}', 'booked',
         now())`,
      [rows[0]!.id],
    )
    expect(await alone.catch((error: Error) => error.message)).to.include('staff_act_two_people')
  })

  it('is refused while the checklist is not complete, and says what is missing', async () => {
    const month = monthBefore(5)
    const current = monthBefore(0)
    expect(await missing(current)).to.include('over')
    for (const more of [{}, { override: true }]) {
      expectRefused(await close(current, more), 409, 'not_closable')
    }
    const large = { debit: 'expenses:bad-debt', credit: 'equity:opening', amount: 5_000_000 }
    const pending = await post('adjustments', large)
    expect(pending.status).to.equal(202)
    await createException(hub())
    expect(await missing(month)).to.deep.equal(['exceptions', 'proposals'])
    const refused = await close(month)
    expectRefused(refused, 409, 'not_closable')
    expect(refused.body['missing']).to.deep.equal(['exceptions', 'proposals'])
    expect(await closedMonths()).to.not.include(month)
    await post(`proposals/${String(pending.body['id'])}/decline`, {})
    expect(await missing(month)).to.deep.equal(['exceptions'])
  })

  it('despite a missing item needs two people who have seen it', async () => {
    const month = monthBefore(4)
    const proposed = await close(month, { override: true })
    expect(proposed.status).to.equal(202)
    const large = { debit: 'expenses:bad-debt', credit: 'equity:opening', amount: 6_000_000 }
    const pending = await post('adjustments', large)
    const unseen = await confirm(proposed, gus)
    expectRefused(unseen, 409, 'not_closable')
    expect(unseen.body['missing'], 'not seen by the first person').to.deep.equal(['proposals'])
    await post(`proposals/${String(pending.body['id'])}/decline`, {})
    expect((await confirm(proposed, gus)).status).to.equal(200)
    const [line] = dataOf(await fay.ask('/v1/admin/audit?act=period'))
    expect(line!['after']).to.deep.equal({
      closed: [monthBefore(5), month],
      override: ['exceptions'],
    })
  })

  it('is refused after a failed verification, of new entries or of all', async () => {
    const month = monthBefore(3)
    const { pool } = hub().hub
    const checkOf = (bad: bigint) => ({ name: 'a check', bad, example: 'a row' })
    const record = (bad: bigint, scope: 'new' | 'all') =>
      recordVerification(pool, { ok: bad === 0n, checks: [checkOf(bad)], notes: [] }, scope)
    for (const scope of ['new', 'all'] as const) {
      await record(1n, scope)
      expect(await missing(month), scope).to.include('verified')
      expectRefused(await close(month), 409, 'not_closable')
      await record(0n, scope)
      expect(await missing(month), scope).to.not.include('verified')
    }
  })

  it('counts entries without verification and payments that began before its end', async () => {
    const month = monthBefore(1)
    const { admin: owner } = hub().database
    await hub().credit((await hub().agent()).keyId, usd('1'))
    const counts = async (): Promise<unknown[]> => missing(month)
    expect(await counts()).to.deep.equal(['exceptions'])
    await owner.query(
      `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
         commission_bps, request_hash, amount, state, valid_before, claimed_at)
       VALUES ('n', '0x' || repeat('1', 40), '0x' || repeat('2', 40), '0x' || repeat('3', 64),
         gen_random_uuid(), 'call', '0x' || repeat('4', 40), 'x', 0, '', 5, 'pending', now(), $1)`,
      [`${month}-15T00:00:00Z`],
    )
    expect(await counts()).to.deep.equal(['exceptions', 'payments'])
    await owner.query(`DELETE FROM hub.payment_claim WHERE nonce = '0x' || repeat('3', 64)`)
    const { rows } = await owner.query<{ at: string }>(
      'SELECT at::text FROM ledger.seal ORDER BY shard, seq_to LIMIT 1',
    )
    const setSeal = async (at: string): Promise<void> => {
      await owner.query('ALTER TABLE ledger.seal DISABLE TRIGGER append_only')
      await owner.query(
        `UPDATE ledger.seal SET at = $1 WHERE (shard, seq_to) =
           (SELECT shard, seq_to FROM ledger.seal ORDER BY shard, seq_to LIMIT 1)`,
        [at],
      )
      await owner.query('ALTER TABLE ledger.seal ENABLE TRIGGER append_only')
    }
    await setSeal(`${month}-15T00:00:00Z`)
    expect(await counts()).to.deep.equal(['verified', 'exceptions'])
    await setSeal(rows[0]!.at)
  })
})
