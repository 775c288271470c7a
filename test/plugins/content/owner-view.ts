import { expect } from 'chai'
import type { ApiResponse } from '../../support/ask.ts'
import { type Body, HOST, type useOwner } from './fixture.ts'

const at = (path: string) => `http://${HOST}${path}`

/** Tests of what an owner sees of pages, for a `describe` that sells them. */
export function ownerView(
  world: ReturnType<typeof useOwner>,
  idOf: () => string,
  read: (path: string, more?: Record<string, string>) => Promise<ApiResponse>,
): void {
  const preview = (url: string, agent = world.owner) =>
    world.send('POST', `/v1/domains/${idOf()}/preview`, { url }, agent)
  const setLast = (instant: 'now()' | 'NULL') =>
    world.hub.database.admin.query(`UPDATE hub.domain SET previewed_at = ${instant}`)
  const again = () => setLast('NULL')

  it('sees a page as callers would, with its rule, uncharged and not too often', async () => {
    const { status, body, text } = await preview(at('/doubt/page'))
    expect(status, text).to.equal(200)
    expect(body).to.deep.include({
      outcome: 'sold',
      robots_allowed: true,
      directives: ['noai', 'noimageai'],
      problem: null,
    })
    expect(body['rule']).to.include({ path: '/doubt/**', price_microdollars: 1_000 })
    expect(body['page']).to.include({ title: 'Short' })
    await setLast('now()')
    const soon = await preview(at('/'))
    expect([soon.status, soon.body['code']]).to.deep.equal([429, 'preview_too_soon'])
    await again()
    expect((await preview(at('/quiet'))).body).to.deep.include({
      robots_allowed: false,
      page: null,
    })
    expect((await preview(at('/members/letter'))).body).to.deep.include({
      outcome: 'page_denied',
      page: null,
    })
    await again()
    const missing = await preview(at('/gone'))
    expect(missing.body['problem']).to.include({ code: 'page_not_found' })
    const other = await preview(at('/'), world.reader)
    expect(other.body['code']).to.equal('domain_not_found')
  })

  it('is notified once of pages whose text is doubtful', async () => {
    const events = async () => {
      const { rows } = await world.hub.hub.pool.query<{ data: Body }>(
        `SELECT data FROM hub.webhook_event WHERE type = 'domain.low_confidence'`,
      )
      return rows.map(({ data }) => data)
    }
    await world.hub.database.admin.query('DELETE FROM plugin_content.page')
    await world.send('POST', '/v1/webhooks', {
      url: 'http://other.test/hook',
      events: ['domain.low_confidence'],
    })
    const response = await read('/doubt/page')
    expect(response.status, response.text).to.equal(200)
    expect(Number(response.body['confidence'])).to.be.below(0.5)
    await read('/doubt/page', { max_age: '0' })
    expect(await events()).to.have.length(1)
    const { body } = await world.send('GET', `/v1/domains/${idOf()}`)
    expect(body['low_confidence']).to.include({ url: at('/doubt/page') })
  })
}
