import { expect } from 'chai'
import { type Body, HOST, html, useOwner } from '../../plugins/content/fixture.ts'
import { ask } from '../../support/ask.ts'
import { createAdmin } from './finance/fixture.ts'

const RULES = [{ path: '/**', price_microdollars: 1_000 }]

describe('texts of domains', () => {
  const admin = createAdmin()
  const listing = { approval: true, noticeDays: 7, sealingKeys: [] }
  const fixture = useOwner({ admins: [admin.wallet], listing })
  const { register, sell, send, verify } = fixture
  const decide = async (slug: string, what: 'approve' | 'refuse', version: number) =>
    ask(fixture.hub.url, `/v1/admin/services/${slug}/${what}`, {
      key: await admin.key(fixture.hub),
      body: { reason: 'A test.', version },
    })
  const shown = async (slug: string): Promise<unknown> => {
    await fixture.hub.hub.catalog.refresh(slug)
    return (await send('GET', `/v1/services/${slug}`)).body['name']
  }

  it('are shown once approved; until then callers see texts made of the host', async () => {
    const { id, slug } = await sell(RULES, { '/': html('<h1>Hello</h1>') })
    expect(await shown(slug)).to.equal(HOST)
    const path = `/v1/domains/${id}`
    await send('PATCH', path, { name: 'Harbor\u200b News' })
    const { review, name } = (await send('GET', path)).body as { review: Body; name: string }
    expect(name).to.equal('Harbor News')
    expect(review['waiting']).to.deep.include({ version: 2, held: [] })
    expect(await shown(slug)).to.equal(HOST)
    expect((await decide(slug, 'approve', 2)).body).to.include({ version_after: 2 })
    expect(await shown(slug)).to.equal('Harbor News')
    await send('PATCH', path, { name: 'Official Hub Wallet Recovery' })
    expect((await decide(slug, 'refuse', 3)).status).to.equal(200)
    expect(await shown(slug)).to.equal('Harbor News')
    await send('PATCH', path, { summary: 'News of the harbor.' })
    const withdrawn = await send('POST', `${path}/withdraw`)
    expect(withdrawn.body, withdrawn.text).to.include({ name: 'Harbor News' })
    const none = await decide(slug, 'approve', 4)
    expect([none.status, none.body['code']]).to.deep.equal([409, 'service_state'])
    expect((await verify(id)).status).to.equal(200)
  })

  it('have no slug that imitates the platform', async () => {
    const body = { domain: 'http://other.test', slug: 'agent-hub-wallet' }
    const response = await send('POST', '/v1/domains', body)
    expect([response.status, response.body['code']]).to.deep.equal([409, 'slug_taken'])
    expect(await register()).to.have.property('slug')
  })
})
