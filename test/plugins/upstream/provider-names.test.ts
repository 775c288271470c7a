import { expect } from 'chai'
import { createAdmin } from '../../server/rest/finance/fixture.ts'
import { ask } from '../../support/ask.ts'
import { type Body, json, useUpstream } from './fixture.ts'

describe('the display name of a provider', () => {
  const admin = createAdmin()
  const listing = { approval: true, noticeDays: 7, sealingKeys: [] as never }
  const world = useUpstream({ config: { listing, admins: [admin.wallet] } })
  const { send } = world
  const setName = (name: string, agent = world.owner) =>
    send('PUT', '/v1/provider/name', { name }, agent)
  const decide = async (id: string, what: string, version: number) =>
    ask(world.hub.url, `/v1/admin/providers/${id}/${what}-name`, {
      key: await admin.key(world.hub),
      body: { version, reason: 'A test.' },
    })
  let slug: string
  const sold = async () => (await ask(world.hub.url, `/v1/services/${slug}`)).body
  const page = async (path: string) =>
    (await ask(world.hub.url, path, { headers: { accept: 'text/html' } })).text
  before(async () => {
    world.answers(json({}))
    slug = await world.draft()
    await world.put(slug, [
      { method: 'POST', path: '/do', summary: 'Does it.', price_microdollars: 1_000 },
    ])
    await world.act(slug, 'activate')
    const key = await admin.key(world.hub)
    const body = { version: 1, reason: 'A test.' }
    await ask(world.hub.url, `/v1/admin/services/${slug}/approve`, { key, body })
    await world.hub.hub.catalog.refresh(slug)
  })

  it('is shown to buyers once it was approved, and never before', async () => {
    const { provider } = await sold()
    const set = await setName('Northwind  Tides')
    expect(set.status, set.text).to.equal(200)
    expect(set.body).to.include({ provider_id: provider, name: null })
    expect((await sold())['provider_name']).to.equal(null)
    expect(await page(`/services/${slug}`)).to.match(/Provider [0-9a-f]{6}</)
    const waiting = await ask(world.hub.url, '/v1/admin/provider-names', {
      key: await admin.key(world.hub),
    })
    expect((waiting.body['data'] as Body[])[0]).to.include({ name: 'Northwind Tides', version: 1 })
    expect((await decide(String(provider), 'approve', 2)).body['code']).to.equal('service_changed')
    expect((await decide(String(provider), 'approve', 1)).status).to.equal(200)
    expect((await sold())['provider_name']).to.equal('Northwind Tides')
    for (const path of [`/services/${slug}`, '/services', `/providers/${String(provider)}`]) {
      expect(await page(path), path).to.include('Northwind Tides')
    }
  })

  it('stays as it was if a new one is refused, and its provider sees why', async () => {
    await setName('Northwind Oceans')
    const { provider } = await sold()
    expect((await decide(String(provider), 'refuse', 2)).status).to.equal(200)
    expect((await sold())['provider_name']).to.equal('Northwind Tides')
    const { review } = (await send('GET', '/v1/provider/name')).body as { review: Body }
    expect(review['refused']).to.include({ version: 2, reason: 'A test.' })
  })

  it('is refused if it imitates the platform, a provider or a service', async () => {
    const other = await world.hub.agent()
    for (const name of [
      'AgentHub',
      'Аgеnthub Team',
      'Official Weather',
      'Nоrthwind Tides',
      'NORTHWIND T1DES',
      'Acme',
    ]) {
      const { status, body } = await setName(name, other)
      expect([status, body['code']], name).to.deep.equal([422, 'validation_failed'])
    }
    expect((await setName('Southwind', other)).status).to.equal(200)
    const again = await setName('South-wind', await world.hub.agent())
    expect(again.status, 'a waiting name is taken').to.equal(422)
  })
})
