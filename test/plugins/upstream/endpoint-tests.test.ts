import { decodePaymentRequiredHeader } from '@x402/core/http'
import {
  BAZAAR,
  type DiscoveryExtension,
  validateDiscoveryExtension,
} from '@x402/extensions/bazaar'
import { expect } from 'chai'
import type { Document } from '../../fuzz/response-checker.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import { readOpenApi } from '../../support/openapi.ts'
import { type Body, json, useUpstream, WAIVER } from './fixture.ts'

const ENDPOINTS = ['/one', '/two'].map((path) => ({
  method: 'POST',
  path,
  summary: 'Does it.',
  price_microdollars: 1_000,
}))

describe('before an imported API is sold', () => {
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

  it('the input of its passed test is the example of offers, documents and schemas', async () => {
    answers(json({ ok: true }))
    const slug = await draft()
    const text = { type: 'string' }
    const properties = { city: text, unit: text, words: text, more: text }
    const input_schema = { type: 'object', properties, required: ['city', 'unit', 'words'] }
    const path = '/cities/{city}'
    await put(slug, [{ ...ENDPOINTS[0], path, query: ['unit'], input_schema }])
    const input = { city: 'Oslo', unit: 'kelvin', words: 'all day' }
    const response = await act(slug, 'test', { endpoint: `POST ${path}`, input })
    expect(response.body['delivered'], response.text).to.equal(true)
    expect((await activate(slug)).status).to.equal(200)

    const { headers } = await ask(world.hub.url, `/proxy/${slug}/cities/Rome`, {
      method: 'POST',
      body: {},
    })
    const { extensions = {} } = decodePaymentRequiredHeader(String(headers['payment-required']))
    const bazaar = extensions[BAZAAR.key] as DiscoveryExtension
    expect(validateDiscoveryExtension(bazaar)).to.deep.include({ valid: true })
    expect(bazaar.info.input).to.deep.include({
      body: { words: 'all day' },
      pathParams: { city: 'Oslo' },
    })
    const { paths } = (await readOpenApi(world.hub.url)).body as unknown as Document
    const { requestBody } = paths[`/proxy/${slug}${path}`]!['post']!
    const { example } = requestBody!.content['application/json'] as { example?: unknown }
    expect(example).to.deep.equal({ words: 'all day' })
    const { body } = await ask(world.hub.url, `/v1/services/${slug}`)
    const [shown] = body['endpoints'] as readonly Body[]
    expect(shown!['request_schema']).to.deep.include({ examples: [input] })
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
