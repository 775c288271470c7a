import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { ask, type Question, type Told } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { moveBetweenWallets } from '../rest/finance/platform-wallets.ts'
import { makeAdmin } from '../rest/finance/world.ts'
import { reason, WALKS_ALONE, type Walk } from './walks.ts'
import {
  auditOf,
  colleague,
  data,
  type Json,
  refused,
  unexplained,
  visitor,
  waitingService,
} from './world.ts'

const NOBODY = randomUUID()
const BIG = 101_000_000

describe('the audit log', () => {
  const admin = makeAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], jobs: false } })
  let ada: TestAgent
  let fay: Person
  let key: string
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    key = await admin.key(hub())
    fay = await colleague(hub(), admin, 'fay@house.example', 'finance')
    const account = 'liabilities:providers:example:echo'
    await hub().hub.ledger.open(account, 'USDC', {}) // so that a provider is there to be paid
  })

  const as = (question: Question, path: string): Promise<Told> =>
    ask(hub().url, path, { key, ...question })
  const grantTo = async (email: string): Promise<string> => {
    await visitor(hub(), email)
    const told = await as({ body: { name: email, role: 'finance', reason } }, '/v1/admin/roles')
    return String(told.body['role_id'])
  }
  const propose = async (): Promise<string> => {
    const body = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: BIG, reason }
    const told = await fay.ask('/v1/finance/adjustments', { body })
    expect(told.status, told.text).to.equal(202)
    return String(told.body['id'])
  }
  const exception = () => unexplained(hub())
  const paidCall = async (): Promise<string> => {
    const said = await as({ key: ada.apiKey, body: { words: 'hi' } }, '/proxy/echo/say')
    expect(said.headers['x-charged-microdollars']).to.equal('100')
    await hub().hub.pool.query('SELECT 1')
    const history = await ask(hub().url, '/v1/credits/history', { key: ada.apiKey })
    return String(data(history)[0]!['call_id'] ?? data(history)[0]!['id'])
  }
  const stopped = async (kind: string, id: string): Promise<void> => {
    await as({ body: { reason } }, `/v1/admin/${kind}/${id}/suspend`)
  }
  const waiting = () => waitingService(hub(), ada.keyId)
  const WALKS: Readonly<Record<string, Walk>> = {
    ...WALKS_ALONE,
    'POST /v1/admin/providers/{id}/owner': {
      act: 'provider.assign',
      good: async () => ['example', { name: ada.address, reason }],
      bad: ['agenthub', { name: admin.wallet, reason }],
    },
    'PATCH /v1/admin/keys/{id}': {
      act: 'key.rate',
      good: async () => [ada.keyId, { rate_per_minute: 900, reason }],
      bad: ['key_0000000000000000', { rate_per_minute: 900, reason }],
    },
    'POST /v1/admin/roles': {
      act: 'role.grant',
      good: async () => {
        await visitor(hub(), 'gus@house.example')
        return ['', { name: 'gus@house.example', role: 'finance', reason }]
      },
      bad: ['', { name: 'nobody@house.example', role: 'finance', reason }],
    },
    'DELETE /v1/admin/roles/{id}': {
      act: 'role.revoke',
      good: async () => [await grantTo('hal@house.example'), { reason }],
      bad: ['999999', { reason }],
    },
    'POST /v1/admin/services/{id}/resume': {
      act: 'service.resume',
      good: async () => {
        await stopped('services', 'analysis')
        return ['analysis', { reason }]
      },
      bad: ['nowhere', { reason }],
    },
    'POST /v1/admin/services/{id}/approve': {
      act: 'service.approve',
      good: async () => [await waiting(), { reason, revision: 2 }],
      bad: ['echo', { reason }],
    },
    'POST /v1/admin/providers/{id}/resume': {
      act: 'provider.resume',
      good: async () => {
        await stopped('providers', 'agenthub')
        return ['agenthub', { reason }]
      },
      bad: ['nowhere', { reason }],
    },
    'POST /v1/finance/adjustments/{id}/confirm': {
      act: 'entry.confirm',
      good: async () => [await propose(), { reason }],
      bad: [NOBODY, { reason }],
    },
    'POST /v1/finance/adjustments/{id}/decline': {
      act: 'entry.decline',
      good: async () => [await propose(), { reason }],
      bad: [NOBODY, { reason }],
    },
    'POST /v1/finance/calls/{id}/refund': {
      act: 'call.refund',
      good: async () => [await paidCall(), { reason }],
      bad: [NOBODY, { reason }],
    },
    'POST /v1/finance/transfers': {
      act: 'transfer.book',
      good: async () => ['', { transaction: await moveBetweenWallets(hub()), reason }],
      bad: ['', { transaction: `0x${'ab'.repeat(32)}`, reason }],
    },
    'POST /v1/finance/exceptions/{id}/resolve': {
      act: 'exception.resolve',
      good: async () => [await exception(), { decision: 'surplus', reason }],
      bad: ['999999', { decision: 'surplus', reason }],
    },
  }

  const send = (route: string, [id, body]: readonly [string, Json]): Promise<Told> => {
    const [method = '', path = ''] = route.split(' ')
    return as({ method, body }, path.replace('{id}', id))
  }

  it('has every privileged route that changes something on its walk', async () => {
    const { body } = await ask(hub().url, '/openapi.json')
    const paths = body['paths'] as Record<string, Record<string, { responses: Json }>>
    const privileged = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'get')
        .filter(([, { responses }]) => {
          const { 'x-codes': codes = [] } = (responses['403'] ?? {}) as { 'x-codes'?: string[] }
          return codes.includes('admin_only') || codes.includes('finance_only')
        })
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    expect(privileged.toSorted()).to.deep.equal(Object.keys(WALKS).toSorted())
  })

  for (const [route, walk] of Object.entries(WALKS)) {
    it(`${route} leaves one line, and none when it fails`, async () => {
      const before = await auditOf(hub())
      const failed = await send(route, walk.bad)
      expect(failed.status, failed.text).to.be.within(400, 499)
      expect((await auditOf(hub())).lines, 'after a failure').to.equal(before.lines)
      const asked = await walk.good()
      const start = await auditOf(hub())
      const done = await send(route, asked)
      expect(done.status, done.text).to.be.within(200, 299)
      const { lines, last } = await auditOf(hub())
      expect(lines, 'after it').to.equal(start.lines + 1)
      expect(last).to.include({ act: walk.act, name: admin.wallet, role: 'admin', reason })
      expect(last).to.include({ via: last['via'], network: '127.0.0' })
      expect(String(last['request'])).to.equal(done.headers['x-request-id'])
      if (asked[0] !== '' && !route.startsWith('DELETE')) {
        expect(last['subject']).to.equal(asked[0])
      }
    })

    it(`${route} is not for agents, nor for keys that another key made`, async () => {
      const { lines } = await auditOf(hub())
      const [method = '', path = ''] = route.split(' ')
      const made = await ask(hub().url, '/v1/keys', { key, body: {} })
      for (const other of [ada.apiKey, String(made.body['api_key'])]) {
        const told = await ask(hub().url, path.replace('{id}', 'x'), {
          method,
          key: other,
          body: walk.bad[1],
        })
        expect(told.status, told.text).to.equal(403)
        expect(told.body['code']).to.match(/^(?:admin|finance)_only$/)
      }
      expect((await auditOf(hub())).lines).to.equal(lines)
    })
  }

  it('an act that cannot be written into it does not happen', async () => {
    const { admin: owner } = hub().database
    await owner.query('REVOKE EXECUTE ON FUNCTION hub.add_audit FROM hub_app')
    try {
      const body = { frozen: { reason } }
      const told = await as({ method: 'PATCH', body }, `/v1/admin/keys/${ada.keyId}`)
      expect(told.status).to.equal(500)
      const order = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: 6, reason }
      expect((await as({ body: order }, '/v1/finance/adjustments')).status).to.equal(500)
    } finally {
      await owner.query('GRANT EXECUTE ON FUNCTION hub.add_audit TO hub_app')
    }
    const { body } = await as({}, `/v1/admin/keys/${ada.keyId}`)
    expect(body['frozen']).to.equal(null)
    const { rows } = await owner.query(
      `SELECT FROM ledger.journal WHERE 6 = ANY (amounts) AND meta ->> 'reason' = $1`,
      [reason],
    )
    expect(rows).to.have.length(0)
  })

  it('shows what was before and after, by act, subject, person and day, in pages', async () => {
    const all = data(await as({}, '/v1/admin/audit?limit=100'))
    expect(all.map(({ seq }) => seq)).to.deep.equal(all.map((_, i) => all.length - i))
    const rate = data(await as({}, `/v1/admin/audit?act=key&subject=${ada.keyId}`))
    expect(rate.at(-1)).to.deep.include({
      act: 'key.rate',
      before: { rate_per_minute: null },
      after: { rate_per_minute: 900 },
    })
    const day = String(all[0]!['at']).slice(0, 10)
    expect(data(await as({}, `/v1/admin/audit?from=2020-01-01&to=2020-12-31`))).to.have.length(0)
    const mine = data(await as({}, `/v1/admin/audit?name=${fay.email}&from=${day}&limit=100`))
    expect(new Set(mine.map(({ act }) => act))).to.deep.equal(new Set(['entry.propose']))
    const first = await as({}, '/v1/admin/audit?limit=2')
    const next = await as({}, `/v1/admin/audit?limit=2&cursor=${String(first.body['next_cursor'])}`)
    expect(data(next).map(({ seq }) => seq)).to.deep.equal([all.length - 2, all.length - 3])
  })

  it('is kept by the database: nobody changes it; what its owner changes is named', async () => {
    const { pool } = hub().hub
    for (const act of [
      `UPDATE hub.audit SET reason = 'another'`,
      'DELETE FROM hub.audit',
      'TRUNCATE hub.audit',
      `INSERT INTO hub.audit SELECT * FROM hub.audit LIMIT 1`,
    ]) {
      const error = await pool.query(act).catch((each: Error) => each)
      expect(error).to.be.instanceOf(Error)
    }
    const { admin: owner } = hub().database
    const chain = async () => (await as({}, '/v1/admin/audit/chain')).body
    const sound = await chain()
    expect(sound).to.include({ broken_at: null }).and.to.have.property('head').of.length(64)
    await owner.query('ALTER TABLE hub.audit DISABLE TRIGGER append_only')
    await owner.query(`UPDATE hub.audit SET reason = reason || '!' WHERE seq = 3`)
    expect(await chain()).to.include({ broken_at: 3 })
    await owner.query(`UPDATE hub.audit SET reason = left(reason, -1) WHERE seq = 3`)
    await owner.query('ALTER TABLE hub.audit ENABLE TRIGGER append_only')
    expect(await chain()).to.include({ broken_at: null, head: sound['head'] })
  })

  it('is for people of finance too, and for nobody else', async () => {
    expect((await fay.ask('/v1/admin/audit')).status).to.equal(200)
    const eve = await visitor(hub(), 'eve@else.example')
    refused(await eve.ask('/v1/admin/audit'), 403, 'finance_only')
    refused(await ask(hub().url, '/v1/admin/audit'), 401, 'invalid_api_key')
  })
})
