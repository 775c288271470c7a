import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { failures } from './failures.ts'
import { type Body, HOST, TEXT, useOwner } from './fixture.ts'
import { pagesBeside, RULES, useCanary } from './site.ts'

const at = (path: string) => `http://${HOST}${path}`
const COMMISSION = 10n

describe('pages sold by their owners', () => {
  const world = useOwner()
  const canary = useCanary()
  let slug = ''
  let id = ''
  before(async () => {
    const sold = await world.sell(RULES, pagesBeside(canary))
    slug = sold.slug
    id = sold.id
  })

  const read = (url: string, headers: Record<string, string> = {}) =>
    world.read(slug, url, { headers })
  const anonymous = (url: string, headers: Record<string, string> = {}) =>
    ask(world.hub.url, `/proxy/${slug}/fetch?url=${encodeURIComponent(url)}`, { headers })
  const charged = ({ headers }: ApiResponse) => BigInt(String(headers['x-charged-microdollars']))
  const credits = () => world.hub.balance(world.reader.keyId)
  const holds = () => world.hub.hub.ledger.balance('liabilities:holds')
  const visits = (path: string) =>
    world.sites.visits.filter((visit) => visit === `GET ${HOST}${path}`).length

  it('are delivered as structured content at the price of their rule', async () => {
    const before = await credits()
    const response = await read(at('/'))
    expect(response.status, response.text).to.equal(200)
    expect(response.body).to.include({ url: at('/'), title: 'The frozen harbour', read_by: 'fast' })
    expect(String(response.body['text'])).to.include('children walked between them to school')
    expect(response.body['cache']).to.deep.equal({ hit: false, age_seconds: 0 })
    expect([charged(response), before - (await credits())]).to.deep.equal([1_000n, 1_000n])
    const { body: domain } = await world.send('GET', `/v1/domains/${id}`)
    expect(domain['earned_microdollars']).to.equal(900)
    const { headers } = await read(at('/dear/report'))
    expect(headers['x-charged-microdollars']).to.equal('50000')
    expect((await read(at('/free'))).headers).to.include({ 'x-payment-source': 'none' })
  })

  it('are free for no agent, though for sale, if they ask AI not to use them', async () => {
    const refused = await read(at('/free-for-people'))
    expect([refused.status, refused.body['reason']]).to.deep.equal([422, 'page_reserved'])
    expect((await read(at('/doubt/page'))).status).to.equal(200)
  })

  it('are read if a site compresses without being asked', async () => {
    expect((await read(at('/packed'))).body).to.include({ title: 'Packed' })
  })

  it('say how to send a URL whose & ended it', async () => {
    const headers = { authorization: `Bearer ${world.reader.apiKey}` }
    const send = (query: string) => ask(world.hub.url, `/proxy/${slug}/fetch?${query}`, { headers })
    const cut = await send(`url=${at('/?x=1')}&y=2`)
    expect([cut.status, cut.body['detail']]).to.deep.equal([
      422,
      '/y: is not a known field. If it is part of the URL in url, send its & as %26.',
    ])
    const other = await send(`url=${at('/')}&y=2`)
    expect(other.body['detail'], 'no query to be a part of').to.equal('/y: is not a known field.')
  })

  it('omit what the provider excludes', async () => {
    const { body } = await read(at('/clean'))
    expect(String(body['text'])).not.to.match(/Buy now|More/)
  })

  it('show their price before purchase: dry run, 402, quote', async () => {
    const dry = await read(at('/dear/report'), { 'x-dry-run': 'true' })
    expect(dry.body).to.include({ dry_run: true, price_microdollars: 50_000, source: 'credits' })
    expect((await anonymous(at('/'))).body).to.include({ price_microdollars: 1_000 })
    const bare = await ask(world.hub.url, `/proxy/${slug}/fetch`)
    expect([bare.status, bare.body['price_microdollars']], 'the most').to.deep.equal([402, 50_000])
    const quoted = await world.send(
      'POST',
      '/v1/quotes',
      { slug, method: 'GET', path: '/fetch', input: { url: at('/dear/report') } },
      world.reader,
    )
    expect(quoted.body).to.include({ price_microdollars: 50_000 })
    const response = await read(at('/dear/report'), {
      'x-quote-id': String(quoted.body['quote_id']),
    })
    expect(charged(response)).to.equal(50_000n)
  })

  it('are refused if they cost more than the caller allows, by either header', async () => {
    const seen = visits('/dear/report')
    for (const headers of [{ 'x-max-price': '49999' }, { 'crawler-max-price': 'USD 0.049' }]) {
      const { status, body, headers: responseHeaders } = await read(at('/dear/report'), headers)
      expect([status, body['code']]).to.deep.equal([402, 'price_exceeds_max'])
      if ('crawler-max-price' in headers)
        expect(responseHeaders['crawler-price']).to.equal('USD 0.050000')
    }
    expect(visits('/dear/report')).to.equal(seen)
    const fine = await read(at('/dear/report'), { 'crawler-max-price': 'USD 0.05' })
    expect([fine.status, fine.headers['crawler-charged']]).to.deep.equal([200, 'USD 0.050000'])
    const odd = await read(at('/'), { 'crawler-max-price': '0.05 EUR' })
    expect(odd.body['code']).to.equal('validation_failed')
  })

  it('A095 are limited to the registered host, before any request or payment', async () => {
    const before = [await credits(), world.sites.visits.length]
    const others = [
      'http://owner.test.evil.example/',
      'http://www.owner.test/',
      'http://owner.test./',
      'http://ówner.test/',
      'http://other.test/',
      'http://127.0.0.1/',
    ]
    for (const url of others) {
      for (const response of [await read(url), await anonymous(url)]) {
        expect([response.status, response.body['code']], url).to.deep.equal([
          403,
          'domain_not_registered',
        ])
      }
    }
    expect([await credits(), world.sites.visits.length]).to.deep.equal(before)
  })

  it('are not sold if the provider or robots.txt disallows it', async () => {
    const before = await credits()
    const responses = await Promise.all(['/members/letter', '/quiet'].map((path) => read(at(path))))
    expect(responses.map(({ status, body }) => [status, body['code']])).to.deep.equal([
      [403, 'page_denied'],
      [403, 'robots_disallowed'],
    ])
    expect([visits('/members/letter'), visits('/quiet')]).to.deep.equal([0, 0])
    expect(await credits()).to.equal(before)
  })

  describe('and cannot be delivered are refunded, with the reason:', () => {
    failures(world, () => slug)
  })

  describe('and need a browser', () => {
    it('are read once they contain what the provider waits for', async () => {
      const response = await read(at('/app/page'))
      expect(response.status, response.text).to.equal(200)
      expect(response.body).to.include({ title: 'Written by a script', read_by: 'browser' })
      expect([charged(response), String(response.body['text'])]).to.deep.equal([3_000n, TEXT])
    })

    it('are detected if the fast mode finds no text, or a template', async () => {
      for (const page of ['page', 'template']) {
        const { body } = await read(at(`/scripted/${page}`))
        expect(body, page).to.include({ title: 'Written by a script', read_by: 'browser' })
      }
    })

    it('A094 and redirect by themselves are refunded', async () => {
      const before = await credits()
      const { status, body, text } = await read(at('/app/leaves'))
      expect([status, body['code']], text).to.deep.equal([502, 'content_redirected'])
      expect(body).to.include({
        detail: 'The page redirects to http://other.test/, on another host.',
        location: 'http://other.test/',
      })
      expect([await credits(), await holds()]).to.deep.equal([before, 0n])
    })

    it('A097 leave no state for the next reader', async () => {
      const responses = [await read(at('/app/state')), await read(at('/app/state'))]
      for (const { body } of responses)
        expect(String(body['text'])).to.include('seen before: nothing')
    })

    it('A093 cannot reach the hub’s machine, and are charged', async () => {
      const response = await read(at('/app/spy'))
      expect([response.status, charged(response)], response.text).to.deep.equal([200, 3_000n])
      expect(String(response.body['text'])).to.include('children walked')
      expect(canary.visits()).to.equal(0)
    })

    it('are refunded if the page has none', async () => {
      const { status, body } = await read(at('/app/missing'))
      expect([status, body['code']]).to.deep.equal([404, 'page_not_found'])
    })
  })

  it('are cached as long as the provider allows and then cost the cached price', async () => {
    const first = await read(at('/kept/story'))
    expect([charged(first), first.body['cache']]).to.deep.equal([
      4_000n,
      { hit: false, age_seconds: 0 },
    ])
    const dry = await read(at('/kept/story'), { 'x-dry-run': 'true' })
    expect(dry.body).to.include({ price_microdollars: 500 })
    const second = await read(at('/kept/story'))
    expect(charged(second)).to.equal(500n)
    expect(second.body['cache']).to.include({ hit: true })
    expect({ ...second.body, cache: 0 }).to.deep.equal({ ...first.body, cache: 0 })
    expect(visits('/kept/story')).to.equal(1)
    const fresh = await world.read(slug, at('/kept/story'), {})
    expect(charged(fresh)).to.equal(500n)
    const { hub, reader } = world
    const url = `/proxy/${slug}/fetch?max_age=0&url=${encodeURIComponent(at('/kept/story'))}`
    expect(charged(await ask(hub.url, url, { key: reader.apiKey }))).to.equal(4_000n)
    expect(visits('/kept/story')).to.equal(2)
  })

  it('show a free preview to everybody if the provider allows it', async () => {
    const url = `/proxy/${slug}/fetch?preview=true&url=${encodeURIComponent(at('/taste'))}`
    const { status, body, headers } = await ask(world.hub.url, url)
    expect([status, headers['x-charged-microdollars']]).to.deep.equal([200, '0'])
    expect(Array.from(String(body['text']))).to.have.length(30)
    expect(body['preview']).to.include({ characters: 30 })
    expect(JSON.stringify(body)).not.to.include('children walked')
    const none = await ask(world.hub.url, url.replace('taste', 'free'))
    expect(none.body['reason']).to.equal('no_preview')
  })

  it('are sold by x402 without a key; the same payment returns the same page', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(world.hub.sandbox!.rpcUrl, account.address, { usdc: 100_000n })
    const offered = await anonymous(at('/dear/report'))
    expect(offered.status).to.equal(402)
    const payment = { 'payment-signature': await payFor(account, world.hub.url, offered) }
    const seen = visits('/dear/report')
    const response = await anonymous(at('/dear/report'), payment)
    expect(response.status, response.text).to.equal(200)
    expect(response.headers['x-payment-source']).to.equal('x402')
    expect(charged(response)).to.equal(50_000n)
    const again = await anonymous(at('/dear/report'), payment)
    expect([again.status, again.body['title']]).to.deep.equal([200, 'A dear report'])
    expect(visits('/dear/report'), 'and it was read once').to.equal(seen + 1)
    const other = await anonymous(at('/'), payment)
    expect([other.status, other.body['code']]).to.deep.equal([402, 'payment_replayed'])
    const { chain } = world.hub.sandbox!.money
    expect(await chain.balanceOf(account.address)).to.equal(50_000n)
  })

  it('are not charged by x402 if they cannot be delivered', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(world.hub.sandbox!.rpcUrl, account.address, { usdc: 100_000n })
    const offered = await anonymous(at('/gone'))
    const payment = { 'payment-signature': await payFor(account, world.hub.url, offered) }
    const { status, body } = await anonymous(at('/gone'), payment)
    expect([status, body['code']]).to.deep.equal([404, 'page_not_found'])
    const { chain } = world.hub.sandbox!.money
    expect(await chain.balanceOf(account.address)).to.equal(100_000n)
  })

  it('are charged once for each Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'the-story' }
    const before = await credits()
    const all = await Promise.all([read(at('/dear/report'), key), read(at('/dear/report'), key)])
    expect(all.map(({ status }) => status)).to.include(200)
    expect((await read(at('/dear/report'), key)).headers).to.include({
      'idempotency-replayed': 'true',
    })
    expect(before - (await credits())).to.equal(50_000n)
  })

  it('earn their provider what the ledger says, by page, caller and day', async () => {
    const rows = async (query: string) => {
      const { body } = await world.send('GET', `/v1/domains/${id}/earnings?${query}`)
      return body['data'] as { readonly [name: string]: number | string }[]
    }
    const { body: domain } = await world.send('GET', `/v1/domains/${id}`)
    const account = `liabilities:providers:${String(domain['provider'])}:${slug}` as const
    const booked = await world.hub.hub.ledger.balance(account)
    expect(domain['earned_microdollars']).to.equal(Number(booked))
    for (const by of ['page', 'caller', 'day']) {
      const sum = async () =>
        (await rows(`by=${by}&limit=100`)).reduce(
          (total, row) => total + BigInt(row['earned_microdollars']!),
          0n,
        )
      await eventually(async () => (await sum()) === booked) // calls are written within a second
      expect(await sum(), by).to.equal(booked)
    }
    const pages = await rows('by=page&limit=100')
    const dear = pages.find(({ page }) => page === at('/dear/report'))!
    expect(Number(dear['earned_microdollars'])).to.equal(
      Number(dear['charged_microdollars']) * (1 - 1 / Number(COMMISSION)),
    )
    const callers = await rows('by=caller')
    expect(callers.length).to.be.at.least(2)
    for (const { caller } of callers) expect(caller).to.match(/^[0-9a-f]{16}$/)
    const byOne: unknown[] = []
    let next = `by=page&limit=1`
    for (let n = 0; n < pages.length; n += 1) {
      const { body } = await world.send('GET', `/v1/domains/${id}/earnings?${next}`)
      byOne.push(...(body['data'] as Body[]))
      next = `by=page&limit=1&cursor=${String(body['next_cursor'])}`
    }
    expect(byOne).to.deep.equal(pages)
  })
})
