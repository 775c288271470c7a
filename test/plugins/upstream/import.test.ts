import { expect } from 'chai'
import { readOpenApi } from '../../../core/catalog/upstreams/openapi/read.ts'
import { Fault } from '../../../core/errors.ts'
import { type Body, json, useUpstream } from './fixture.ts'

const document = (origin: string): string => `
openapi: 3.0.3
info: { title: Acme Weather, description: Weather by city., version: '1' }
servers: [{ url: '${origin}/{v}', variables: { v: { default: v2 } } }]
components:
  parameters:
    Days: { name: days, in: query, schema: { type: integer, minimum: 1, maximum: 7 } }
  schemas:
    Node: { type: object, properties: { next: { $ref: '#/components/schemas/Node' } } }
    Report:
      required: [city, gone]
      properties:
        city: { type: string, nullable: true, example: Oslo }
        degrees: { type: number, exclusiveMinimum: true, minimum: -300 }
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Token }
    login: { type: openIdConnect, openIdConnectUrl: https://login.example/ }
paths:
  /cities/{city}/weather:
    parameters: [{ name: city, in: path, required: true, schema: { type: string } }]
    get:
      summary: The weather of a city.
      parameters: [{ $ref: '#/components/parameters/Days' }, { name: X-Lang, in: header }]
      x-payment-info: { price: { mode: fixed, currency: USD, amount: '0.003' } }
      responses:
        '200':
          content: { application/json: { schema: { $ref: '#/components/schemas/Report' } } }
  /reports:
    post:
      operationId: report
      requestBody:
        required: true
        content:
          application/json:
            schema: { type: object, required: [text], properties: { text: { type: string },
              tree: { $ref: '#/components/schemas/Node' } } }
      responses: { '201': { description: Made. } }
  /files:
    post:
      requestBody: { content: { multipart/form-data: { schema: { type: object } } } }
      responses: { '200': { description: Kept. } }
  /mixed/{a}.{b}: { get: { responses: {} } }
  /bad/{a}{b}: { get: { responses: {} } }
  /away: { get: { parameters: [{ $ref: 'other.yaml#/x' }], responses: {} } }
`

const UNREADABLE = 'openapi_unreadable'

/** Secrets of the document: the login has another flow than client credentials. */
const SECRETS = [
  { in: 'header', name: 'X-Token', prefix: '' },
  { in: 'header', name: 'Authorization', prefix: 'Bearer ' },
]

describe('an OpenAPI document', () => {
  const world = useUpstream()
  const { send, act, call, answers, seen } = world
  const clear = () => world.hub.database.admin.query('UPDATE hub.upstream SET tested_at = NULL')

  it('becomes a draft, a test call, and a paid call', async () => {
    answers((request, response) => {
      if (request.url === '/openapi.yaml') return void response.end(document(world.origin))
      json({ city: null, degrees: 3, gone: 1 })(request, response)
    })
    const draft = await send('POST', '/v1/provider/services/import', {
      url: `${world.origin}/openapi.yaml`,
      slug: 'acme-weather',
      price_microdollars: 500,
    })
    expect(draft.status, draft.text).to.equal(201)
    const { service, understood, not_understood: gaps } = draft.body as Record<string, Body>
    expect(service).to.include({
      name: 'Acme Weather',
      state: 'draft',
      summary: 'Weather by city.',
    })
    expect(service?.['base_url']).to.equal(`${world.origin}/v2`)
    expect(service?.['request_headers']).to.deep.equal(['x-lang'])
    expect(understood).to.deep.equal({
      endpoints: 4,
      left_out: 0,
      choices: [],
      unpriced: [],
      without_sample: [
        { endpoint: 'GET /cities/{city}/weather', members: ['city'] },
        { endpoint: 'POST /reports', members: ['text'] },
        { endpoint: 'GET /mixed/{a}.{b}', members: ['a', 'b'] },
      ],
      secrets: SECRETS,
      secret_choices: [],
    })
    const [weather, report, files, mixed] = (service?.['endpoints'] ?? []) as Body[]
    expect(weather).to.deep.include({ path: '/cities/{city}/weather', price_microdollars: 3_000 })
    expect(weather?.['input_schema']).to.deep.equal({
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', minimum: 1, maximum: 7 },
      },
      required: ['city'],
      additionalProperties: false,
    })
    expect(weather?.['output_schema']).to.deep.equal({
      required: ['city', 'gone'],
      properties: {
        city: { type: ['string', 'null'], examples: ['Oslo'] },
        degrees: { type: 'number', exclusiveMinimum: -300 },
      },
    })
    expect(report).to.deep.include({ path: '/reports', price_microdollars: 500, success: [201] })
    expect([files?.['body'], mixed?.['path']]).to.deep.equal(['multipart', '/mixed/{a}.{b}'])
    const places = (gaps as unknown as Body[]).map(({ at }) => String(at))
    expect(places).to.include.members([
      'GET /bad/{a}{b}',
      'GET /away/parameters/0',
      'securitySchemes/login',
    ])
    expect(report).to.have.nested.property('input_schema.$defs.Node')
    const { body: later } = await send('GET', '/v1/provider/services/acme-weather')
    expect(later['imported'], 'the same is told later').to.deep.include({
      not_understood: gaps,
      secrets: SECRETS,
    })
    const invented = { text: 'Fine.', tree: { next: '<next>' } }
    const refused = await act('acme-weather', 'test', {
      endpoint: 'POST /reports',
      input: invented,
    })
    expect(refused.status, 'a placeholder at any depth').to.equal(422)
    expect(refused.text).to.include('/input/tree/next: must be a real value')
    await clear()
    const endpoint = 'GET /cities/{city}/weather'
    const tried = await act('acme-weather', 'test', { endpoint, input: { city: 'Oslo', days: 2 } })
    expect(tried.body, tried.text).to.deep.include({ delivered: true })
    expect(seen.at(-1)?.url).to.equal('/v2/cities/Oslo/weather?days=2')
    expect((await act('acme-weather', 'activate')).body['state']).to.equal('active')
    const paid = await call('acme-weather', '/cities/Oslo/weather?days=3')
    expect([paid.status, paid.headers['x-charged-microdollars']]).to.deep.equal([200, '3000'])
    const { body: openapi } = await send('GET', '/openapi.json')
    const operation = (openapi['paths'] as Record<string, Record<string, Body>>)[
      '/proxy/acme-weather/cities/{city}/weather'
    ]?.['get']
    const parameters = ((operation?.['parameters'] ?? []) as Body[]).map(
      (each) => `${String(each['in'])} ${String(each['name'])}`,
    )
    expect(parameters).to.include.members(['path city', 'query days'])
  })

  it('is imported equally from Swagger 2.0: schemas, secrets, address, body and form', async () => {
    answers(json({ name: 'Rex' }))
    const pet = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
    const schema = { $ref: '#/definitions/Pet' }
    const form = (type: string) => ({ in: 'formData', name: 'a', type, required: true })
    const document = {
      swagger: 2,
      info: { title: 'Pets', version: '1' },
      host: new URL(world.origin).host,
      basePath: '/v2',
      schemes: ['http'],
      consumes: ['application/json'],
      produces: ['application/json'],
      securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      definitions: { Pet: pet },
      paths: {
        '/pets/{id}': {
          get: {
            parameters: [{ name: 'id', in: 'path', required: true, type: 'integer' }],
            responses: { 200: { description: 'One.', schema } },
          },
        },
        '/pets': {
          post: {
            parameters: [{ in: 'body', name: 'pet', required: true, schema }],
            responses: { 201: { description: 'Made.' } },
          },
        },
        '/form': {
          post: { consumes: ['application/x-www-form-urlencoded'], parameters: [form('string')] },
        },
        '/ticks': { get: { produces: ['text/event-stream'], responses: { 200: {} } } },
        '/file': { post: { consumes: ['multipart/form-data'], parameters: [form('file')] } },
      },
    }
    const { status, body, text } = await send('POST', '/v1/provider/services/import', {
      openapi: JSON.stringify(document),
      slug: 'pets',
      price_microdollars: 500,
    })
    expect(status, text).to.equal(201)
    const { service, understood, not_understood: gaps } = body as Record<string, Body>
    expect(service?.['base_url']).to.equal(`${world.origin}/v2`)
    expect(understood?.['secrets']).to.deep.equal([{ in: 'header', name: 'X-Key', prefix: '' }])
    const [one, made, sent, ticks, file] = (service?.['endpoints'] ?? []) as Body[]
    expect(one).to.have.nested.property('input_schema.properties.id.type', 'integer')
    expect(one?.['output_schema']).to.deep.equal(pet)
    expect(made).to.deep.include({ body: 'json', success: [201] })
    expect(made).to.have.deep.nested.property('input_schema.required', ['name'])
    expect(sent).to.include({ path: '/form', body: 'form' })
    expect(ticks).to.include({ path: '/ticks', streams: true, output_schema: null })
    expect([one, made, sent].every((each) => each?.['streams'] === false)).to.equal(true)
    expect(file).to.deep.include({
      body: 'multipart',
      encoding: { parts: { a: { binary: true } } },
    })
    expect(gaps).to.deep.equal([])
    expect((await act('pets', 'activate')).body['state']).to.equal('active')
    const paid = await call('pets', '/pets/7')
    expect([paid.status, seen.at(-1)?.url], paid.text).to.deep.equal([200, '/v2/pets/7'])
  })

  it('creates nothing if it is invalid or leads elsewhere', async () => {
    const draft = (body: Body) =>
      send('POST', '/v1/provider/services/import', { slug: 'none-such', ...body })
    const bad: readonly [Body, number, string][] = [
      [{ openapi: '{' }, 422, UNREADABLE],
      [{ openapi: 'swagger: "2.0"' }, 422, UNREADABLE],
      [{ openapi: '{"swagger":"2.0","paths":{"/x":{"get":{"parameters":5}}}}' }, 422, UNREADABLE],
      [{ openapi: 'swagger: "1.2"' }, 422, UNREADABLE],
      [{ openapi: 'openapi: 3.1.0\npaths: {}' }, 422, UNREADABLE],
      [{ openapi: 'openapi: 2.9' }, 422, UNREADABLE],
      [{ url: 'http://127.0.0.1:1/x' }, 422, 'validation_failed'],
      [{ url: 'http://169.254.169.254/latest' }, 422, 'validation_failed'],
      [{}, 422, 'validation_failed'],
    ]
    for (const [source, ...expected] of bad) {
      const { status, body } = await draft(source)
      expect([status, body['code']], JSON.stringify(source)).to.deep.equal(expected)
    }
    answers(json({}, 404))
    const absent = await draft({ url: `${world.origin}/openapi.json` })
    expect([absent.status, absent.body['code']]).to.deep.equal([502, 'upstream_error'])
    expect(absent.body['advice']).to.match(/URL of the document/)
    expect((await send('GET', '/v1/provider/services/none-such')).status).to.equal(404)
  })

  it('is limited to the schemas of a service, however often one is repeated', () => {
    const members = Array.from({ length: 400 }, (_, i) => [`m${i}`, { type: 'string' }])
    const schema = { $ref: '#/c' }
    const answer = { 200: { content: { 'application/json': { schema } } } }
    const paths = Array.from({ length: 60 }, (_, i) => [`/p${i}`, { get: { responses: answer } }])
    const parameters = Array.from({ length: 101 }, (_, i) => ({ name: `q${i}`, in: 'query' }))
    const { endpoints, gaps } = readOpenApi(
      JSON.stringify({
        openapi: '3.1.0',
        c: { type: 'object', properties: Object.fromEntries(members) },
        paths: { '/many': { get: { parameters } }, ...Object.fromEntries(paths) },
      }),
    )
    expect(endpoints).to.have.length(60)
    expect(JSON.stringify(endpoints).match(/"type":"string"/g)?.length).to.be.within(19_000, 20_000)
    const texts = gaps.map(({ what }) => what)
    expect(texts).to.include('the schema is too large; any value is accepted here')
    expect(texts).to.include('it has more than 100 parameters')
  })

  it('is bounded in time and memory', () => {
    const bomb = ['openapi: 3.1.0', 'a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (const [i, name] of 'bcdefgh'.split('').entries()) {
      const before = 'abcdefgh'[i]
      bomb.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`)
    }
    const wide = Object.fromEntries(
      Array.from({ length: 15 }, (_, n) => [
        `S${n}`,
        {
          properties: Object.fromEntries(
            [1, 2, 3].map((p) => [`p${p}`, { $ref: `#/c/S${n + 1}` }]),
          ),
        },
      ]),
    )
    const chain = { ...wide, S15: { type: 'string' } }
    const nested = `{"openapi":"3.1.0","x":${'['.repeat(500)}${']'.repeat(500)}}`
    for (const text of [bomb.join('\n'), nested, ' '.repeat(20_971_521)]) {
      expect(() => readOpenApi(text)).to.throw(Fault)
    }
    const body = { content: { 'application/json': { schema: { $ref: '#/c/S0' } } } }
    const circle = { L: { $ref: '#/d/M' }, M: { $ref: '#/d/L' } }
    const { endpoints, gaps } = readOpenApi(
      JSON.stringify({
        openapi: '3.1.0',
        c: chain,
        d: circle,
        paths: {
          '/x': { post: { requestBody: body } },
          '/y': { get: { parameters: [{ $ref: '#/d/L' }] } },
        },
      }),
    )
    expect(JSON.stringify(endpoints).length).to.be.below(10_000)
    expect(gaps.map(({ what }) => what)).to.deep.equal(['its $ref is circular'])
  })
})
