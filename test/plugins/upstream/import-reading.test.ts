import { expect } from 'chai'
import { readOpenApi } from '../../../core/catalog/upstreams/openapi/read.ts'

describe('an OpenAPI document with odd names', () => {
  it('has no path that leads elsewhere, which would block the catalog', () => {
    const get = { responses: {} }
    const odd = ['/up/../down', '/./here', '/down/..', '/a//b']
    const paths = Object.fromEntries(
      [...odd, '/v1.2/files/', '/...'].map((path) => [path, { get }]),
    )
    const { endpoints, gaps } = readOpenApi(JSON.stringify({ openapi: '3.1.0', paths }))
    expect(endpoints.map(({ path }) => path)).to.deep.equal(['/v1.2/files/', '/...'])
    expect(gaps.map(({ at }) => at)).to.deep.equal(odd.map((path) => `GET ${path}`))
  })

  it('may name its parameters like members of every object', () => {
    const parameters = ['toString', 'constructor'].map((name) => ({ name, in: 'query' }))
    const paths = { '/odd': { get: { parameters, responses: {} } } }
    const { endpoints, gaps } = readOpenApi(JSON.stringify({ openapi: '3.1.0', paths }))
    expect(gaps).to.deep.equal([])
    expect(endpoints[0]?.query).to.deep.equal([])
    expect(endpoints[0]?.input['properties']).to.have.keys('toString', 'constructor')
  })
})

describe('an OpenAPI document of an unusual form', () => {
  const PATHS = '/a:\n    get:\n      responses: {}\n'
  const read = (text: string) => readOpenApi(text)

  it('may have a byte order mark, or merge keys', () => {
    const json = JSON.stringify({ openapi: '3.1.0', paths: { '/a': { get: { responses: {} } } } })
    const merged = 'openapi: 3.0.0\nx-get: &a {get: {responses: {}}}\npaths:\n  /a:\n    <<: *a\n'
    const texts = [`\uFEFF${json}`, `\uFEFFopenapi: 3.0.0\npaths:\n  ${PATHS}`, merged]
    for (const text of texts) {
      const { endpoints } = read(text)
      expect(endpoints.map(({ path }) => path)).to.deep.equal(['/a'])
    }
  })

  it('may have HTML in its texts, whose tags are not shown', () => {
    const get = { summary: 'Returns <code>Map<K></code><br>of all.', responses: {} }
    const info = { title: '<b>Maps</b>', description: '<p>All</p><p>maps</p>' }
    const api = read(JSON.stringify({ openapi: '3.1.0', info, paths: { '/a': { get } } }))
    expect([api.title, api.summary, api.endpoints[0]?.summary]).to.deep.equal([
      'Maps',
      'All maps',
      'Returns Map<K> of all.',
    ])
  })

  it('is one YAML document', () => {
    expect(() => read(`openapi: 3.0.0\npaths:\n  ${PATHS}---\nopenapi: 3.0.0\n`)).to.throw(
      'The text has several YAML documents. Send one.',
    )
  })

  it('is told the line and column at which it is no YAML', () => {
    expect(() => read('openapi: 3.0.0\npaths:\n  /a: "b\n/c: d\n')).to.throw(
      / at line \d+, column \d+$/,
    )
  })

  it('is reported to have nothing for callers if it has webhooks only', () => {
    const webhooks = { paid: { post: { responses: {} } } }
    const only = read(JSON.stringify({ openapi: '3.1.0', webhooks })).gaps
    expect(only.map(({ at, what }) => `${at}: ${what}`)).to.deep.equal([
      'paths: no operation that callers can request: the document declares ' +
        'only webhooks, which the API sends',
    ])
  })

  it('may have extensions beside its paths, which are no gaps', () => {
    const paths = { 'x-internal': { get: {} }, '/a': { get: { responses: {} } } }
    const { endpoints, gaps } = read(JSON.stringify({ openapi: '3.1.0', paths }))
    expect([endpoints.length, gaps]).to.deep.equal([1, []])
  })

  it('is reported to have references to anchors, and parameters that are not JSON', () => {
    const schema = { $ref: '#city' }
    const post = {
      parameters: [{ name: 'q', in: 'query', content: { 'text/xml': {} } }],
      requestBody: { content: { 'application/json': { schema } } },
      responses: {},
    }
    const { endpoints, gaps } = read(
      JSON.stringify({ openapi: '3.1.0', paths: { '/a': { post } } }),
    )
    expect(endpoints).to.have.length(1)
    expect(gaps).to.deep.equal([
      {
        at: 'POST /a/parameters/q',
        what: 'content other than JSON is not supported; it is left out',
      },
      {
        at: 'POST /a/requestBody',
        what: 'a $ref to an anchor is not supported, only to a path: #city',
      },
    ])
  })
})

describe('an OpenAPI document with examples', () => {
  it('gives them to its parameters and the members of its bodies, if they have the type', () => {
    const parameter = (name: string, type: string, rest: object) => {
      return { name, in: 'query', schema: { type }, ...rest }
    }
    const post = {
      parameters: [
        parameter('city', 'string', { example: 'Oslo' }),
        parameter('day', 'string', { examples: { first: { value: '2026-11-21' } } }),
        parameter('count', 'integer', { example: 'many' }),
        { name: 'unit', in: 'query', schema: { type: 'string', default: 'c' }, example: 'f' },
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { type: 'object', properties: { note: { type: 'string' } } },
            example: { note: 'Windy.', other: 1 },
          },
        },
      },
      responses: {},
    }
    const document = { openapi: '3.1.0', paths: { '/tides': { post } } }
    const { endpoints, gaps } = readOpenApi(JSON.stringify(document))
    expect(gaps).to.deep.equal([])
    const members = endpoints[0]?.input['properties'] as Record<string, { examples?: unknown }>
    expect(Object.entries(members).map(([name, { examples }]) => [name, examples])).to.deep.equal([
      ['city', ['Oslo']],
      ['day', ['2026-11-21']],
      ['count', undefined],
      ['unit', undefined],
      ['note', ['Windy.']],
    ])
  })
})

describe('an OpenAPI document with security schemes', () => {
  const read = (securitySchemes: object, security: readonly object[]) => {
    const { wants, secretChoices, gaps } = readOpenApi(
      JSON.stringify({
        openapi: '3.1.0',
        servers: [{ url: 'https://api.acme.com' }],
        components: { securitySchemes },
        security,
        paths: { '/a': { get: { responses: {} } } },
      }),
    )
    return { wants, secretChoices, gaps: gaps.map(({ what }) => what).join() }
  }
  const flow = (name: string) => ({
    type: 'oauth2',
    flows: { [name]: { tokenUrl: 'https://id.acme.com/token', scopes: {} } },
  })

  it('needs a secret of two schemes once, and resolves token URLs against the server', () => {
    const bearer = { type: 'http', scheme: 'bearer' }
    const { wants } = read({ user: bearer, admin: bearer }, [{ user: [] }, { admin: [] }])
    expect(wants).to.deep.equal([{ in: 'header', name: 'Authorization', prefix: 'Bearer ' }])
    const clientCredentials = { tokenUrl: '/v1/token', scopes: {} }
    const relative = { type: 'oauth2', flows: { clientCredentials } }
    expect(read({ relative }, [{ relative: [] }]).wants).to.deep.equal([
      {
        in: 'oauth2',
        name: 'Authorization',
        prefix: 'Bearer ',
        tokenUrl: 'https://api.acme.com/v1/token',
      },
    ])
  })

  it('proposes client credentials with the scopes that its operations need', () => {
    const { wants, secretChoices } = read({ o: flow('clientCredentials') }, [{ o: ['a', 'b'] }])
    expect(wants).to.deep.equal([
      {
        in: 'oauth2',
        name: 'Authorization',
        prefix: 'Bearer ',
        tokenUrl: 'https://id.acme.com/token',
        scope: 'a b',
      },
    ])
    expect(secretChoices).to.deep.equal([])
  })

  it('suggests a static header for every other flow', () => {
    for (const scheme of [flow('authorizationCode'), flow('password'), { type: 'openIdConnect' }]) {
      const { wants, gaps } = read({ o: scheme }, [{ o: [] }])
      expect(wants).to.deep.equal([{ in: 'header', name: 'Authorization', prefix: 'Bearer ' }])
      expect(gaps).to.match(/client credentials.*as the header Authorization/)
    }
  })

  it('says which secrets are enough where it declares alternatives', () => {
    const schemes = {
      o: flow('clientCredentials'),
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      app: { type: 'apiKey', in: 'query', name: 'app' },
    }
    expect(read(schemes, [{ o: [] }, { key: [], app: [] }]).secretChoices).to.deep.equal([
      ['oauth2 Authorization'],
      ['header X-Key', 'query app'],
    ])
    expect(read(schemes, [{ key: [] }, { key: [], app: [] }]).secretChoices).to.deep.equal([])
    expect(read(schemes, [{ key: [] }, {}]).secretChoices).to.deep.equal([])
  })
})
