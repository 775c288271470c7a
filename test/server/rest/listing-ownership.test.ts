import { expect } from 'chai'
import { paths, sells } from '../../core/catalog/fixture.ts'
import { type Body, useListings } from './listing-fixture.ts'

const ELSEWHERE = '0x52908400098527886E0F7030069857D2E4169EE7'

describe('external listings', () => {
  const fixture = useListings()
  const { post, get, list, later, rescan } = fixture

  describe('belong to the owner of the host', () => {
    const claim = async (agent = fixture.ada) =>
      (await post('/v1/listings/ownership', { host: 'http://other.test' }, agent)).body
    const shows = (text: string, path = '/.well-known/agenthub.txt'): void =>
      fixture.sites.at(
        'other.test',
        paths({ [path]: (_, response) => response.end(text), '/rain': sells() }),
      )
    const optOut = (agent = fixture.ada, more: Body = {}) =>
      post('/v1/listings/opt-out', { host: 'http://other.test', ...more }, agent)

    it('proven by file or meta tag with their own token', async () => {
      const { token, proven } = await claim()
      expect(proven).to.equal(false)
      const eve = await fixture.hub.agent()
      shows(String((await claim(eve))['token']))
      expect(await claim()).to.include({ proven: false })
      shows(
        `<head><!-- <meta name="agenthub-verification" content="${String(token)}"> --></head>`,
        '/',
      )
      expect(await claim()).to.include({ proven: false })
      shows(`<head><meta name="agenthub-verification" content="${String(token)}"></head>`, '/')
      expect(await claim()).to.include({ proven: true, method: 'meta' })
      shows(`${String(token)}\n`)
      expect(await claim()).to.include({ proven: true, method: 'file' })
    })

    it('who can remove them from all sources', async () => {
      const eve = await fixture.hub.agent()
      shows(String((await claim())['token']))
      await claim()
      const { body } = await post('/v1/listings', { url: 'http://other.test/rain' })
      const id = (body['listed'] as Body[])[0]!['id']
      expect((await optOut(eve)).body).to.include({ code: 'ownership_required' })
      expect((await optOut()).body).to.include({ opted_out: true, listings: 1 })
      const listing = (await get(`/v1/external/${String(id)}`)).body
      expect(listing).to.have.nested.property('reason.code', 'opted_out')
      expect(listing['removed_at']).to.be.a('string')
      expect((await rescan(id)).status).to.equal(410)
      const again = await post('/v1/listings', { url: 'http://other.test/rain' })
      expect(again.body).to.have.nested.property('refused[0].reason.code', 'opted_out')
      expect((await optOut(fixture.ada, { opted_out: false })).body).to.include({ listings: 1 })
      expect((await rescan(id)).body).to.include({ state: 'active', removed_at: null })
    })

    it('who receives an event for every change', async () => {
      shows(String((await claim())['token']))
      await claim()
      const { body } = await post('/v1/listings', { url: 'http://other.test/rain' })
      const id = (body['listed'] as Body[])[0]!['id']
      await post('/v1/webhooks', { url: 'http://other.test/hook', events: ['listing.changed'] })
      fixture.sites.at('other.test', paths({ '/rain': sells({ amount: '4000' }) }))
      await rescan(id)
      const { rows } = await fixture.hub.hub.pool.query(
        `SELECT data FROM hub.webhook_event WHERE type = 'listing.changed'`,
      )
      expect(rows).to.have.length(1)
      expect(rows[0]).to.have.nested.property('data.price_microdollars', 4_000)
    })
  })

  describe('limit purchases to the listed terms', () => {
    const buy = (body: Body) => post('/proxy/external', body)
    const signed = async () =>
      (await fixture.hub.hub.pool.query('SELECT FROM hub.payment_intent')).rowCount

    it('A087 by rejecting a higher price without signing and scheduling a probe', async () => {
      await fixture.hub.credit(fixture.ada.keyId, 1_000_000n)
      const { id } = await list('/dear', { amount: '10000' })
      fixture.sites.at('shop.test', paths({ '/dear': sells({ amount: '990000' }) }))
      await later(2)
      const before = await signed()
      const { status, body } = await buy({ url: 'http://shop.test/dear?city=Oslo' })
      expect([status, body['code']]).to.deep.equal([402, 'price_exceeds_max'])
      expect(body).to.include({ price_microdollars: 990_000, listed_price_microdollars: 10_000 })
      expect(await signed()).to.equal(before)
      expect(await fixture.hub.balance(fixture.ada.keyId)).to.equal(1_000_000n)
      const { rows } = await fixture.hub.hub.pool.query(
        'SELECT next_probe_at <= now() AS due FROM hub.listing WHERE id = $1',
        [id],
      )
      expect(rows).to.deep.equal([{ due: true }])
    })

    it('unless the caller sets a maximum price', async () => {
      const url = `${fixture.hub.sandbox!.sellerUrl}/weather`
      await fixture.hub.database.admin.query('UPDATE hub.listing SET price = 1 WHERE url = $1', [
        url,
      ])
      expect((await buy({ url })).body).to.include({ code: 'price_exceeds_max' })
      const named = await buy({ url, max_price_microdollars: 10_000 })
      expect(named.status, JSON.stringify(named.body)).to.equal(200)
      const less = await buy({ url, max_price_microdollars: 9_999 })
      expect(less.body).to.include({ code: 'price_exceeds_max' })
    })

    it('by refusing a changed payee from the first purchase on, without consent', async () => {
      const url = `${fixture.hub.sandbox!.sellerUrl}/shout?pay_to=${ELSEWHERE}`
      const order = { url, method: 'POST', body: 'hello' }
      const refused = await buy(order)
      expect([refused.status, refused.body['code']]).to.deep.equal([409, 'pay_to_changed'])
      const { status, headers } = await buy({ ...order, accept_pay_to: ELSEWHERE })
      expect([status, headers['x-upstream-caution']]).to.deep.equal([200, 'pay_to_changed'])
    })
  })
})
