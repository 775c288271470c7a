import { expect } from 'chai'
import { parseSealingKeys, type SealingKey } from '../../../core/crypto/sealing.ts'
import { createAdmin } from '../../server/rest/finance/fixture.ts'
import { type Body, useUpstream, WAIVER } from './fixture.ts'

const KEYS = parseSealingKeys(`k1:${Buffer.alloc(32, 1).toString('base64')}`) as [SealingKey]

describe('without approval by administrators', () => {
  const admin = createAdmin()
  const listing = { approval: false, noticeDays: 7, sealingKeys: KEYS }
  const world = useUpstream({ config: { listing, admins: [admin.wallet] } })
  const { act, draft, put, send, sell, view } = world
  const ENDPOINT = { method: 'POST', path: '/do', summary: 'Does it.', price_microdollars: 1_000 }

  it('a new version is active at once, and recorded', async () => {
    const slug = await sell([{}], { name: 'City weather' })
    const { body } = await send('PATCH', `/v1/provider/services/${slug}`, { name: 'Town weather' })
    expect(body['review']).to.deep.equal({ approved_version: 2, waiting: null, refused: null })
    expect((await send('GET', `/v1/services/${slug}`)).body['name']).to.equal('Town weather')
  })

  it('a name that imitates the platform waits, and the reason says what to do', async () => {
    const slug = await draft({ name: 'АgentНub wallet', summary: 'Tops it up.' })
    await put(slug, [ENDPOINT])
    expect((await act(slug, 'activate')).body['state']).to.equal('pending')
    const { waiting } = (await view(slug))['review'] as { waiting: Body & { held: string[] } }
    expect(waiting.held.join()).to.include('resembles "agenthub"')
    expect(waiting['advice']).to.match(/^Change the text, or wait/)
    const renamed = await send('PATCH', `/v1/provider/services/${slug}`, { name: 'Wallets' })
    expect((renamed.body['review'] as Body)['waiting']).to.equal(null)
    expect(renamed.body['state'], 'as its provider wanted').to.equal('active')
  })

  it('a service on sale keeps its name while an imitation of another one waits', async () => {
    await sell([{}], { name: 'Northwind Rates' })
    await sell([{}], { name: 'Northwind Rates 10' })
    const other = await world.hub.agent()
    const about = { category: 'data', summary: 'Rates.', base_url: `${world.origin}/base` }
    const response = await send(
      'POST',
      '/v1/provider/services',
      { slug: 'rates-2', name: 'Rates of the day', ...about },
      other,
    )
    expect(response.status, response.text).to.equal(201)
    const path = '/v1/provider/services/rates-2'
    await send('PUT', `${path}/endpoints`, { endpoints: [ENDPOINT] }, other)
    const active = await send('POST', `${path}/activate`, WAIVER, other)
    expect(active.body['state']).to.equal('active')
    const held = await send('PATCH', path, { name: 'Nоrthwind  Rаtes' }, other)
    expect(held.body, held.text).to.include({ state: 'active' })
    const { waiting } = held.body['review'] as { waiting: { held: string[] } }
    expect(waiting.held.join()).to.match(/looks the same|several scripts/)
    const digits = await send('PATCH', path, { name: 'Northwind Rates lO' }, other)
    expect(JSON.stringify(digits.body['review'])).to.include('looks the same')
    expect((await send('GET', '/v1/services/rates-2')).body['name']).to.equal('Rates of the day')
  })

  it('invisible characters reach nobody, from any text of a provider', async () => {
    const dirty = (text: string) => `${text[0]}\u200b\u202e\u{e0041}${text.slice(1)}`
    const about = { name: dirty('Tides'), summary: dirty('Tides by port.') }
    const slug = await sell(
      [
        {
          summary: dirty('Reads it.'),
          input_schema: {
            type: 'object',
            properties: { port: { type: 'string', description: dirty('Port.') } },
          },
        },
      ],
      about,
    )
    const responses = await Promise.all([
      send('GET', `/v1/services/${slug}`),
      send('GET', `/v1/provider/services/${slug}`),
      send('GET', '/v1/search?query=tides'),
    ])
    const text = responses.map((each) => each.text).join('')
    expect(text).to.include('Tides by port.').and.to.include('Port.')
    expect(text).not.to.match(/[\u200b\u202e\u{e0041}]/u)
  })

  it('invisible characters of rows that bypassed every entry reach no caller', async () => {
    const slug = await sell([{}], { name: 'Buoys' })
    const { admin: database } = world.hub.database
    await database.query(
      `UPDATE hub.upstream SET name = 'Bu\u200boys', summary = 'B\u202e.' WHERE slug = $1`,
      [slug],
    )
    await database.query(
      `UPDATE hub.upstream_endpoint SET summary = 'R\u2066eads.' WHERE service = $1`,
      [slug],
    )
    await send('PATCH', `/v1/provider/services/${slug}`, { category: 'maps' })
    const { body, text } = await send('GET', `/v1/services/${slug}`)
    expect(body).to.include({ name: 'Buoys', category: 'maps' })
    expect(text).not.to.match(/[\u200b\u202e\u2066]/u)
  })
})
