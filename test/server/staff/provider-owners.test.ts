import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { dataOf, expectRefused, readAudit } from './fixture.ts'

const ADDRESS = '/v1/provider/payout-address'

describe('a plugin provider', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], jobs: false } })
  let ada: TestAgent
  let bob: TestAgent
  before(async () => {
    ada = await hub().agent()
    bob = await hub().agent()
    await hub().credit(bob.keyId, usd('1'))
  })
  const assign = async (id: string, name: string): Promise<ApiResponse> =>
    ask(hub().url, `/v1/admin/providers/${id}/owner`, {
      key: await admin.key(hub()),
      body: { name, reason: 'a test' },
    })
  const as = (agent: TestAgent, path: string, question = {}) =>
    ask(hub().url, path, { key: agent.apiKey, ...question })
  const sign = async (agent: TestAgent): Promise<ApiResponse> => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    const asked = { wallet_address: wallet.address }
    const { body } = await as(agent, `${ADDRESS}/challenge`, { body: asked })
    const signature = await wallet.signMessage({ message: String(body['message']) })
    return as(agent, ADDRESS, { method: 'PUT', body: { nonce: body['nonce'], signature } })
  }

  it('belongs to the assigned owner, who sees its sales and receives its payouts', async () => {
    const response = await as(bob, '/proxy/echo/say', { body: { words: 'hi' } })
    expect(response.status, response.text).to.equal(200)
    expect((await as(ada, '/v1/provider/commission')).text).not.to.include('"echo"')
    const assigned = await assign('example', ada.address)
    expect(assigned.body).to.deep.equal({
      id: 'example',
      before: null,
      after: ada.address.toLowerCase(),
      state: 'booked',
    })
    const signed = await sign(ada)
    expect(signed.body, signed.text).to.include({ provider_id: 'example', next_address: null })
    const commission = await as(ada, '/v1/provider/commission')
    expect(commission.text).to.include('"echo"')
    const { last } = await readAudit(hub())
    expect(last).to.deep.include({
      act: 'provider.assign',
      subject: 'example',
      before: { owner: null },
      after: { owner: ada.address.toLowerCase() },
    })
  })

  it('loses its payout address when it is assigned to another owner', async () => {
    const { lines } = await readAudit(hub())
    expect((await assign('example', ada.address)).status, 'the same again').to.equal(200)
    expect((await readAudit(hub())).lines, 'changes nothing').to.equal(lines)
    expect((await assign('example', bob.address)).body['before']).to.equal(
      ada.address.toLowerCase(),
    )
    const { rows } = await hub().database.pool.query(
      `SELECT address, next FROM hub.payout_destination WHERE provider = 'example'`,
    )
    expect(rows).to.deep.equal([{ address: null, next: null }])
    expect((await as(ada, ADDRESS)).body['provider_id']).to.equal(null)
    expect((await sign(bob)).body['provider_id']).to.equal('example')
  })

  it('cannot be a platform or upstream provider, or have an owner who has another', async () => {
    expectRefused(await assign('agenthub', ada.address), 409, 'owner_not_possible')
    expectRefused(await assign('nowhere', ada.address), 404, 'not_found')
    expectRefused(await assign('example', `0x${'1'.repeat(40)}`), 404, 'not_found')
    const eve = await hub().agent()
    const about = { slug: 'eve-1', name: 'E', category: 'data', summary: 'E.' }
    const body = { ...about, base_url: 'https://api.agenthub-test.com' }
    const made = await as(eve, '/v1/provider/services', { body })
    const own = String(made.body['provider'])
    expectRefused(await assign(own, ada.address), 409, 'owner_not_possible')
    expectRefused(await assign('example', eve.address), 409, 'owner_not_possible')
    const key = await admin.key(hub())
    const list = await ask(hub().url, '/v1/admin/services?slug=echo', { key })
    expect(dataOf(list)[0]).to.include({ owner: bob.address.toLowerCase() })
    expect((await as(ada, '/v1/admin/providers/example/owner', { body: {} })).status).to.equal(403)
  })
})
