import { expect } from 'chai'
import { parseSealingKeys, type SealingKey } from '../../../core/crypto/sealing.ts'
import { createAdmin } from '../../server/rest/finance/fixture.ts'
import { ask } from '../../support/ask.ts'
import { type Body, json, useUpstream } from './fixture.ts'

const KEYS = parseSealingKeys(`k1:${Buffer.alloc(32, 1).toString('base64')}`) as [SealingKey]

describe('the operator of the hub', () => {
  const admin = createAdmin()
  const listing = { approval: true, noticeDays: 7, sealingKeys: KEYS }
  const world = useUpstream({ config: { listing, admins: [admin.wallet] } })
  const { act, answers, call, draft, put, send, view } = world
  const ENDPOINT = { method: 'POST', path: '/do', summary: 'Does it.', price_microdollars: 1_000 }
  const as = async (path: string, body?: Body) =>
    ask(world.hub.url, path, { key: await admin.key(world.hub), ...(body && { body }) })
  const decide = (slug: string, what: string, more: Body = {}) =>
    as(`/v1/admin/services/${slug}/${what}`, { reason: 'a test', ...more })
  const listed = async (slug: string) => {
    const { body } = await as(`/v1/admin/services?slug=${slug}`)
    return (body['data'] as Body[])[0] ?? {}
  }
  const pending = async (): Promise<string> => {
    const slug = await draft()
    await put(slug, [ENDPOINT])
    expect((await act(slug, 'activate')).body['state']).to.equal('pending')
    return slug
  }
  const sold = async (): Promise<string> => {
    const slug = await pending()
    const { status, text } = await decide(slug, 'approve', {
      version: (await listed(slug))['version'],
    })
    expect(status, text).to.equal(200)
    await world.hub.hub.catalog.refresh(slug)
    return slug
  }

  it('approves what was reviewed, and nothing that replaced it', async () => {
    const slug = await pending()
    const seen = await listed(slug)
    expect(seen['base_url']).to.equal(`${world.origin}/base`)
    const path = `/v1/provider/services/${slug}`
    const changes: readonly [string, () => Promise<{ status: number }>][] = [
      ['address', () => send('PATCH', path, { base_url: 'https://api.agenthub-test.com/v1' })],
      ['name', () => send('PATCH', path, { name: 'Your Bank' })],
      ['endpoints', () => put(slug, [{ ...ENDPOINT, upstream_path: '/other' }])],
    ]
    for (const [what, change] of changes) {
      const { version } = await listed(slug)
      expect((await change()).status).to.equal(200)
      const { status, body } = await decide(slug, 'approve', { version })
      expect([status, body['code']], what).to.deep.equal([409, 'service_changed'])
      expect(body['version']).to.equal((await listed(slug))['version'])
      expect((await view(slug))['state'], what).to.equal('pending')
    }
    const blind = await decide(slug, 'approve')
    expect([blind.status, blind.body['code']]).to.deep.equal([422, 'validation_failed'])
    const { version } = await listed(slug)
    expect((await decide(slug, 'approve', { version })).body['after']).to.equal('active')
  })

  it('resumes a suspended API as reviewed, and nobody tests it before', async () => {
    const slug = await sold()
    const { version } = await listed(slug)
    const test = async () => {
      await world.hub.database.admin.query('UPDATE hub.upstream SET tested_at = NULL')
      return act(slug, 'test', { endpoint: 'POST /do' })
    }
    answers(json({}))
    expect((await test()).body['delivered']).to.equal(true)
    await decide(slug, 'suspend')
    answers(json({}))
    const stopped = await test()
    expect([stopped.status, stopped.body['code']]).to.deep.equal([503, 'service_suspended'])
    await send('PATCH', `/v1/provider/services/${slug}`, { summary: 'Something else.' })
    const late = await decide(slug, 'resume', { version })
    expect([late.status, late.body['code']]).to.deep.equal([409, 'service_changed'])
    const now = (await listed(slug))['version']
    expect((await decide(slug, 'resume', { version: now })).body['after']).to.equal('active')
    const provider = String((await view(slug))['provider'])
    await as(`/v1/admin/providers/${provider}/suspend`, { reason: 'a test' })
    expect((await test()).status, 'all of the provider').to.equal(503)
    expect(world.seen, 'the API was asked by nobody').to.deep.equal([])
    await as(`/v1/admin/providers/${provider}/resume`, { reason: 'a test' })
    expect((await test()).body['delivered']).to.equal(true)
  })

  it('reserves no slug that was never sold, and counts all reserved ones', async () => {
    const slug = await draft()
    await put(slug, [ENDPOINT])
    await send('PUT', `/v1/provider/services/${slug}/secret`, {
      secrets: [{ in: 'header', name: 'x-token', value: 'token-of-acme' }],
    })
    expect((await act(slug, 'retire', {})).body['state']).to.equal('retired')
    expect((await send('GET', `/v1/provider/services/${slug}`)).status).to.equal(404)
    const other = await world.hub.agent()
    const about = { slug, name: 'New', category: 'data', summary: 'New.', base_url: world.origin }
    const response = await send('POST', '/v1/provider/services', about, other)
    expect([response.status, response.body['secrets']], response.text).to.deep.equal([201, []])
    const kept = await sold()
    const sql = `UPDATE hub.upstream SET state = 'retired' WHERE slug = $1`
    await world.hub.database.admin.query(sql, [kept])
    const discard = 'SELECT hub.discard_upstream($1) AS gone'
    const { rows } = await world.hub.database.pool.query(discard, [kept])
    expect(rows, 'it was on sale').to.deep.equal([{ gone: false }])
    const again = await send('POST', '/v1/provider/services', { ...about, slug: kept }, other)
    expect([again.status, again.body['code']]).to.deep.equal([409, 'slug_taken'])
    await world.hub.database.admin.query(
      `WITH made AS (INSERT INTO hub.service (slug, name, category, summary, provider,
           free_calls_per_month, state, family)
         SELECT 'kept-' || n, 'K', 'data', 'K.', provider, 0, 'unlisted', 'upstream'
         FROM generate_series(1, 499) n, hub.service WHERE slug = $1 RETURNING slug)
       INSERT INTO hub.upstream (slug, owner, provider, name, category, summary, base_url,
         free_calls_per_month, request_headers, response_headers, health_path, state)
       SELECT m.slug, u.owner, u.provider, 'K', 'data', 'K.', u.base_url, 0, '{}', '{}', '/',
         'retired' FROM made m, hub.upstream u WHERE u.slug = $1`,
      [slug],
    )
    const many = await send('POST', '/v1/provider/services', { ...about, slug: 'one-more' }, other)
    expect([many.status, many.body['code']]).to.deep.equal([409, 'too_many_services'])
  })

  it('sells all else while a secret is unreadable, as provider and operator see', async () => {
    const [good, bad] = [await sold(), await sold()]
    const secrets = [{ in: 'header', name: 'x-token', value: 'token-of-acme' }]
    const path = `/v1/provider/services/${bad}/secret`
    await send('PUT', path, { secrets })
    await decide(bad, 'approve', { version: (await listed(bad))['version'] })
    const refresh = () => world.hub.hub.catalog.refreshAll()
    const statuses = async () => {
      await refresh()
      answers(json({}))
      const responses = await Promise.all(
        [good, bad].map((slug) => call(slug, '/do', { body: {} })),
      )
      return responses.map(({ status }) => status)
    }
    expect(await statuses()).to.deep.equal([200, 200])
    await world.hub.database.admin.query(
      `UPDATE hub.upstream_secret SET sealed = sealed || '\\x00' WHERE service = $1`,
      [bad],
    )
    expect(await statuses()).to.deep.equal([200, 404])
    const seen = await view(bad)
    expect(seen['missing']).to.deep.equal([
      { kind: 'secret', what: 'the secret header x-token: set it again' },
    ])
    expect((seen['secrets'] as Body[])[0]).to.include({ name: 'x-token', readable: false })
    expect((await listed(bad))['unreadable_secrets']).to.deep.equal(['header x-token'])
    expect((await listed(good))['unreadable_secrets']).to.deep.equal([])
    expect(world.hub.logged())
      .to.include('no key decrypts its secret')
      .and.not.include('token-of-acme')
    await send('PUT', path, { secrets })
    expect(await statuses()).to.deep.equal([200, 200])
  })
})
