import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { usd } from '../../core/money.ts'
import { type ApiResponse, ask, type RequestOptions } from '../support/ask.ts'
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
  const refused = ({ status, body }: ApiResponse, expected: number, code: string) =>
    expect([status, body['code']]).to.deep.equal([expected, code])
  const child = async (key: string) => {
    const { body } = await keys('', { key, body: {} })
    return { id: String(body['key_id']), key: String(body['api_key']) }
  }

  it('is set only by an administrator', async () => {
    refused(await set(ada.keyId, { rate_per_minute: 5 }, ada.apiKey), 403, 'admin_only')
    refused(await set('key_0000000000000000', { rate_per_minute: 5 }), 404, 'not_found')
    for (const rate_per_minute of [0, -1, 1.5, 1_000_001, '5']) {
      refused(await set(ada.keyId, { rate_per_minute }), 422, 'validation_failed')
    }
    const below = await child(ada.apiKey)
    refused(await set(below.id, { rate_per_minute: 5 }), 422, 'validation_failed')
  })

  it('applies a custom rate within a second, to sub-keys too, until removed', async () => {
    const below = await child(ada.apiKey)
    const told = await set(ada.keyId, { rate_per_minute: 3 })
    expect(told.body).to.include({ key_id: ada.keyId, rate_per_minute: 3 })
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
      const told = await ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hi' } })
      refused(told, 403, 'frozen_key')
      expect(told.body).to.include({ charged_microdollars: 0 })
      refused(await ask(hub().url, '/v1/credits/balance', { key }), 403, 'frozen_key')
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
    refused(await keys(`/${ada.keyId}/freeze`, freeze), 422, 'validation_failed')
    refused(await keys(`/${ada.keyId}/freeze`, { ...freeze, key: below.key }), 404, 'not_found')
    expect((await keys(`/${below.id}/freeze`, freeze)).status).to.equal(200)
    const { body } = await keys('', as)
    const [, shown] = body['data'] as Record<string, unknown>[]
    expect(shown?.['frozen']).to.include({ by: 'owner', reason: 'on holiday' })
    const thaw = { ...as, method: 'POST' }
    expect((await keys(`/${below.id}/thaw`, thaw)).status).to.equal(200)
    await set(below.id, { frozen: { reason: 'abuse' } })
    expect((await keys(`/${below.id}/freeze`, freeze)).status).to.equal(200)
    refused(await keys(`/${below.id}/thaw`, thaw), 403, 'frozen_key')
    hub().advanceCaches(1_000)
    expect([await say(ada.apiKey), await say(below.key)]).to.deep.equal([200, 403])
  })
})
