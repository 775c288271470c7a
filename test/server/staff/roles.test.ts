import { expect } from 'chai'
import { type Actor, withAudit } from '../../../core/audit/record.ts'
import { revokeRole } from '../../../core/identity/roles.ts'
import { usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf, expectRefused, type Json } from './fixture.ts'

const reason = 'a test'

describe('staff', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let key: string
  let ann: Person
  let fay: Person
  before(async () => {
    key = await admin.key(hub())
    ann = await createStaff(hub(), admin, 'ann@house.example', 'admin')
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
  })
  const take = (id: string, by: string | Person) => {
    const question = { method: 'DELETE', body: { reason } }
    const path = `/v1/admin/roles/${id}`
    return typeof by === 'string'
      ? ask(hub().url, path, { ...question, key: by })
      : by.ask(path, question)
  }

  it('have access by role: finance to the ledger, administrators to everything', async () => {
    for (const who of [ann, fay]) {
      expect((await who.ask('/v1/finance/trial-balance')).status).to.equal(200)
    }
    expect((await ann.ask('/v1/admin/roles')).status).to.equal(200)
    expectRefused(await fay.ask('/v1/admin/roles'), 403, 'admin_only')
    const body = { name: 'fay@house.example', role: 'admin', reason }
    expectRefused(await fay.ask('/v1/admin/roles', { body }), 403, 'admin_only')
  })

  it('can use their main keys, but not sub-keys', async () => {
    const response = await fay.ask('/v1/keys', { body: {} })
    const own = String(response.body['api_key'])
    expect((await ask(hub().url, '/v1/finance/trial-balance', { key: own })).status).to.equal(200)
    const child = await ask(hub().url, '/v1/keys', { key: own, body: {} })
    const below = String(child.body['api_key'])
    expectRefused(
      await ask(hub().url, '/v1/finance/trial-balance', { key: below }),
      403,
      'finance_only',
    )
  })

  it('are protected against requests from pages of other sites', async () => {
    const body = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: 5, reason }
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    ]) {
      expectRefused(
        await fay.ask('/v1/finance/adjustments', { body, headers }),
        403,
        'origin_not_allowed',
      )
    }
  })

  it('lose a revoked role immediately, while its history remains', async () => {
    const gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    const roles = dataOf(await ann.ask('/v1/admin/roles'))
    const { role_id: id } = roles.find(({ name }) => name === gus.email)!
    expect((await take(String(id), ann)).body).to.include({ revoked_by: ann.email })
    expectRefused(await gus.ask('/v1/finance/trial-balance'), 403, 'finance_only')
    expectRefused(await take(String(id), ann), 404, 'not_found')
    expect(dataOf(await ann.ask('/v1/admin/roles')).map(({ name }) => name)).not.to.include(
      gus.email,
    )
    const ever = dataOf(await ann.ask('/v1/admin/roles?held=ever'))
    expect(ever.find(({ role_id }) => role_id === id)).to.include({ revoked_by: ann.email })
  })

  it('have a role once, even if it is granted repeatedly', async () => {
    const body = { name: 'FAY@house.example', role: 'finance', reason }
    const again = await ask(hub().url, '/v1/admin/roles', { key, body })
    expect([again.status, again.body['name']]).to.deep.equal([200, fay.email])
    const mine = dataOf(await ann.ask('/v1/admin/roles')).filter(({ name }) => name === fay.email)
    expect(mine).to.have.length(1)
  })

  it('have role grants that the database protects from changes', async () => {
    const { pool } = hub().hub
    const { admin: owner } = hub().database
    for (const act of [
      'DELETE FROM hub.role',
      `UPDATE hub.role SET role = 'admin'`,
      `UPDATE hub.role SET revoked_at = NULL, revoked_by = NULL WHERE revoked_at IS NOT NULL`,
    ]) {
      for (const database of [pool, owner]) {
        expect(await database.query(act).catch((error: Error) => error)).to.be.instanceOf(Error)
      }
    }
  })

  it('always include an administrator, even with concurrent revocations', async () => {
    const una = await createStaff(hub(), admin, 'una@house.example', 'admin')
    const held = dataOf(await ann.ask('/v1/admin/roles')).filter(({ role }) => role === 'admin')
    expect(held.map(({ name }) => name)).to.have.members([ann.email, una.email])
    const by: Actor = {
      name: 'a test',
      principal: null,
      via: null,
      role: 'operator',
      requestId: null,
      network: null,
    }
    const none: readonly string[] = [] // no configured administrators
    const drop = ({ role_id: id }: Json) =>
      withAudit(hub().hub.pool, by, reason, (client) =>
        revokeRole(client, BigInt(String(id)), by.name, none),
      )
    const ended = await Promise.allSettled(held.map(drop))
    const failed = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(failed.map(({ code }: { code: string }) => code)).to.deep.equal(['last_administrator'])
    const left = dataOf(await ask(hub().url, '/v1/admin/roles', { key }))
    expect(left.filter(({ role }) => role === 'admin')).to.have.length(1)
    const body = { name: ann.email, role: 'admin', reason }
    expect((await ask(hub().url, '/v1/admin/roles', { key, body })).status).to.be.within(200, 201)
  })

  describe('who suspend a service', () => {
    let ada: TestAgent
    before(async () => {
      ada = await hub().agent()
      await hub().credit(ada.keyId, usd('1'))
    })
    const say = () => ask(hub().url, '/proxy/echo/say', { key: ada.apiKey, body: { words: 'hi' } })
    const listed = async () => {
      const all = dataOf(await ask(hub().url, '/v1/services?limit=100'))
      const response = await ask(hub().url, '/v1/search', {
        key: ada.apiKey,
        body: { query: 'echo', type: 'native' },
      })
      const has = (rows: Json[]) => rows.some(({ slug }) => slug === 'echo')
      return [has(all), has(dataOf(response))]
    }
    const act = (kind: string, id: string, what: string) =>
      ann.ask(`/v1/admin/${kind}/${id}/${what}`, { body: { reason } })

    it('remove it from all lists and block calls until they resume it', async () => {
      expect((await say()).status).to.equal(200)
      expect(await listed()).to.deep.equal([true, true])
      const { rows } = await hub().database.admin.query<{ provider: string }>(
        `SELECT provider FROM hub.service WHERE slug = 'echo'`,
      )
      for (const [kind, id] of [
        ['services', 'echo'],
        ['providers', rows[0]!.provider],
      ] as const) {
        expect((await act(kind, id, 'suspend')).body).to.include({ id, before: 'on' })
        hub().advanceCaches(1_000)
        expectRefused(await say(), 503, 'service_suspended')
        expect(await listed(), `${kind} suspended`).to.deep.equal([false, false])
        const seen = dataOf(await ann.ask('/v1/admin/services?only=suspended&limit=100'))
        expect(seen.find(({ slug }) => slug === 'echo')).to.include({
          suspended: kind.slice(0, -1),
          suspended_reason: reason,
        })
        expect((await act(kind, id, 'resume')).body).to.include({ after: 'on' })
        hub().advanceCaches(1_000)
        expect((await say()).status).to.equal(200)
        expect(await listed(), `${kind} resumed`).to.deep.equal([true, true])
      }
    })

    it('do not list an unlisted service by suspending and resuming it', async () => {
      for (const what of ['suspend', 'resume']) await act('services', 'external', what)
      const { rows } = await hub().database.admin.query<{ state: string }>(
        `SELECT state FROM hub.service WHERE slug = 'external'`,
      )
      expect(rows[0]!.state).to.equal('unlisted')
    })
  })
})
