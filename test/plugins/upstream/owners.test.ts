import { expect } from 'chai'
import { readReview, reviewedVersion } from '../../../core/catalog/review/versions.ts'
import { approve, suspend } from '../../../core/catalog/upstreams/lifecycle.ts'
import { resealSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import { parseSealingKeys, type SealingKey, SealingKeys } from '../../../core/crypto/sealing.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { type Body, json, useUpstream } from './fixture.ts'
import { BLOCKED_URLS, CONTRADICTORY } from './invalid-endpoints.ts'

const KEYS = parseSealingKeys(
  [1, 2].map((n) => `k${n}:${Buffer.alloc(32, n).toString('base64')}`).join(),
) as [SealingKey, SealingKey]

describe('providers of APIs', () => {
  const listing = { approval: true, noticeDays: 7, sealingKeys: [KEYS[0]] }
  const world = useUpstream({ config: { listing } })
  const { answers, act, call, draft, put, send, view, seen } = world
  const admin = () => world.hub.database.admin
  const approved = async (slug: string) => {
    const info = await inTransaction(world.hub.database.pool, async (client) =>
      approve(client, slug, reviewedVersion(await readReview(client, slug))),
    )
    await world.hub.hub.catalog.refresh(slug)
    return info
  }
  const endpoint = (more: Body = {}) => ({
    method: 'POST',
    path: '/do',
    summary: 'Does it.',
    price_microdollars: 1_000,
    ...more,
  })
  /** Sells an approved API. */
  const sold = async (more: Body = {}): Promise<string> => {
    const slug = await draft()
    expect((await put(slug, [endpoint(more)])).status).to.equal(200)
    expect((await act(slug, 'activate')).body['state']).to.equal('pending')
    await approved(slug)
    return slug
  }
  const codeOf = async (pending: Promise<{ status: number; body: Body }>) => {
    const { status, body } = await pending
    return [status, body['code']]
  }

  it('sell a draft once it is complete and approved, and nobody finds it before', async () => {
    const slug = await draft()
    expect(await view(slug)).to.deep.include({
      state: 'draft',
      missing: [{ kind: 'endpoint', what: 'an endpoint' }],
    })
    expect(await codeOf(act(slug, 'activate'))).to.deep.equal([409, 'service_incomplete'])
    const { price_microdollars: _, ...unpriced } = endpoint()
    await put(slug, [unpriced])
    expect((await view(slug))['missing']).to.deep.equal([
      { kind: 'price', what: 'a price of POST /do' },
      { kind: 'test', what: 'a passing test call of POST /do' },
    ])
    await put(slug, [endpoint()])
    expect((await act(slug, 'activate')).body['state']).to.equal('pending')
    const calling = () => codeOf(call(slug, '/do', { body: {} }))
    expect(await calling()).to.deep.equal([404, 'service_not_found'])
    expect((await send('GET', `/v1/services/${slug}`)).status).to.equal(404)
    await approved(slug)
    answers(json({}))
    expect((await call(slug, '/do', { body: {} })).status).to.equal(200)
    expect((await send('GET', `/v1/services/${slug}`)).body).to.include({ category: 'data' })
    expect((await act(slug, 'pause')).body['state']).to.equal('paused')
    expect(await calling(), 'paused').to.deep.equal([404, 'service_not_found'])
    expect((await act(slug, 'activate')).body['state'], 'approved of once').to.equal('active')
    await inTransaction(world.hub.database.pool, (client) => suspend(client, slug, 'Spam.'))
    expect(await codeOf(act(slug, 'activate'))).to.deep.equal([409, 'service_state'])
    expect(await view(slug)).to.include({ state: 'suspended', reason: 'Spam.' })
    const { state } = await approved(slug)
    expect(state).to.equal('active')
  })

  it('are isolated: nobody else sees, changes or tests their API', async () => {
    const slug = await draft()
    const other = await world.hub.agent()
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'Mine' }],
      ['PUT', '/endpoints', { endpoints: [endpoint()] }],
      ['PUT', '/secret', { secrets: [] }],
      ['POST', '/test', { endpoint: 'POST /do' }],
      ['POST', '/activate', undefined],
      ['POST', '/pause', undefined],
      ['POST', '/retire', {}],
      ['GET', '/prices', undefined],
    ] as const) {
      const response = await send(method, `/v1/provider/services/${slug}${path}`, body, other)
      expect([response.status, response.body['code']], path).to.deep.equal([
        404,
        'service_not_found',
      ])
    }
    const list = await send('GET', '/v1/provider/services', undefined, other)
    expect(list.body['data']).to.deep.equal([])
    const taken = await send('POST', '/v1/provider/services', {
      slug,
      name: 'X',
      category: 'data',
      summary: 'X.',
      base_url: world.origin,
    })
    expect([taken.status, taken.body['code']]).to.deep.equal([409, 'slug_taken'])
    expect((await send('GET', '/v1/provider/services')).body['data']).to.be.an('array').not.empty
  })

  it('lower a price at once and raise it after its notice, also by a new endpoint', async () => {
    const slug = await sold()
    answers(json({}))
    const cost = async () =>
      (await call(slug, '/do', { body: {} })).headers['x-charged-microdollars']
    await put(slug, [endpoint({ price_microdollars: 400 })])
    expect(await cost()).to.equal('400')
    const { body } = await put(slug, [endpoint({ price_microdollars: 900 })])
    expect(body).to.have.nested.property('endpoints[0].coming_price.price_microdollars', 900)
    const { body: listed } = await send('GET', `/v1/services/${slug}`)
    expect(listed, 'callers are told').to.have.nested.property(
      'endpoints[0].coming_price.price_microdollars',
      900,
    )
    await put(slug, [endpoint({ path: '/other' })])
    await put(slug, [endpoint({ price_microdollars: 950 })])
    expect(await cost(), 'taken off and put back').to.equal('400')
    const history = await send('GET', `/v1/provider/services/${slug}/prices`)
    const prices = (history.body['data'] as Body[]).filter(({ path }) => path === '/do')
    const shown = prices.map((each) => [
      each['price_microdollars'],
      each['current'],
      each['withdrawn_at'] !== null,
    ])
    expect(shown).to.deep.equal([
      [950, false, false],
      [900, false, true],
      [400, true, false],
      [1_000, false, false],
    ])
    const [coming] = prices
    const days =
      (Date.parse(String(coming?.['effective_at'])) - Date.parse(String(coming?.['set_at']))) /
      86_400_000
    expect(days).to.equal(7)
    await admin().query(
      `UPDATE hub.upstream_price SET set_at = set_at - interval '8 days',
         effective_at = effective_at - interval '8 days'
       WHERE service = $1 AND withdrawn_at IS NULL`,
      [slug],
    )
    await world.hub.hub.catalog.refresh(slug)
    expect(await cost()).to.equal('950')
  })

  it('announce the end of a service to its callers, and it ends', async () => {
    const slug = await sold()
    answers(json({}))
    expect(await codeOf(act(slug, 'retire', { sunset: '2026-11-22' }))).to.deep.equal([
      422,
      'validation_failed',
    ])
    const { body } = await act(slug, 'retire', {})
    expect(body['state']).to.equal('active')
    const { headers, status } = await call(slug, '/do', { body: {} })
    expect([status, headers['sunset']]).to.deep.equal([
      200,
      new Date(`${String(body['sunset_on'])}T23:59:59Z`).toUTCString(),
    ])
    expect(headers['deprecation']).to.match(/^@\d+$/)
    await admin().query(
      `UPDATE hub.upstream SET deprecated_on = current_date - 9, sunset_on = current_date - 1
       WHERE slug = $1`,
      [slug],
    )
    await world.hub.hub.catalog.refresh(slug)
    const ended = await codeOf(call(slug, '/do', { body: {} }))
    expect(ended).to.deep.equal([404, 'service_not_found'])
    const family = world.hub.hub.families.find((each) => each.family === 'upstream')
    await family?.schedules?.['retire']?.run(AbortSignal.timeout(30_000))
    expect((await view(slug))['state']).to.equal('retired')
    const back = admin().query(`UPDATE hub.upstream SET state = 'active' WHERE slug = $1`, [slug])
    const refused = await back.then(
      () => 'done',
      (error: Error) => error.message,
    )
    expect(refused).to.include('does not become active')
  })

  it('store secrets under a rotatable key and lose them with the host', async () => {
    const slug = await sold()
    const { pool } = world.hub.database
    const secret = { in: 'header', name: 'x-token', value: 'token-of-acme-1' }
    await send('PUT', `/v1/provider/services/${slug}/secret`, { secrets: [secret] })
    await approved(slug)
    const keyOf = async () => ((await view(slug))['secrets'] as Body[])[0]?.['key_id']
    expect(await keyOf()).to.equal('k1')
    const done = { count: 1, unreadable: 0 }
    expect(await resealSecrets(pool, new SealingKeys([KEYS[1], KEYS[0]]))).to.deep.equal(done)
    expect(await keyOf()).to.equal('k2')
    const result = await resealSecrets(pool, new SealingKeys([KEYS[0]]))
    expect(result).to.deep.equal({ count: 0, unreadable: 1 })
    expect(await resealSecrets(pool, new SealingKeys([KEYS[0], KEYS[1]]))).to.deep.equal(done)
    answers(json({}))
    await call(slug, '/do', { body: {} })
    expect(seen[0]?.headers['x-token']).to.equal('token-of-acme-1')
    const path = `/v1/provider/services/${slug}`
    const same = await send('PATCH', path, { base_url: `${world.origin}/v2` })
    expect(same.body['secrets']).to.have.length(1)
    const moved = await send('PATCH', path, { base_url: 'https://api.agenthub-test.com/v1' })
    expect(moved.body, moved.text).to.deep.include({ state: 'active', secrets: [] })
    await call(slug, '/do', { body: {} })
    expect(seen.at(-1)?.headers['x-token'], 'the approved host').to.equal('token-of-acme-1')
  })

  it('list nothing that the hub would not call, nor a schema that blocks it (A040)', async () => {
    for (const [i, url] of BLOCKED_URLS.entries()) {
      const about = { name: 'X', category: 'data', summary: 'X.', base_url: url }
      const { status, body } = await send('POST', '/v1/provider/services', {
        slug: `bad-${i}`,
        ...about,
      })
      expect([status, body['code']], url).to.deep.equal([422, 'validation_failed'])
    }
    const slug = await draft()
    const text = (schema: Body) => ({ type: 'object', properties: { x: schema } })
    let deep: Body = {}
    for (let i = 0; i < 30; i++) deep = { not: deep }
    const schemas: readonly Body[] = [
      text({ type: 'string', pattern: '(?=a)' }),
      text({ $ref: '#' }),
      text({ $ref: '#/$defs/absent' }),
      text(deep),
      text({ enum: ['x'.repeat(70_000)] }),
      { type: 'array' },
    ]
    for (const input_schema of schemas) {
      const { status, body } = await put(slug, [endpoint({ input_schema })])
      const shown = JSON.stringify(input_schema).slice(0, 60)
      expect([status, body['code']], shown).to.deep.equal([422, 'schema_not_allowed'])
    }
    const members = Array.from({ length: 2_001 }, (_, i) => [`m${i}`, {}])
    const large = { type: 'object', properties: Object.fromEntries(members) }
    const refused = await put(slug, [endpoint({ input_schema: large })])
    expect([refused.status, refused.body['code']]).to.deep.equal([422, 'schema_not_allowed'])
    const slow = text({ type: 'string', pattern: '^(a+)+$' })
    expect((await put(slug, [endpoint({ input_schema: slow })])).status).to.equal(200)
    answers(json({}))
    const input = { x: `${'a'.repeat(50_000)}!` }
    const start = performance.now()
    const response = await act(slug, 'test', { endpoint: 'POST /do', input })
    expect([response.status, response.body['code']]).to.deep.equal([422, 'validation_failed'])
    expect(performance.now() - start, 'a backtracking engine would take years').to.be.below(5_000)
    for (const wrong of CONTRADICTORY) {
      const refused = await put(slug, [endpoint(wrong)])
      expect([refused.status, refused.body['code']], JSON.stringify(wrong)).to.deep.equal([
        422,
        'validation_failed',
      ])
    }
    expect(
      (
        await put(
          slug,
          ['/{a}', '/{b}'].map((path) => endpoint({ path })),
        )
      ).status,
    ).to.equal(422)
  })

  it('test calls without payment, as often as needed', async () => {
    const slug = await draft()
    const output_schema = { type: 'object', properties: { n: { type: 'integer' } } }
    await put(slug, [endpoint({ output_schema })])
    const free = () => admin().query('UPDATE hub.upstream SET tested_at = NULL')
    const trial = async () => {
      await free()
      return (await act(slug, 'test', { endpoint: 'POST /do', input: { a: 1 } })).body
    }
    answers(json({ n: 1 }))
    expect(await trial()).to.deep.include({ delivered: true, status: 200, body: { n: 1 } })
    expect(seen[0]?.body).to.equal('{"a":1}')
    answers(json({ n: 'x' }))
    expect(await trial()).to.deep.include({ delivered: false, reason: 'output_schema' })
    answers(json({ no: 1 }, 500))
    expect(await trial()).to.deep.include({ delivered: false, reason: 'upstream_error' })
    const calls = await Promise.all(
      [1, 2].map(async () => (await act(slug, 'test', { endpoint: 'POST /do' })).status),
    )
    expect(calls, 'two a second').to.include(429)
    await admin().query(
      `UPDATE hub.upstream SET tests = 200, tested_at = now() - interval '1 second'`,
    )
    const many = await act(slug, 'test', { endpoint: 'POST /do' })
    const sameDay = new Date().getUTCHours() > 0 || new Date().getUTCMinutes() > 0
    if (sameDay) expect(many.status).to.equal(429)
    const { rows } = await admin().query(`SELECT FROM hub.call WHERE service = $1`, [slug])
    expect(rows, 'no call of anybody').to.deep.equal([])
  })
})
