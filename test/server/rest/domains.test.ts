import { expect } from 'chai'
import { type Body, HOST, html, useOwner } from '../../plugins/content/fixture.ts'

describe('owners of domains', () => {
  const fixture = useOwner()
  const { send, register, shows, verify, price } = fixture
  const tokenOf = ({ proof }: Body) => (proof as Body)['token']
  const ALL = { path: '/**', price_microdollars: 1_000 }
  const stateOf = async (id: unknown) => (await send('GET', `/v1/domains/${String(id)}`)).body
  const listed = async (slug: unknown) =>
    (await send('GET', `/v1/services/${String(slug)}`)).status === 200

  it('get proof options, and sell nothing before the proof', async () => {
    const made = await register({ name: 'The Owner', slug: 'the-owner' })
    expect(made).to.include({ domain: HOST, state: 'pending', slug: null, fetch_url: null })
    const { ways, token } = made['proof'] as { ways: Body[]; token: string }
    expect(ways).to.deep.equal([
      { method: 'file', where: `http://${HOST}/.well-known/agenthub.txt`, content: token },
      {
        method: 'meta',
        where: `http://${HOST}/`,
        content: `<meta name="agenthub-verification" content="${token}">`,
      },
      {
        method: 'dns',
        where: `TXT _agenthub.${HOST}`,
        content: `agenthub-verification=${token}`,
      },
    ])
    const again = await register({ name: 'The Owner', slug: 'the-owner' })
    expect(again['domain_id'], 'registered again, it is the same').to.equal(made['domain_id'])
    const early = await verify(made['domain_id'])
    expect([early.status, early.body['code']]).to.deep.equal([409, 'domain_not_proven'])
    expect(early.body['detail'], 'what the hub saw').to.include('File: The site answered 404.')
    expect((early.body['missing'] as Body[]).map(({ method }) => method)).to.deep.equal([
      'file',
      'meta',
      'dns',
    ])
    expect((await send('GET', '/proxy/the-owner/fetch')).body['code']).to.equal('service_not_found')
  })

  it('prove a domain by a meta tag and are listed once a rule sells pages', async () => {
    const made = await register()
    const meta = `<meta name="agenthub-verification" content="${String(tokenOf(made))}">`
    fixture.sites.at(HOST, html('<h1>Hello</h1>', meta))
    const { status, body } = await verify(made['domain_id'])
    expect([status, body['state'], body['slug']]).to.deep.equal([200, 'verified', 'the-owner'])
    expect(body['proof']).to.include({ method: 'meta' })
    expect(await listed('the-owner'), 'without a rule').to.equal(false)
    expect((await price(made['domain_id'], [ALL])).status).to.equal(200)
    expect(await listed('the-owner')).to.equal(true)
    const { body: found } = await send('POST', '/v1/search', { query: 'The Owner' })
    expect(found['data']).to.have.nested.property('[0].slug', 'the-owner')
    const { body: service } = await send('GET', '/v1/services/the-owner')
    expect(service).to.include({ category: 'content', name: 'The Owner' })
    expect(service['provider']).to.match(/^p-[0-9a-f]{20}$/)
  })

  it('are listed and found by the price of their cheapest page', async () => {
    const made = await register()
    shows(tokenOf(made))
    await verify(made['domain_id'])
    await price(made['domain_id'], [ALL, { path: '/reports/**', price_microdollars: 20_000 }])
    const { body: service } = await send('GET', '/v1/services/the-owner')
    const prices = { min: 1_000, max: 50 * 20_000 }
    expect(service['price_microdollars'], 'a page, and a batch of reports').to.deep.equal(prices)
    const query = { query: 'The Owner', max_price_microdollars: 1_000 }
    const { body: found } = await send('POST', '/v1/search', query)
    expect(found['data']).to.have.nested.property('[0].slug', 'the-owner')
  })

  it('replace all rules at once; invalid rules change nothing', async () => {
    const { domain_id: id } = await register()
    const rules = [
      { path: '/a/**', price_microdollars: 5_000, cached_price_microdollars: 2_000, fast: true },
      { path: '/a/secret', action: 'deny' },
    ]
    const { body } = await price(id, rules)
    expect(body['rules'], 'the most specific first').to.deep.equal([
      {
        path: '/a/secret',
        agents: [],
        action: 'deny',
        max_age_seconds: 3_600,
        preview_characters: 0,
        wait_for: null,
        exclude: [],
        fast: false,
      },
      {
        path: '/a/**',
        agents: [],
        action: 'sell',
        price_microdollars: 5_000,
        cached_price_microdollars: 2_000,
        max_age_seconds: 3_600,
        preview_characters: 0,
        wait_for: null,
        exclude: [],
        fast: true,
      },
    ])
    const bad: readonly Body[][] = [
      [{ path: 'a', price_microdollars: 1 }],
      [{ path: '/a?b', price_microdollars: 1 }],
      [{ path: '/***', price_microdollars: 1 }],
      [{ path: `/${'*a'.repeat(11)}`, price_microdollars: 1 }],
      [{ path: '/a' }],
      [{ path: '/a', price_microdollars: -1 }],
      [{ path: '/a', price_microdollars: 0.5 }],
      [{ path: '/a', price_microdollars: 1, cached_price_microdollars: 2 }],
      [{ path: '/a', price_microdollars: 1, exclude: ['p:::x'] }],
      [{ path: '/a', price_microdollars: 1, wait_for: '[' }],
      [{ path: '/a', price_microdollars: 1, wait_for: 'p:contains(x)' }],
      [{ path: '/%ff', price_microdollars: 1 }],
      [ALL, ALL],
      Array.from({ length: 201 }, (_, n) => ({ path: `/${n}`, price_microdollars: 1 })),
    ]
    for (const wrong of bad) {
      const response = await price(id, wrong)
      expect(
        [response.status, response.body['code']],
        JSON.stringify(wrong).slice(0, 80),
      ).to.deep.equal([422, 'validation_failed'])
    }
    const odd = { path: '/a', price_microdollars: 1, exclude: ['p', 'p:eq(1)'] }
    expect((await price(id, [ALL, odd])).body['issues']).to.deep.equal([
      {
        path: '/rules/1/exclude/1',
        message: 'must be a CSS selector: :eq is not supported, at character 2',
      },
    ])
    const current = await send('GET', `/v1/domains/${String(id)}/rules`)
    expect(current.body['rules']).to.have.length(2)
    const trial = (url: string) => send('POST', `/v1/domains/${String(id)}/rules/try`, { url })
    expect((await trial(`http://${HOST}/a/b`)).body).to.have.nested.property('rule.path', '/a/**')
    expect((await trial(`http://${HOST}/a/secret`)).body['outcome']).to.equal('page_denied')
    await price(id, [ALL])
  })

  it('stop and resume sales immediately', async () => {
    const { domain_id: id } = await register()
    const change = (selling: boolean) => send('PATCH', `/v1/domains/${String(id)}`, { selling })
    const sold = async () => {
      const { body } = await send('GET', `/proxy/the-owner/fetch?url=http://${HOST}/none`)
      return body['code']
    }
    expect(await sold()).to.equal('insufficient_credits')
    expect((await change(false)).body).to.include({ selling: false, fetch_url: null })
    expect([await sold(), await listed('the-owner')]).to.deep.equal(['service_not_found', false])
    expect((await change(true)).body).to.include({ selling: true })
    expect([await sold(), await listed('the-owner')]).to.deep.equal(['insufficient_credits', true])
  })

  it('see only their own domains', async () => {
    const { domain_id: id } = await register()
    const eve = await fixture.hub.agent()
    const ask = (method: string, path: string, body?: Body) => send(method, path, body, eve)
    const responses = await Promise.all([
      ask('GET', `/v1/domains/${String(id)}`),
      ask('PATCH', `/v1/domains/${String(id)}`, { selling: false }),
      ask('DELETE', `/v1/domains/${String(id)}`),
      ask('GET', `/v1/domains/${String(id)}/rules`),
      ask('PUT', `/v1/domains/${String(id)}/rules`, { rules: [] }),
      ask('GET', `/v1/domains/${String(id)}/earnings`),
      ask('POST', `/v1/domains/${String(id)}/verify`),
    ])
    for (const { status, body } of responses) {
      expect([status, body['code']]).to.deep.equal([404, 'domain_not_found'])
    }
    expect((await ask('GET', '/v1/domains')).body['data']).to.deep.equal([])
    const keyless = await fixture.hub.agent()
    expect((await send('GET', '/v1/domains', undefined, keyless)).status).to.equal(200)
  })

  it('list their domains in pages', async () => {
    for (const host of ['shop.test', 'other.test']) await register({ domain: `http://${host}` })
    const first = (await send('GET', '/v1/domains?limit=2')).body
    expect((first['data'] as Body[]).map(({ domain }) => domain)).to.deep.equal([
      'other.test',
      HOST,
    ])
    const next = `/v1/domains?limit=2&cursor=${String(first['next_cursor'])}`
    const { body } = await send('GET', next)
    expect((body['data'] as Body[]).map(({ domain }) => domain)).to.deep.equal(['shop.test'])
    expect(body['has_more']).to.equal(false)
  })

  it('can only register public host names', async () => {
    const wrong = ['localhost', '127.0.0.1', 'http://10.0.0.1', '8.8.8.8', 'intra.local', 'a b', '']
    for (const domain of [...wrong, 'https://owner.test:8443', 'ftp://owner.test', '[::1]']) {
      const response = await send('POST', '/v1/domains', { domain })
      expect([response.status, response.body['code']], domain).to.deep.equal([
        422,
        'validation_failed',
      ])
    }
  })

  it('lose domain and slug, but not earnings, to a later proof', async () => {
    const mine = await register()
    const eve = await fixture.hub.agent()
    const theirs = await register({ name: 'Eve' }, eve)
    shows(tokenOf(mine))
    expect((await verify(theirs['domain_id'], eve)).body['code']).to.equal('domain_not_proven')
    shows(tokenOf(theirs))
    const { body } = await verify(theirs['domain_id'], eve)
    expect(body).to.include({ state: 'verified', slug: 'the-owner' })
    expect(body['provider']).not.to.equal(mine['provider'])
    expect(await stateOf(mine['domain_id'])).to.include({ state: 'transferred', slug: null })
    expect(await listed('the-owner'), 'without rules of theirs').to.equal(false)
    await price(theirs['domain_id'], [ALL], eve)
    const { body: service } = await send('GET', '/v1/services/the-owner')
    expect(service['provider']).to.equal(body['provider'])
    shows(tokenOf(mine))
    expect((await verify(mine['domain_id'])).body).to.include({ slug: 'the-owner' })
  })

  it('can check the proof at most every five seconds', async () => {
    const { domain_id: id } = await register()
    await verify(id)
    const again = await send('POST', `/v1/domains/${String(id)}/verify`)
    expect([again.status, again.body['code']]).to.deep.equal([429, 'proof_too_soon'])
    expect(again.headers['retry-after']).to.equal('5')
  })

  it('can delete a domain; a new registration requires a new proof', async () => {
    const { domain_id: id } = await register()
    expect((await send('DELETE', `/v1/domains/${String(id)}`)).body['state']).to.equal('deleted')
    expect(await listed('the-owner')).to.equal(false)
    expect((await send('GET', `/v1/domains/${String(id)}`)).status).to.equal(404)
    const made = await register()
    expect(made['domain_id']).not.to.equal(id)
    expect(made).to.include({ state: 'pending', slug: null })
    shows(tokenOf(made))
    expect((await verify(made['domain_id'])).body['slug'], 'the slug is the host’s').to.equal(
      'the-owner',
    )
  })

  it('never get a slug of another provider', async () => {
    for (const slug of ['echo', 'external', 'magazine']) {
      const made = await register({ domain: 'http://shop.test', slug })
      shows(tokenOf(made), {}, 'shop.test')
      const response = await verify(made['domain_id'])
      expect([response.status, response.body['code']], slug).to.deep.equal([409, 'slug_taken'])
    }
  })
})
