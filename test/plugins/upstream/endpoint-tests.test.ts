import { expect } from 'chai'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { type Body, json, useUpstream, WAIVER } from './fixture.ts'

const ENDPOINTS = ['/one', '/two'].map((path) => ({
  method: 'POST',
  path,
  summary: 'Does it.',
  price_microdollars: 1_000,
}))

describe('before an imported API is sold', function () {
  this.timeout(60_000)
  const world = useUpstream()
  const { act, answers, call, draft, put, view } = world
  const activate = (slug: string, body: Body = {}) => act(slug, 'activate', body)
  const test = async (slug: string, path: string) => {
    await world.hub.database.admin.query('UPDATE hub.upstream SET tested_at = NULL')
    return (await act(slug, 'test', { endpoint: `POST ${path}` })).body
  }
  /** Paths of the endpoints that buyers see, by whether they are tested. */
  const sold = async (slug: string) => {
    const { body } = await ask(world.hub.url, `/v1/services/${slug}`)
    const endpoints = (body['endpoints'] ?? []) as readonly Body[]
    return Object.fromEntries(endpoints.map((each) => [each['path'], each['tested']]))
  }

  it('a test call of each endpoint passes', async () => {
    answers(json({ ok: true }))
    const slug = await draft()
    await put(slug, ENDPOINTS)
    const refused = await activate(slug)
    expect([refused.status, refused.body['code']]).to.deep.equal([409, 'service_incomplete'])
    const missing = ['/one', '/two'].map((path) => {
      return { kind: 'test', what: `a passing test call of POST ${path}` }
    })
    expect(refused.body['missing']).to.deep.equal(missing)
    expect((await test(slug, '/one'))['delivered']).to.equal(true)
    expect((await view(slug))['untested']).to.deep.equal(['POST /two'])
    answers(json({ ok: false }, 500))
    expect((await test(slug, '/two'))['delivered'], 'callers would not pay').to.equal(false)
    expect((await activate(slug)).status).to.equal(409)
    answers(json({ ok: true }))
    await test(slug, '/two')
    expect((await activate(slug)).body['state']).to.equal('active')
    expect(await sold(slug)).to.deep.equal({ '/one': true, '/two': true })
  })

  it('a test of what was changed since counts no more', async () => {
    answers(json({ ok: true }))
    const slug = await draft()
    await put(slug, ENDPOINTS.slice(0, 1))
    await test(slug, '/one')
    await put(slug, [{ ...ENDPOINTS[0], summary: 'Does it well.' }])
    expect((await view(slug))['untested'], 'texts change nothing').to.deep.equal([])
    await put(slug, [{ ...ENDPOINTS[0], upstream_path: '/other' }])
    expect((await view(slug))['untested']).to.deep.equal(['POST /one'])
    expect((await activate(slug)).status).to.equal(409)
  })

  it('a new endpoint waits until its test passes', async () => {
    answers(json({ ok: true }))
    const slug = await draft()
    await put(slug, ENDPOINTS.slice(0, 1))
    await test(slug, '/one')
    await activate(slug)
    await put(slug, ENDPOINTS)
    expect(await sold(slug), 'callers see the approved version').to.deep.equal({ '/one': true })
    await test(slug, '/two')
    expect(await sold(slug)).to.deep.equal({ '/one': true, '/two': true })
  })

  it('a waiver of the tests is shown to buyers until a call is delivered', async () => {
    answers(json({ ok: true }))
    const slug = await draft()
    await put(slug, ENDPOINTS)
    await test(slug, '/one')
    expect((await activate(slug, WAIVER)).body['state']).to.equal('active')
    expect(await sold(slug)).to.deep.equal({ '/one': true, '/two': false })
    const page = async () => {
      const headers = { accept: 'text/html' }
      return (await ask(world.hub.url, `/services/${slug}`, { headers })).text
    }
    expect(await page()).to.include('Untested')
    answers(json({ ok: false }, 500))
    await call(slug, '/two', { body: {} })
    expect(await sold(slug), 'a failed call proves nothing').to.include({ '/two': false })
    answers(json({ ok: true }))
    expect((await call(slug, '/two', { body: {} })).status).to.equal(200)
    await eventually(async () => (await sold(slug))['/two'] === true)
    expect(await sold(slug)).to.deep.equal({ '/one': true, '/two': true })
    expect(await page()).not.to.include('Untested')
  })
})
