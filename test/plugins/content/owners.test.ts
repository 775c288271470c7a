import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { callTool } from '../../server/mcp/ask.ts'
import { type ApiResponse, ask, payFor } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { article, type Body, HOST, html, TEXT, useOwner } from './fixture.ts'
import { ownerView } from './owner-view.ts'
import { pagesBeside, RULES } from './site.ts'

const at = (path: string) => `http://${HOST}${path}`

describe('pages sold again, together and by list', () => {
  const world = useOwner()
  let slug = ''
  let id = ''
  let story = 'A story'
  before(async () => {
    const pages = pagesBeside({ port: 1 })
    const sold = await world.sell(RULES, {
      ...pages,
      '/kept/story': (request, response) => html(article(story, TEXT))(request, response),
    })
    slug = sold.slug
    id = sold.id
  })
  const charged = ({ headers }: ApiResponse) => Number(headers['x-charged-microdollars'])
  const visits = (path: string) =>
    world.sites.visits.filter((visit) => visit === `GET ${HOST}${path}`).length
  const credits = () => world.hub.balance(world.reader.keyId)
  const query = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    ask(world.hub.url, `/proxy/${slug}/fetch?${String(new URLSearchParams(fields))}`, {
      key: world.reader.apiKey,
      headers,
    })
  /** Lets the owner's time for a copy run out. */
  const expire = () =>
    world.hub.database.admin.query(
      `UPDATE plugin_content.page SET fetched_at = fetched_at - interval '2 hours'`,
    )

  describe('an unchanged page', () => {
    const url = at('/kept/story')
    let etag = ''
    let changedAt = ''
    it('has a tag and the time since when it is so', async () => {
      const first = await query({ url })
      etag = String(first.body['etag'])
      changedAt = String(first.body['changed_at'])
      expect(first.headers['etag']).to.equal(`"${etag}"`)
      expect(Date.parse(String(first.headers['last-modified']))).to.equal(
        Math.floor(Date.parse(changedAt) / 1_000) * 1_000,
      )
      expect(charged(first)).to.equal(4_000)
    })

    it('is confirmed for free, without asking the site', async () => {
      const [seen, before] = [visits('/kept/story'), await credits()]
      const dry = await query({ url, etag }, { 'x-dry-run': 'true' })
      expect(dry.body).to.include({ price_microdollars: 0 })
      const byTag = await query({ url, etag })
      expect(byTag.body).to.deep.include({ url, unchanged: true, etag, changed_at: changedAt })
      expect(byTag.body).not.to.have.property('text')
      const byDate = await query({ url, unchanged_since: new Date().toISOString() })
      expect(byDate.body).to.include({ unchanged: true }).and.not.to.have.property('etag')
      for (const [headers, tag] of [
        [{ 'if-none-match': `W/"other", "${etag}"` }, `"${etag}"`],
        [{ 'if-modified-since': new Date().toUTCString() }, undefined],
      ] as const) {
        const { status, text, headers: sent } = await query({ url }, headers)
        expect([status, text, sent['etag']]).to.deep.equal([304, '', tag])
        expect(sent).to.include({ 'x-charged-microdollars': '0' })
        expect(sent).not.to.have.property('x-refund-reason')
      }
      expect([visits('/kept/story'), await credits()]).to.deep.equal([seen, before])
    })

    it('is sold if the caller has another version, or an older one', async () => {
      expect(charged(await query({ url, etag: 'other' }))).to.equal(500)
      const old = { 'if-modified-since': 'Sat, 21 Nov 2020 10:00:00 GMT' }
      expect((await query({ url }, old)).status).to.equal(200)
    })

    it('is sold to callers that want it read sooner than the cache may confirm it', async () => {
      const response = await query({ url, etag, max_age: '0' })
      expect([charged(response), response.body['etag']]).to.deep.equal([4_000, etag])
    })

    it('is confirmed by reading it anew once the copy is too old, then from the copy', async () => {
      await expire()
      const seen = visits('/kept/story')
      const again = await query({ url, etag })
      expect([again.body['unchanged'], charged(again)]).to.deep.equal([true, 0])
      expect((await query({ url, etag })).body).to.deep.include({
        unchanged: true,
        changed_at: changedAt,
      })
      expect(visits('/kept/story')).to.equal(seen + 1)
    })

    it('is not read for callers that know only a date: they may never have bought it', async () => {
      await expire()
      const later = new Date(Date.now() + 86_400_000)
      const response = await query({ url }, { 'if-modified-since': later.toUTCString() })
      expect([response.status, charged(response)]).to.deep.equal([200, 4_000])
    })

    it('is sold at its price once it has changed', async () => {
      await expire()
      story = 'Another story'
      const response = await query({ url }, { 'if-none-match': `"${etag}"` })
      expect([response.status, charged(response), response.body['title']]).to.deep.equal([
        200,
        4_000,
        story,
      ])
      expect(response.body['etag']).not.to.equal(etag)
    })

    it('is sold each time if the owner lets no copy of it be sold', async () => {
      const first = await query({ url: at('/') })
      const again = await query({ url: at('/'), etag: String(first.body['etag']) })
      expect([charged(again), again.body['etag']]).to.deep.equal([1_000, first.body['etag']])
    })

    it('is confirmed over MCP', async () => {
      const { body } = await query({ url })
      const { data } = await callTool(world.hub, world.reader.apiKey, 'hub_read_content', {
        url,
        etag: body['etag'],
      })
      expect(data).to.deep.include({ charged_usd: '0.00' })
      expect(data['body']).to.include({ unchanged: true })
    })
  })

  describe('a batch', () => {
    const urls = ['/dear/report', '/gone', '/members/letter', '/', '/dear/report'].map(at)
    const batch = (body: Body, headers: Record<string, string> = {}, key = world.reader.apiKey) =>
      ask(world.hub.url, `/proxy/${slug}/batch`, {
        method: 'POST',
        body,
        headers,
        ...(key !== '' && { key }),
      })
    const outcomes = ({ body }: ApiResponse) =>
      (body['pages'] as readonly Body[]).map(({ page, error, charged_microdollars: amount }) => [
        page ? (page as Body)['title'] : (error as Body)['code'],
        amount,
      ])

    it('holds the sum of its prices and charges the pages that are delivered', async () => {
      const dry = await batch({ urls }, { 'x-dry-run': 'true' })
      expect(dry.body).to.include({ price_microdollars: 52_000 })
      const before = await credits()
      const response = await batch({ urls }, { 'idempotency-key': 'a-batch' })
      expect(response.status, response.text).to.equal(200)
      expect(outcomes(response)).to.deep.equal([
        ['A dear report', 50_000],
        ['page_not_found', 0],
        ['page_denied', 0],
        ['The frozen harbour', 1_000],
        ['repeated_url', 0],
      ])
      expect(response.body).to.include({ delivered: 2, charged_microdollars: 51_000 })
      expect([charged(response), before - (await credits())]).to.deep.equal([51_000, 51_000n])
      const again = await batch({ urls }, { 'idempotency-key': 'a-batch' })
      expect(again.body).to.deep.equal(response.body)
      expect(before - (await credits()), 'charged once').to.equal(51_000n)
    })

    it('has at most 50 URLs, and a price that the caller may limit', async () => {
      const many = Array.from({ length: 51 }, (_, n) => at(`/${n}`))
      expect((await batch({ urls: many })).body['code']).to.equal('validation_failed')
      const { body } = await batch({ urls }, { 'x-max-price': '51999' })
      expect(body['code']).to.equal('price_exceeds_max')
    })

    it('that delivers nothing fails with the reason of each page, uncharged', async () => {
      const before = await credits()
      const { status, body, text } = await batch({ urls: [at('/members/letter'), at('/gone')] })
      expect([status, body['code']], text).to.deep.equal([403, 'page_denied'])
      expect(body['pages']).to.deep.equal([
        { url: at('/members/letter'), code: 'page_denied' },
        { url: at('/gone'), code: 'page_not_found' },
      ])
      const broken = await batch({ urls: [at('/gone'), at('/broken')] })
      expect([broken.status, broken.body['code']]).to.deep.equal([502, 'content_unavailable'])
      expect(await credits()).to.equal(before)
    })

    it('is all or nothing for a payment by x402, which cannot be lowered', async () => {
      const account = privateKeyToAccount(generatePrivateKey())
      await fund(world.hub.sandbox!.rpcUrl, account.address, { usdc: 100_000n })
      const balance = () => world.hub.sandbox!.money.chain.balanceOf(account.address)
      const buy = async (body: Body) => {
        const offered = await batch(body, {}, '')
        expect(offered.status, offered.text).to.equal(402)
        const payment = await payFor(account, world.hub.url, offered)
        return batch(body, { 'payment-signature': payment }, '')
      }
      const part = await buy({ urls: [at('/'), at('/gone')] })
      expect([part.status, part.body['code']], part.text).to.deep.equal([404, 'page_not_found'])
      expect(part.text).not.to.include('children walked')
      expect(await balance()).to.equal(100_000n)
      const whole = await buy({ urls: [at('/'), at('/members/letter')] })
      expect(whole.status, whole.text).to.equal(200)
      expect(await balance()).to.equal(99_000n)
    })

    it('over MCP charges the same', async () => {
      const { data } = await callTool(world.hub, world.reader.apiKey, 'hub_call', {
        service: slug,
        endpoint: 'POST /batch',
        input: { urls: [at('/'), at('/gone')] },
      })
      expect(data).to.deep.include({ charged_usd: '0.001' })
    })

    it('earns its owner what the ledger says, page by page', async () => {
      const odd = { path: '/free', price_microdollars: 7, fast: true, max_age_seconds: 0 }
      const rules = [...RULES.filter(({ path }) => path !== '/free'), odd]
      expect((await world.price(id, rules)).status).to.equal(200)
      expect((await batch({ urls: [at('/free'), at('/'), at('/clean')] })).status).to.equal(200)
      const { body } = await world.send('GET', `/v1/domains/${id}`)
      const account = `liabilities:providers:${String(body['provider'])}:${slug}` as const
      const booked = Number(await world.hub.hub.ledger.balance(account))
      const rows = async () => {
        const { body } = await world.send('GET', `/v1/domains/${id}/earnings?by=page&limit=100`)
        return body['data'] as readonly Body[]
      }
      const sum = async () =>
        (await rows()).reduce((total, row) => total + Number(row['earned_microdollars']), 0)
      await eventually(async () => (await sum()) === booked)
      expect((await rows()).find(({ page }) => page === at('/clean'))).to.include({
        charged_microdollars: 1_000,
      })
    })
  })

  it('are listed from the sitemaps with their prices, page by page', async () => {
    const list = async (more = '') => {
      const { status, body, text } = await ask(world.hub.url, `/proxy/${slug}/pages?limit=2${more}`)
      expect(status, text).to.equal(200)
      return body
    }
    const first = await list()
    expect((first['data'] as readonly Body[]).map(({ url }) => url)).to.deep.equal([
      at('/dear/report'),
      at('/free'),
    ])
    expect((first['data'] as readonly Body[])[0]).to.include({
      modified: '2026-11-01T00:00:00.000Z',
      price_microdollars: 50_000,
    })
    const rest = await list(`&cursor=${encodeURIComponent(String(first['next_cursor']))}`)
    expect(rest).to.deep.include({ next_cursor: null, problem: null })
    expect((rest['data'] as readonly Body[]).map(({ url }) => url)).to.deep.equal([
      at('/kept/story'),
    ])
    expect(visits('/sitemap.xml'), 'the site is asked once an hour').to.equal(1)
    expect(world.sites.visits).not.to.include('GET other.test/sitemap.xml')
  })

  describe('their owner', () => {
    ownerView(
      world,
      () => id,
      (path, more) => query({ url: at(path), ...more }),
    )
  })
})
