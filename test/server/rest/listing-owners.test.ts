import { expect } from 'chai'
import { paths, sells } from '../../core/catalog/fixture.ts'
import { type Body, useListings } from './listing-world.ts'

const ELSEWHERE = '0x52908400098527886E0F7030069857D2E4169EE7'

describe('owners and buyers of external listings', () => {
  const world = useListings()
  const { post, get, list, later, rescan } = world

  describe('belong to who holds the host', () => {
    const claim = async (agent = world.ada) =>
      (await post('/v1/listings/ownership', { host: 'http://other.test' }, agent)).body
    const shows = (text: string, path = '/.well-known/agenthub.txt'): void =>
      world.sites.at(
        'other.test',
        paths({ [path]: (_, response) => response.end(text), '/rain': sells() }),
      )
    const optOut = (agent = world.ada, more: Body = {}) =>
      post('/v1/listings/opt-out', { host: 'http://other.test', ...more }, agent)

    it('which a file, a meta tag shows, and no token of somebody else', async () => {
      const { token, proven } = await claim()
      expect(proven).to.equal(false)
      const eve = await world.hub.agent()
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

    it('who may take them out, and whom every source obeys', async () => {
      const eve = await world.hub.agent()
      shows(String((await claim())['token']))
      await claim()
      const { body } = await post('/v1/listings', { url: 'http://other.test/rain' })
      const id = (body['listed'] as Body[])[0]!['id']
      expect((await optOut(eve)).body).to.include({ code: 'ownership_required' })
      expect((await optOut()).body).to.include({ opted_out: true, listings: 1 })
      const gone = (await get(`/v1/external/${String(id)}`)).body
      expect(gone).to.have.nested.property('reason.code', 'opted_out')
      expect(gone['removed_at']).to.be.a('string')
      expect((await rescan(id)).status).to.equal(410)
      const again = await post('/v1/listings', { url: 'http://other.test/rain' })
      expect(again.body).to.have.nested.property('refused[0].reason.code', 'opted_out')
      expect((await optOut(world.ada, { opted_out: false })).body).to.include({ listings: 1 })
      expect((await rescan(id)).body).to.include({ state: 'active', removed_at: null })
    })

    it('who hears when a listing has changed', async () => {
      shows(String((await claim())['token']))
      await claim()
      const { body } = await post('/v1/listings', { url: 'http://other.test/rain' })
      const id = (body['listed'] as Body[])[0]!['id']
      await post('/v1/webhooks', { url: 'http://other.test/hook', events: ['listing.changed'] })
      world.sites.at('other.test', paths({ '/rain': sells({ amount: '4000' }) }))
      await rescan(id)
      const { rows } = await world.hub.hub.pool.query(
        `SELECT data FROM hub.webhook_event WHERE type = 'listing.changed'`,
      )
      expect(rows).to.have.length(1)
      expect(rows[0]).to.have.nested.property('data.price_microdollars', 4_000)
    })
  })

  describe('hold purchases to what a probe saw', () => {
    const buy = (body: Body) => post('/proxy/external', body)
    const signed = async () =>
      (await world.hub.hub.pool.query('SELECT FROM hub.payment_intent')).rowCount

    it('A087 a price above the listed one is refused, unsigned, and a probe is due', async () => {
      await world.hub.credit(world.ada.keyId, 1_000_000n)
      const { id } = await list('/dear', { amount: '10000' })
      world.sites.at('shop.test', paths({ '/dear': sells({ amount: '990000' }) }))
      await later(2)
      const before = await signed()
      const { status, body } = await buy({ url: 'http://shop.test/dear?city=Oslo' })
      expect([status, body['code']]).to.deep.equal([402, 'price_exceeds_max'])
      expect(body).to.include({ price_microdollars: 990_000, listed_price_microdollars: 10_000 })
      expect(await signed()).to.equal(before)
      expect(await world.hub.balance(world.ada.keyId)).to.equal(1_000_000n)
      const { rows } = await world.hub.hub.pool.query(
        'SELECT next_probe_at <= now() AS due FROM hub.listing WHERE id = $1',
        [id],
      )
      expect(rows).to.deep.equal([{ due: true }])
    })

    it('… unless the caller names a maximum of their own', async () => {
      const url = `${world.hub.sandbox!.sellerUrl}/weather`
      await world.hub.database.admin.query('UPDATE hub.listing SET price = 1 WHERE url = $1', [url])
      expect((await buy({ url })).body).to.include({ code: 'price_exceeds_max' })
      const named = await buy({ url, max_price_microdollars: 10_000 })
      expect(named.status, JSON.stringify(named.body)).to.equal(200)
      const less = await buy({ url, max_price_microdollars: 9_999 })
      expect(less.body).to.include({ code: 'price_exceeds_max' })
    })

    it('and tell from the first purchase on that the payee is not the listed one', async () => {
      const url = `${world.hub.sandbox!.sellerUrl}/shout?pay_to=${ELSEWHERE}`
      const { status, headers } = await buy({ url, method: 'POST', body: 'hello' })
      expect([status, headers['x-upstream-caution']]).to.deep.equal([200, 'pay_to_changed'])
    })
  })
})
