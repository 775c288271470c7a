import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { usd } from '../../core/money.ts'
import { ask, expectProblem, type RequestOptions } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

describe('the state of a key', () => {
  const operator = privateKeyToAccount(generatePrivateKey())
  const hub = useHub({ config: { admins: [operator.address.toLowerCase()] } })
  let admin: string
  let ada: TestAgent
  before(async () => {
    const wallet = { account: operator, sandbox: true }
    admin = (await new HubClient({ baseUrl: hub().url, wallet }).register()).apiKey
  })
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const set = (keyId: string, body: object, key = admin) =>
    ask(hub().url, `/v1/admin/keys/${keyId}`, {
      method: 'PATCH',
      key,
      body: { reason: 'a test', ...body },
    })
  const say = (key: string) =>
    ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hi' } }).then(({ status }) => status)
  const keys = (path: string, question: RequestOptions) =>
    ask(hub().url, `/v1/keys${path}`, question)
  const child = async (key: string) => {
    const { body } = await keys('', { key, body: {} })
    return { id: String(body['key_id']), key: String(body['api_key']) }
  }

  it('is set only by an administrator', async () => {
    expectProblem(await set(ada.keyId, { rate_per_minute: 5 }, ada.apiKey), 403, 'admin_only')
    expectProblem(await set('key_0000000000000000', { rate_per_minute: 5 }), 404, 'not_found')
    for (const rate_per_minute of [0, -1, 1.5, 1_000_001, '5']) {
      expectProblem(await set(ada.keyId, { rate_per_minute }), 422, 'validation_failed')
    }
    const below = await child(ada.apiKey)
    expectProblem(await set(below.id, { rate_per_minute: 5 }), 422, 'validation_failed')
  })

  describe('with a requested rate', () => {
    const request = (body: object, key = ada.apiKey) =>
      ask(hub().url, '/v1/rate-requests', { key, body: { purpose: 'Reviews.', ...body } })
    const decide = (id: unknown, body: object, key = admin) =>
      ask(hub().url, `/v1/admin/rate-requests/${String(id)}`, {
        key,
        body: { reason: 'It pays well.', ...body },
      })
    const rate = async () => {
      hub().advanceCaches(1_000)
      const { body } = await ask(hub().url, '/v1/wallet/balance', { key: ada.apiKey })
      return body['rate_limit']
    }

    it('gets what an administrator grants, with an audit line and a notice', async () => {
      const hook = { url: 'https://receiver.example/', events: ['rate.decided'] }
      await hub().database.admin.query(
        `INSERT INTO hub.webhook (id, principal, url, events)
         SELECT 'whk_' || right($1, 16), principal, $2, $3 FROM hub.api_key WHERE id = $1`,
        [ada.keyId, hook.url, hook.events],
      )
      const first = await request({ requests_per_minute: 4_000 })
      expect([first.status, first.body['state']]).to.deep.equal([201, 'pending'])
      const { body: changed } = await request({ requests_per_minute: 5_000 })
      expect(changed, 'the pending request changes').to.include({
        id: first.body['id'],
        requests_per_minute: 5_000,
      })
      const pending = await ask(hub().url, '/v1/admin/rate-requests', { key: admin })
      expect(pending.body['data']).to.deep.include.members([changed])
      expect(await rate()).to.include({ tier: 'paid' })
      expectProblem(
        await decide(changed['id'], { requests_per_minute: 1 }, ada.apiKey),
        403,
        'admin_only',
      )
      const granted = await decide(changed['id'], { requests_per_minute: 3_000 })
      expect(granted.body).to.include({ state: 'granted', granted_per_minute: 3_000 })
      expect(await rate()).to.deep.equal({ tier: 'custom', requests_per_minute: 3_000 })
      expectProblem(await decide(changed['id'], { requests_per_minute: 9_000 }), 404, 'not_found')
      const own = await ask(hub().url, '/v1/rate-requests', { key: ada.apiKey })
      expect(own.body['data']).to.deep.equal([granted.body])
      const audit = await ask(hub().url, '/v1/admin/audit?act=key.rate&limit=1', { key: admin })
      const [line] = audit.body['data'] as Record<string, unknown>[]
      expect(line).to.deep.include({
        subject: ada.keyId,
        reason: 'It pays well.',
        after: { rate_per_minute: 3_000, request: changed['id'] },
      })
      const { rows } = await hub().database.admin.query<{ data: object }>(
        `SELECT data FROM hub.webhook_event WHERE type = 'rate.decided'`,
      )
      expect(rows.map(({ data }) => data)).to.deep.include.members([
        {
          request_id: changed['id'],
          key_id: ada.keyId,
          granted_per_minute: 3_000,
          reason: 'It pays well.',
        },
      ])
    })

    it('keeps its rate if it is refused, and asks again', async () => {
      const { body } = await request({ requests_per_minute: 5_000 })
      const decided = await decide(body['id'], { requests_per_minute: null })
      expect(decided.body).to.include({ state: 'refused', granted_per_minute: null })
      expect(await rate()).to.include({ tier: 'paid' })
      const again = await request({ requests_per_minute: 2_000 })
      expect(again.body['id']).to.not.equal(body['id'])
    })

    it('is that of a main key, which its owner manages', async () => {
      const below = await child(ada.apiKey)
      expectProblem(await request({ requests_per_minute: 5 }, below.key), 403, 'root_key_required')
      expectProblem(
        await request({ key_id: below.id, requests_per_minute: 5 }),
        422,
        'validation_failed',
      )
      const other = await hub().agent()
      expectProblem(
        await request({ key_id: other.keyId, requests_per_minute: 5 }),
        404,
        'not_found',
      )
      expectProblem(await request({ requests_per_minute: 0 }), 422, 'validation_failed')
    })
  })

  it('applies a custom rate within a second, to sub-keys too, until removed', async () => {
    const below = await child(ada.apiKey)
    const { body } = await set(ada.keyId, { rate_per_minute: 3 })
    expect(body).to.include({ key_id: ada.keyId, rate_per_minute: 3 })
    hub().advanceCaches(1_000)
    const balance = () => ask(hub().url, '/v1/wallet/balance', { key: ada.apiKey })
    const shown = await balance()
    expect(shown.body['rate_limit']).to.deep.equal({ tier: 'custom', requests_per_minute: 3 })
    expect(shown.headers['x-ratelimit-limit']).to.equal('3')
    const statuses = [await say(below.key), await say(below.key), await say(ada.apiKey)]
    expect(statuses).to.include(429)
    await set(ada.keyId, { rate_per_minute: null })
    hub().advanceCaches(1_000)
    expect((await balance()).body['rate_limit']).to.deep.include({ tier: 'paid' })
  })

  it('blocks a frozen key and its sub-keys until thawed', async () => {
    const below = await child(ada.apiKey)
    await set(ada.keyId, { frozen: { reason: 'leaked' } })
    hub().advanceCaches(1_000)
    for (const key of [ada.apiKey, below.key]) {
      const response = await ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hi' } })
      expectProblem(response, 403, 'frozen_key')
      expect(response.body).to.include({ charged_microdollars: 0 })
      expectProblem(await ask(hub().url, '/v1/credits/balance', { key }), 403, 'frozen_key')
    }
    expect(await hub().balance(ada.keyId), 'nothing is lost').to.equal(usd('1'))
    const { body } = await set(ada.keyId, { frozen: null })
    expect(body['frozen']).to.equal(null)
    hub().advanceCaches(1_000)
    expect([await say(ada.apiKey), await say(below.key)]).to.deep.equal([200, 200])
  })

  it('lets a main key freeze sub-keys but not thaw what an administrator froze', async () => {
    const below = await child(ada.apiKey)
    const as = { key: ada.apiKey }
    const freeze = { ...as, body: { reason: 'on holiday' } }
    expectProblem(await keys(`/${ada.keyId}/freeze`, freeze), 422, 'validation_failed')
    expectProblem(
      await keys(`/${ada.keyId}/freeze`, { ...freeze, key: below.key }),
      404,
      'not_found',
    )
    expect((await keys(`/${below.id}/freeze`, freeze)).status).to.equal(200)
    const { body } = await keys('', as)
    const [, shown] = body['data'] as Record<string, unknown>[]
    expect(shown?.['frozen']).to.include({ by: 'owner', reason: 'on holiday' })
    const thaw = { ...as, method: 'POST' }
    expect((await keys(`/${below.id}/thaw`, thaw)).status).to.equal(200)
    await set(below.id, { frozen: { reason: 'abuse' } })
    expect((await keys(`/${below.id}/freeze`, freeze)).status).to.equal(200)
    expectProblem(await keys(`/${below.id}/thaw`, thaw), 403, 'frozen_key')
    hub().advanceCaches(1_000)
    expect([await say(ada.apiKey), await say(below.key)]).to.deep.equal([200, 403])
  })

  it('stays frozen by its owner when an administrator thaws it, in any order', async () => {
    const as = { key: ada.apiKey }
    for (const order of ['owner first', 'administrator first', 'thawed below']) {
      const below = await child(ada.apiKey)
      const byOwner = () => keys(`/${below.id}/freeze`, { ...as, body: { reason: 'leaked' } })
      if (order === 'owner first') await byOwner()
      await set(below.id, { frozen: { reason: 'abuse' } })
      if (order !== 'owner first') await byOwner()
      const isKept = order !== 'thawed below'
      const thaw = () => keys(`/${below.id}/thaw`, { ...as, method: 'POST' })
      if (!isKept) expectProblem(await thaw(), 403, 'frozen_key')
      const { body } = await set(below.id, { frozen: null })
      const { frozen } = body
      if (isKept) expect(frozen, order).to.include({ by: 'owner', reason: 'leaked' })
      else expect(frozen, order).to.equal(null)
      hub().advanceCaches(1_000)
      expect(await say(below.key), order).to.equal(isKept ? 403 : 200)
      expect((await thaw()).status).to.equal(200)
      hub().advanceCaches(1_000)
      expect(await say(below.key), order).to.equal(200)
    }
  })
})
