import { expect } from 'chai'
import { readOpenApi } from '../../../core/catalog/upstreams/openapi/read.ts'
import { ask } from '../../support/ask.ts'
import { type Body, useUpstream } from './fixture.ts'

describe('an OpenAPI document that is reduced or changed by its owner', () => {
  const world = useUpstream()
  const { send } = world
  const get = (...tags: string[]) => ({ get: { tags, responses: {} } })
  const many = (count: number, path: string, ...tags: string[]) =>
    Array.from({ length: count }, (_, i) => [`${path}/${i}`, get(...tags)] as const)
  const text = JSON.stringify({
    openapi: '3.1.0',
    servers: [{ url: 'https://big.test/v1' }],
    paths: Object.fromEntries([
      ...many(90, '/v1/cities', 'cities'),
      ...many(60, '/v1/tides', 'sea', 'water'),
      ...many(30, '/v1/moon'),
      ['/v1/moons', get()],
    ]),
  })
  const pathsOf = (only: string[]) => readOpenApi(text, { only }).endpoints.map(({ path }) => path)

  it('imports the first ones, and reports how many are omitted and what can be chosen', () => {
    const { endpoints, leftOut, choices, gaps } = readOpenApi(text)
    expect([endpoints.length, leftOut]).to.deep.equal([100, 81])
    expect(choices).to.deep.equal([
      { only: 'cities', operations: 90 },
      { only: 'sea', operations: 60 },
      { only: 'water', operations: 60 },
      { only: '/v1/moon', operations: 30 },
      { only: '/v1/moons', operations: 1 },
    ])
    expect(gaps).to.have.length(1)
    expect(gaps[0]).to.include({ at: 'GET /v1/tides/10' })
    expect(gaps[0]?.what).to.match(/^81 operations .* "only": cities \(90\), sea \(60\), water/)
  })

  it('is selectable by tag, by path prefix, and one by one', () => {
    expect(pathsOf(['water'])).to.have.length(60)
    expect(pathsOf(['/v1/moon']))
      .to.have.length(30)
      .and.not.include('/v1/moons')
    expect(pathsOf(['GET /v1/moons', '/v1/cities/7', 'water'])).to.have.length(62)
    expect(pathsOf(['GET /v1/cities'])).to.deep.equal([])
    expect(readOpenApi(text, { only: ['water'] })).to.deep.include({
      leftOut: 0,
      choices: [],
      gaps: [],
    })
    expect(readOpenApi(text, { only: ['sea', 'cities'] }).leftOut).to.equal(50)
  })

  it('makes no draft without an operation or a server, and says what to send instead', async () => {
    const submit = (document: object) =>
      send('POST', '/v1/provider/services/import', {
        slug: 'none-such',
        openapi: JSON.stringify({ openapi: '3.1.0', ...document }),
      })
    const servers = [{ url: 'https://{region}.example.com' }]
    const unset = await submit({ servers, paths: { '/a': { get: { responses: {} } } } })
    expect([unset.status, unset.body['code']]).to.deep.equal([422, 'validation_failed'])
    expect(unset.body['detail']).to.match(
      /^\/base_url: is required, because the document's server is https:\/\/\{region\}\./,
    )
    const unsold = await submit({ webhooks: { paid: { post: { responses: {} } } } })
    expect([unsold.status, unsold.body['code']]).to.deep.equal([422, 'openapi_unreadable'])
    expect(unsold.body['advice']).to.match(/^See not_understood/)
    expect(unsold.body['not_understood']).to.have.length(1)
  })

  it('makes no draft of a choice that does not exist; valid choices become one', async () => {
    const base = { openapi: text, slug: 'big-sea', base_url: world.origin }
    const order = { ...base, only: ['sea', 'seas'] }
    const refused = await send('POST', '/v1/provider/services/import', order)
    expect([refused.status, refused.body['code']]).to.deep.equal([422, 'validation_failed'])
    expect(refused.body['issues']).to.deep.equal([
      { path: '/only/1', message: 'the document has no tag, path or operation seas' },
    ])
    const response = await send('POST', '/v1/provider/services/import', { ...order, only: ['sea'] })
    expect(response.status, response.text).to.equal(201)
    const { service, understood } = response.body as Record<string, Body>
    expect(service?.['endpoints']).to.have.length(60)
    expect(understood).to.include({ endpoints: 60, left_out: 0 })
  })

  it('reports the headers beyond those that a service passes on', () => {
    const headers = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => ({ name: `X-H${from + i}`, in: 'header' }))
    const operation = (from: number, to: number) => ({
      get: { parameters: headers(from, to), responses: {} },
    })
    const paths = { '/a': operation(0, 15), '/b': operation(10, 22) }
    const { requestHeaders, gaps } = readOpenApi(JSON.stringify({ openapi: '3.1.0', paths }))
    expect(requestHeaders).to.deep.equal(headers(0, 20).map(({ name }) => name.toLowerCase()))
    expect(gaps.map(({ at }) => at)).to.deep.equal(['header x-h20', 'header x-h21'])
  })

  it('reports the omission before everything else that was omitted', () => {
    const file = { post: { parameters: [{ in: 'cookie', name: 'c', required: true }] } }
    const files = Array.from({ length: 400 }, (_, i) => [`/files/${i}`, file] as const)
    const paths = Object.fromEntries([...files, ...many(101, '/v1/cities')])
    const { gaps } = readOpenApi(JSON.stringify({ openapi: '3.1.0', paths }))
    expect(gaps.length).to.be.greaterThan(100)
    expect(gaps[0]).to.include({ at: 'GET /v1/cities/100' })
  })

  it('has endpoints with lists in a path, which its owner may declare again', async () => {
    const schema = { type: 'array', items: { type: 'string' } }
    const parameters = [{ name: 'ids', in: 'path', required: true, schema }]
    const paths = { '/many/{ids}': { get: { parameters, responses: {} } } }
    const { body: made, text } = await send('POST', '/v1/provider/services/import', {
      openapi: JSON.stringify({ openapi: '3.1.0', info: { title: 'Many' }, paths }),
      slug: 'many',
      base_url: world.origin,
    })
    expect(made, text).to.have.property('service')
    const [{ method, path, summary, input_schema, encoding } = {} as Body] = (
      made['service'] as { readonly endpoints: Body[] }
    ).endpoints
    const put = (more: Body) =>
      send('PUT', '/v1/provider/services/many/endpoints', {
        endpoints: [{ method, path, summary, input_schema, ...more }],
      })
    expect((await put({ encoding })).status).to.equal(200)
    expect((await put({})).status, 'without a style').to.equal(422)
  })
})

describe('an imported API whose schemas have alternatives', () => {
  const world = useUpstream()

  it('is offered to callers without a key, with an example of the path', async () => {
    const body = (schema: object) => ({ content: { 'application/json': { schema } } })
    const text = { type: 'string' }
    const optional = { type: 'object', properties: { key: text }, required: ['key'] }
    const either = { oneOf: [{ ...optional }, { type: 'array', items: text }] }
    const never = { type: 'object', properties: {}, allOf: [{ type: 'string' }] }
    const put = (schema: object) => ({ put: { requestBody: body(schema), responses: {} } })
    const openapi = JSON.stringify({
      openapi: '3.0.3',
      servers: [{ url: world.origin }],
      paths: { '/a/{id}': put(optional), '/b/{id}': put(either), '/c/{id}': put(never) },
    })
    const order = { slug: 'either', openapi, price_microdollars: 500 }
    const response = await world.send('POST', '/v1/provider/services/import', order)
    expect(response.status, response.text).to.equal(201)
    await world.act('either', 'activate', { waive_tests: true })
    for (const path of ['/a/1', '/b/1', '/c/1']) {
      const {
        status,
        headers,
        text: told,
      } = await ask(world.hub.url, `/proxy/either${path}`, {
        method: 'PUT',
        body: {},
      })
      expect(status, told).to.equal(402)
      expect(headers).to.include.keys('payment-required')
    }
  })
})
