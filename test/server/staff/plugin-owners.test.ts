import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { ask, type Told } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { makeAdmin } from '../rest/finance/world.ts'
import { auditOf, data, refused } from './world.ts'

const ADDRESS = '/v1/provider/payout-address'

describe('a provider that a plugin declares', () => {
  const admin = makeAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], jobs: false } })
  let ada: TestAgent
  let bob: TestAgent
  before(async () => {
    ada = await hub().agent()
    bob = await hub().agent()
    await hub().credit(bob.keyId, usd('1'))
  })
  const assign = async (id: string, name: string): Promise<Told> =>
    ask(hub().url, `/v1/admin/providers/${id}/owner`, {
      key: await admin.key(hub()),
      body: { name, reason: 'a test' },
    })
  const as = (agent: TestAgent, path: string, question = {}) =>
    ask(hub().url, path, { key: agent.apiKey, ...question })
  const sign = async (agent: TestAgent): Promise<Told> => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    const asked = { wallet_address: wallet.address }
    const { body } = await as(agent, `${ADDRESS}/challenge`, { body: asked })
    const signature = await wallet.signMessage({ message: String(body['message']) })
    return as(agent, ADDRESS, { method: 'PUT', body: { nonce: body['nonce'], signature } })
  }

  it('is whose an administrator says: they see its sales, and sign for their payouts', async () => {
    const said = await as(bob, '/proxy/echo/say', { body: { words: 'hi' } })
    expect(said.status, said.text).to.equal(200)
    expect((await as(ada, '/v1/provider/commission')).text).not.to.include('"echo"')
    const told = await assign('example', ada.address)
    expect(told.body).to.deep.equal({
      id: 'example',
      before: null,
      after: ada.address.toLowerCase(),
    })
    const signed = await sign(ada)
    expect(signed.body, signed.text).to.include({ provider_id: 'example', next_address: null })
    const commission = await as(ada, '/v1/provider/commission')
    expect(commission.text).to.include('"echo"')
    const { last } = await auditOf(hub())
    expect(last).to.deep.include({
      act: 'provider.assign',
      subject: 'example',
      before: { owner: null },
      after: { owner: ada.address.toLowerCase() },
    })
  })

  it('that becomes somebody else’s is not paid where the one before has signed for', async () => {
    const { lines } = await auditOf(hub())
    expect((await assign('example', ada.address)).status, 'the same again').to.equal(200)
    expect((await auditOf(hub())).lines, 'changes nothing').to.equal(lines)
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

  it('is nobody’s by mistake: not the house’s, not a seller’s, and nobody’s twice', async () => {
    refused(await assign('agenthub', ada.address), 409, 'owner_not_possible')
    refused(await assign('nowhere', ada.address), 404, 'not_found')
    refused(await assign('example', `0x${'1'.repeat(40)}`), 404, 'not_found')
    const eve = await hub().agent()
    const about = { slug: 'eve-1', name: 'E', category: 'data', summary: 'E.' }
    const body = { ...about, base_url: 'https://api.agenthub-test.com' }
    const made = await as(eve, '/v1/provider/services', { body })
    const own = String(made.body['provider'])
    refused(await assign(own, ada.address), 409, 'owner_not_possible')
    refused(await assign('example', eve.address), 409, 'owner_not_possible')
    const key = await admin.key(hub())
    const list = await ask(hub().url, '/v1/admin/services?slug=echo', { key })
    expect(data(list)[0]).to.include({ owner: bob.address.toLowerCase() })
    expect((await as(ada, '/v1/admin/providers/example/owner', { body: {} })).status).to.equal(403)
  })
})
