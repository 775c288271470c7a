import { expect } from 'chai'
import { ask } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createVisitor, dataOf, expectRefused, type Json, readAudit } from './fixture.ts'

const reason = 'a test'

describe('roles with a waiting time', () => {
  const [first, second] = [createAdmin(), createAdmin()]
  const hub = useHub({
    config: { admins: [first.wallet, second.wallet], roleWaitHours: 24 },
  })
  let key: string
  let fay: Person
  before(async () => {
    key = await first.key(hub())
    fay = await createVisitor(hub(), 'fay@house.example')
  })
  const grant = async (name: string, role: string): Promise<Json> => {
    const body = { name, role, reason }
    const granted = await ask(hub().url, '/v1/admin/roles', { key, body })
    expect(granted.status, granted.text).to.equal(201)
    return granted.body
  }
  const confirm = (by: string, { role_id: id }: Json) =>
    ask(hub().url, `/v1/admin/roles/${String(id)}/confirm`, { key: by, body: { reason } })

  it('take effect when it ends, or when a second administrator confirms them', async () => {
    const granted = await grant(fay.email, 'finance')
    const waitMs =
      Date.parse(String(granted['effective_at'])) - Date.parse(String(granted['granted_at']))
    expect(waitMs).to.be.within(86_399_000, 86_401_000)
    expectRefused(await fay.ask('/v1/finance/trial-balance'), 403, 'finance_only')
    expectRefused(await confirm(key, granted), 403, 'second_person_required')
    expect((await readAudit(hub())).last).to.include({ act: 'act.refuse' })
    const response = await confirm(await second.key(hub()), granted)
    expect(response.body, response.text).to.include({ confirmed_by: second.wallet })
    expect((await readAudit(hub())).last).to.include({ act: 'role.confirm', subject: fay.email })
    expect((await fay.ask('/v1/finance/trial-balance')).status).to.equal(200)
    const order = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: 5, reason }
    expect((await fay.ask('/v1/finance/adjustments', { body: order })).status).to.equal(201)
  })

  it('are read-only and immediate for auditors, who can export', async () => {
    const ivy = await createVisitor(hub(), 'ivy@audit.example')
    await grant(ivy.email, 'auditor')
    for (const path of ['finance/trial-balance', 'finance/proposals', 'admin/audit']) {
      expect((await ivy.ask(`/v1/${path}`)).status, path).to.equal(200)
    }
    expect((await ivy.ask('/v1/admin/access-review')).status).to.equal(200)
    const retention = await ivy.ask('/v1/admin/retention')
    expect(dataOf(retention).find(({ name }) => name === 'journal')).to.deep.include({
      kept: 'evidence',
      deleted_by: null,
      protected: true,
    })
    const started = await ivy.ask('/v1/finance/exports', { body: { format: 'csv', reason } })
    expect(started.status, started.text).to.equal(202)
    const order = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: 5, reason }
    for (const [path, body] of [
      ['finance/adjustments', order],
      ['finance/periods', { month: '2020-01', reason }],
      ['finance/outgoing', { paused: true, reason }],
    ] as const) {
      expectRefused(await ivy.ask(`/v1/${path}`, { body }), 403, 'finance_only')
      const { last } = await readAudit(hub())
      expect(last).to.include({ act: 'act.refuse', role: 'auditor', subject: `POST /v1/${path}` })
    }
    const body = { name: ivy.email, role: 'admin', reason }
    expectRefused(await ivy.ask('/v1/admin/roles', { body }), 403, 'admin_only')
    expect((await readAudit(hub())).last).to.include({ subject: 'POST /v1/admin/roles' })
  })

  it('are listed in the access review, with last use and review', async () => {
    const review = async () => {
      const { body } = await ask(hub().url, '/v1/admin/access-review', { key })
      return (body['data'] as Json[]).find(({ name }) => name === fay.email)!
    }
    const before = await review()
    expect(before).to.include({ role: 'finance', granted_by: first.wallet, reviewed_at: null })
    expect(before['last_act_at']).to.be.a('string')
    const path = `/v1/admin/roles/${String(before['role_id'])}/review`
    expect((await ask(hub().url, path, { key, body: { reason } })).status).to.equal(200)
    expect(await review()).to.include({ reviewed_by: first.wallet })
    const all = await ask(hub().url, '/v1/admin/access-review', { key })
    expect(all.body['same_person_acts']).to.deep.equal([])
    const configured = (all.body['data'] as Json[]).filter(({ role_id: id }) => id === null)
    expect(configured.map(({ name }) => name)).to.have.members([first.wallet, second.wallet])
    expect(dataOf(all)).to.have.length.greaterThan(3)
  })
})
