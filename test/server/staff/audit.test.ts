import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { type ApiResponse, ask, type RequestOptions } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { readOpenApi } from '../../support/openapi.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { transferBetweenWallets } from '../rest/finance/platform-wallets.ts'
import {
  createPendingService,
  createStaff,
  createVisitor,
  dataOf,
  expectRefused,
  type Json,
  readAudit,
} from './fixture.ts'
import {
  exceptionActions,
  type PrivilegedAction,
  payoutActions,
  reason,
  reviewActions,
  SIMPLE_ACTIONS,
} from './privileged-actions.ts'

const NOBODY = randomUUID()
const BIG = 101_000_000

describe('the audit log', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let ada: TestAgent
  let ann: Person
  let fay: Person
  let key: string
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    key = await admin.key(hub())
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    ann = await createStaff(hub(), admin, 'ann@house.example', 'admin')
    const account = 'liabilities:providers:example:echo'
    await hub().hub.ledger.open(account, 'USDC', {}) // creates the provider
    const rate = 'UPDATE hub.api_key SET rate_per_minute = 10000 WHERE parent IS NULL AND id <> $1'
    await hub().database.admin.query(rate, [ada.keyId])
    hub().advanceCaches(1_000)
  })

  const as = (question: RequestOptions, path: string): Promise<ApiResponse> =>
    ask(hub().url, path, { key, ...question })
  const grantedBy = async (who: Pick<Person, 'ask'>, email: string): Promise<string> => {
    await createVisitor(hub(), email)
    const body = { name: email, role: 'finance', reason }
    return String((await who.ask('/v1/admin/roles', { body })).body['role_id'])
  }
  const grantTo = (email: string) =>
    grantedBy({ ask: (path, question) => as(question ?? {}, path) }, email)
  const propose = async (): Promise<string> => {
    const body = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: BIG, reason }
    const proposed = await fay.ask('/v1/finance/adjustments', { body })
    expect(proposed.status, proposed.text).to.equal(202)
    return String(proposed.body['id'])
  }
  const paidCall = async (): Promise<string> => {
    const { headers } = await as({ key: ada.apiKey, body: { words: 'hi' } }, '/proxy/echo/say')
    expect(headers['x-charged-microdollars']).to.equal('100')
    const history = await ask(hub().url, '/v1/credits/history', { key: ada.apiKey })
    return String(dataOf(history)[0]!['call_id'] ?? dataOf(history)[0]!['id'])
  }
  const stopped = async (kind: string, id: string): Promise<void> => {
    await as({ body: { reason } }, `/v1/admin/${kind}/${id}/suspend`)
  }
  const waiting = () => createPendingService(hub(), ada.keyId)
  const ACTIONS: Readonly<Record<string, PrivilegedAction>> = {
    ...SIMPLE_ACTIONS,
    ...payoutActions(hub),
    ...exceptionActions(hub),
    ...reviewActions(hub),
    'POST /v1/admin/providers/{id}/owner': {
      act: 'provider.assign',
      good: async () => ['example', { name: ada.address, reason }],
      bad: ['agenthub', { name: 'fay@house.example', reason }],
    },
    'PATCH /v1/admin/keys/{id}': {
      act: 'key.rate',
      good: async () => [ada.keyId, { rate_per_minute: 900, reason }],
      bad: ['key_0000000000000000', { rate_per_minute: 900, reason }],
    },
    'POST /v1/admin/roles': {
      act: 'role.grant',
      good: async () => {
        await createVisitor(hub(), 'gus@house.example')
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
      good: async () => [await waiting(), { reason, version: 1 }],
      bad: ['echo', { reason }],
    },
    'POST /v1/admin/services/{id}/refuse': {
      act: 'service.refuse',
      good: async () => [await waiting(), { reason, version: 1 }],
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
    ...Object.fromEntries(
      ['adjustments', 'proposals'].flatMap((list) =>
        ['confirm', 'decline'].map((decision) => [
          `POST /v1/finance/${list}/{id}/${decision}`,
          {
            act: `entry.${decision}`,
            good: async () => [await propose(), { reason }] as const,
            bad: [NOBODY, { reason }] as const,
          },
        ]),
      ),
    ),
    'POST /v1/admin/roles/{id}/confirm': {
      act: 'role.confirm',
      good: async () => [await grantedBy(ann, 'ida@house.example'), { reason }],
      bad: ['999999', { reason }],
    },
    'POST /v1/admin/roles/{id}/review': {
      act: 'role.review',
      good: async () => [await grantTo('joe@house.example'), { reason }],
      bad: ['999999', { reason }],
    },
    'POST /v1/finance/calls/{id}/refund': {
      act: 'call.refund',
      good: async () => [await paidCall(), { reason }],
      bad: [NOBODY, { reason }],
    },
    'POST /v1/finance/transfers': {
      act: 'transfer.book',
      good: async () => ['', { transaction: await transferBetweenWallets(hub()), reason }],
      bad: ['', { transaction: `0x${'ab'.repeat(32)}`, reason }],
    },
  }

  const send = (route: string, [id, body]: readonly [string, Json]): Promise<ApiResponse> => {
    const [method = '', path = ''] = route.split(' ')
    return as({ method, body }, path.replace(/\{\w+\}/, id))
  }

  it('covers every privileged route that changes something', async () => {
    const { body } = await readOpenApi(hub().url)
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
    expect(privileged.toSorted()).to.deep.equal(Object.keys(ACTIONS).toSorted())
  })

  for (const [route, action] of Object.entries(ACTIONS)) {
    it(`has one line for ${route}, and none if it fails`, async () => {
      const before = await readAudit(hub())
      const failed = await send(route, action.bad)
      expect(failed.status, failed.text).to.be.within(400, 499)
      expect((await readAudit(hub())).lines, 'after a failure').to.equal(before.lines)
      const order = await action.good()
      const start = await readAudit(hub())
      const response = await send(route, order)
      expect(response.status, response.text).to.be.within(200, 299)
      const { lines, last } = await readAudit(hub())
      expect(lines, 'after it').to.equal(start.lines + 1)
      expect(last).to.include({ act: action.act, name: admin.wallet, role: 'admin', reason })
      expect(last).to.include({ via: last['via'], network: '127.0.0' })
      expect(String(last['request'])).to.equal(response.headers['x-request-id'])
      if (
        order[0] !== '' &&
        action.act !== 'entry.propose' &&
        !/\/v1\/admin\/(?:roles|rate-requests)\//.test(route)
      ) {
        expect(last['subject']).to.equal(order[0])
      }
    })

    it(`has no line for ${route} by agents or sub-keys, which are rejected`, async () => {
      const { lines } = await readAudit(hub())
      const [method = '', path = ''] = route.split(' ')
      const made = await ask(hub().url, '/v1/keys', { key, body: {} })
      for (const other of [ada.apiKey, String(made.body['api_key'])]) {
        const response = await ask(hub().url, path.replace(/\{\w+\}/, 'x'), {
          method,
          key: other,
          body: action.bad[1],
        })
        expect(response.status, response.text).to.equal(403)
        expect(response.body['code']).to.match(/^(?:admin|finance)_only$/)
      }
      expect((await readAudit(hub())).lines).to.equal(lines)
    })
  }

  it('prevents an action that cannot be recorded', async () => {
    const { admin: owner } = hub().database
    await owner.query('REVOKE EXECUTE ON FUNCTION hub.add_audit FROM hub_app')
    try {
      const body = { frozen: { reason } }
      const response = await as({ method: 'PATCH', body }, `/v1/admin/keys/${ada.keyId}`)
      expect(response.status).to.equal(500)
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

  it('shows before and after by action, subject, person and day, in pages', async () => {
    const all = dataOf(await as({}, '/v1/admin/audit?limit=100'))
    expect(all.map(({ seq }) => seq)).to.deep.equal(all.map((_, i) => all.length - i))
    const rate = dataOf(await as({}, `/v1/admin/audit?act=key&subject=${ada.keyId}`))
    expect(rate.at(-1)).to.deep.include({
      act: 'key.rate',
      before: { rate_per_minute: null },
      after: { rate_per_minute: 900 },
    })
    const day = String(all[0]!['at']).slice(0, 10)
    expect(dataOf(await as({}, `/v1/admin/audit?from=2020-01-01&to=2020-12-31`))).to.have.length(0)
    const mine = dataOf(await as({}, `/v1/admin/audit?name=${fay.email}&from=${day}&limit=100`))
    expect(new Set(mine.map(({ act }) => act))).to.deep.equal(new Set(['entry.propose']))
    const first = await as({}, '/v1/admin/audit?limit=2')
    const next = await as({}, `/v1/admin/audit?limit=2&cursor=${String(first.body['next_cursor'])}`)
    expect(dataOf(next).map(({ seq }) => seq)).to.deep.equal([all.length - 2, all.length - 3])
  })

  it('is append-only in the database, and detects changes by the database owner', async () => {
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

  it('is readable by finance staff and nobody else', async () => {
    expect((await fay.ask('/v1/admin/audit')).status).to.equal(200)
    const eve = await createVisitor(hub(), 'eve@else.example')
    expectRefused(await eve.ask('/v1/admin/audit'), 403, 'finance_only')
    expectRefused(await ask(hub().url, '/v1/admin/audit'), 401, 'invalid_api_key')
  })
})
