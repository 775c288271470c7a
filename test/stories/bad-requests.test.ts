import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { article, HOST, html, TEXT, useOwner } from '../plugins/content/fixture.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'

const api = createServer((_, response) => void response.writeHead(404).end('{"none":true}'))
api.listen(0, '127.0.0.1').unref()
await once(api, 'listening')
const origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`

/** External sellers: "sabotage of a rival" in test/core/catalog/listings/abuse.test.ts. */
describe('a hundred bad requests of one caller', () => {
  const world = useOwner({ pluginHosts: [origin] })
  const slugs: string[] = []
  before(async () => {
    const rules = [{ path: '/**', price_microdollars: 1_000, fast: true, max_age_seconds: 0 }]
    const page = await world.sell(rules, { '/': html(article('A page', TEXT)) })
    const { status, text } = await world.send('POST', '/v1/provider/services', {
      slug: 'acme-numbers',
      name: 'Acme',
      category: 'data',
      summary: 'Numbers in use.',
      base_url: origin,
    })
    expect(status, text).to.equal(201)
    const endpoint = { method: 'POST', path: '/find', summary: 'Finds.', passes: [404] }
    await world.send('PUT', '/v1/provider/services/acme-numbers/endpoints', {
      endpoints: [{ ...endpoint, price_microdollars: 1_000 }],
    })
    await world.send('POST', '/v1/provider/services/acme-numbers/activate', {
      waive_tests: true,
    })
    slugs.push('analysis', 'acme-numbers', page.slug)
  })
  after(() => api.close())

  const send = (slug: string, path: string, body?: object) =>
    ask(world.hub.url, `/proxy/${slug}${path}`, {
      key: world.reader.apiKey,
      ...(body && { body }),
    })
  const figures = async () => {
    await world.hub.database.admin.query('SELECT hub.refresh_service_signals()')
    const responses = await Promise.all(
      slugs.map((slug) => ask(world.hub.url, `/v1/services/${slug}`)),
    )
    const { rows } = await world.hub.database.admin.query<{ calls: number; delivered: number }>(
      `SELECT calls, delivered FROM hub.search_document WHERE kind = 'native' AND id = ANY ($1)`,
      [slugs],
    )
    const successful = rows.map(({ calls, delivered }) => calls > 0 && calls === delivered)
    return [...responses.map(({ body }) => body['uptime_percentage']), ...successful]
  }

  it('changes neither the uptime nor the success rate of plugin, API and page', async () => {
    const [analysis, acme, page] = slugs as [string, string, string]
    expect((await send(analysis, '/sentiment', { text: 'It works well.' })).status).to.equal(200)
    expect((await send(page, `/fetch?url=http://${HOST}/`)).status).to.equal(200)
    const balance = () => world.hub.balance(world.reader.keyId)
    const before = await balance()
    for (let i = 0; i < 100; i++) {
      const responses = await Promise.all([
        send(analysis, '/sentiment', { text: '' }),
        send(acme, '/find', {}),
        send(page, `/fetch?url=http://${HOST}/nowhere-${i}`),
      ])
      expect(responses.map(({ status }) => status)).to.deep.equal([422, 404, 404])
    }
    expect(await balance(), 'none was charged').to.equal(before)
    await eventually(async () => {
      const { rows } = await world.hub.database.admin.query<{ calls: bigint }>(
        'SELECT calls FROM hub.service_day WHERE service = $1',
        [acme],
      )
      return rows[0]?.calls === 100n
    })
    expect(await figures()).to.deep.equal([100, 100, 100, true, true, true])
  })
})
