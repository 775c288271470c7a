import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { flawed } from '../../stories/failing-services.ts'
import { ask, type RequestOptions } from '../../support/ask.ts'
import { readOpenApi } from '../../support/openapi.ts'
import { useHub } from '../../support/suite.ts'

type Json = Readonly<Record<string, unknown>>
interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Json
}
interface Operation extends Json {
  readonly summary: string
  readonly responses: Readonly<Record<string, Json>>
  readonly parameters?: readonly Parameter[]
}
interface Document {
  readonly openapi: string
  readonly info: Json
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly servers: readonly Json[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Json }
}

const shapeOf = (path: string): string => path.replaceAll(/\{[\w.]+\}/g, '{}')

describe('/openapi.json', () => {
  const hub = useHub({ plugins: [flawed] })
  let document: Document
  before(async () => {
    const { status, headers, body } = await readOpenApi(hub().url)
    expect(status).to.equal(200)
    expect(headers['content-type']).to.match(/^application\/json/)
    document = body as unknown as Document
  })

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )

  it('is OpenAPI 3.1, version 1.0.0', () => {
    expect(document.openapi).to.match(/^3\.1\./)
    expect(document.info).to.include({ version: '1.0.0' })
    expect(document.servers).to.deep.equal([{ url: hub().url }])
  })

  it('says once what several operations share', async () => {
    const { text } = await ask(hub().url, '/openapi.json')
    expect(text).to.include('"$ref":"#/components/responses/Problem404"')
    expect(text.length).to.be.below(JSON.stringify(document).length * 0.7)
  })

  it('is one document per kind of callers and service, which the API catalog lists', async () => {
    const { body: catalog } = await ask(hub().url, '/.well-known/api-catalog')
    type Link = { readonly anchor: string; readonly 'service-desc'?: readonly { href: string }[] }
    const links = catalog['linkset'] as readonly Link[]
    const urls = links.flatMap((link) => link['service-desc'] ?? []).map(({ href }) => href)
    expect(urls).to.include(`${hub().url}/v1/services/analysis/openapi.json`)
    const documents = await Promise.all(urls.map((url) => ask(url, '')))
    for (const { status, body } of documents) {
      expect([status, body['openapi']]).to.deep.equal([200, '3.1.0'])
    }
    const [agents] = documents.map(({ body }) => body['paths'] as object)
    const named = documents
      .slice(0, 5)
      .flatMap(({ body }) =>
        Object.entries(body['paths'] as Record<string, object>).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method} ${path}`),
        ),
      )
    expect(named, 'each operation once').to.have.length(new Set(named).size)
    const { text } = documents[0]!
    expect(text).to.not.match(/"\/v1\/(?:admin|finance|provider|domains)\b/)
    expect(text.length, 'characters').to.be.below(460_000)
    const paid = operations().filter(({ operation }) => operation['x-payment-info'])
    for (const { path } of paid) expect(agents, 'crawlers look here').to.have.property(path)
  })

  it('contains every public endpoint', () => {
    expect(Object.keys(document.paths)).to.include.members([
      '/health',
      '/livez',
      '/v1/register/challenge',
      '/v1/register',
      '/v1/services',
      '/v1/services/{slug}',
      '/v1/search',
      '/v1/wallet/balance',
      '/v1/credits/purchase',
      '/v1/credits/balance',
      '/v1/credits/history',
      '/proxy/external',
      '/proxy/analysis/analyze',
      '/proxy/analysis/classify',
      '/proxy/analysis/extract-entities',
      '/proxy/analysis/sentiment',
    ])
  })

  it('describes every tag, and says where to find people', () => {
    for (const { name, description } of document.tags) {
      expect(description, name).to.be.a('string').that.is.not.equal(name)
    }
    const names = operations().flatMap(({ operation }) => operation['tags'] as string[])
    expect(document.tags.map(({ name }) => name)).to.have.members([...new Set(names)])
    expect(document.info).to.nested.include({ 'contact.url': `${hub().url}/docs` })
  })

  it('has examples that satisfy their schemas', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    let examples = 0
    for (const { path, method, operation } of operations()) {
      const { content } = (operation['requestBody'] ?? {}) as { readonly content?: Json }
      const media = (content?.['application/json'] ?? {}) as Json
      if (media['example'] === undefined) continue
      examples += 1
      const isValid = ajv.validate(media['schema'] as object, media['example'])
      expect(isValid, `${method} ${path}: ${ajv.errorsText()}`).to.equal(true)
    }
    expect(examples).to.be.above(20)
  })

  it('describes the page size of every list as an integer', () => {
    const limits = operations().flatMap(({ path, method, operation }) =>
      method === 'get' && path.startsWith('/v1/')
        ? (operation.parameters ?? []).filter(({ name }) => name === 'limit')
        : [],
    )
    expect(limits).to.have.length.above(15)
    for (const { schema } of limits) expect(schema).to.include({ type: 'integer', minimum: 1 })
  })

  it('describes all path parameters and responses of each operation', () => {
    for (const { path, method, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const named = (operation.parameters ?? []).filter((one) => one.in === 'path')
      expect(
        named.map(({ name }) => name),
        path,
      ).to.have.members(inPath)
      expect(operation.summary, path).to.be.a('string').that.is.not.empty
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(status, `${method} ${path}`).to.match(/^[2-5]\d\d$/)
        expect(response['description'], `${method} ${path} ${status}`).to.be.a('string')
      }
      expect(Object.keys(operation.responses).some((status) => status < '300')).to.equal(true)
    }
  })

  it('has no dangling references', () => {
    const text = JSON.stringify(document)
    for (const [, pointer = ''] of text.matchAll(/"\$ref":"#\/([^"]*)"/g)) {
      const found = pointer.split('/').reduce<unknown>((at, name) => (at as Json)?.[name], document)
      expect(found, pointer).to.be.an('object')
    }
  })

  it('declares a Location for every created resource that has a URL', () => {
    const shapes = new Set(operations().map(({ path, method }) => `${method} ${shapeOf(path)}`))
    const made = operations().filter(({ operation }) => operation.responses['201'])
    const located = made.flatMap(({ path, operation }) => {
      const { Location } = (operation.responses['201']?.['headers'] ?? {}) as Record<string, Json>
      return Location ? [{ path, location: String(Location['description']).split(': ')[1]! }] : []
    })
    for (const { path, location } of located)
      expect(shapes, path).to.include(`get ${shapeOf(location)}`)
    const readable = made.filter(({ path }) => shapes.has(`get ${path}/{}`))
    expect(located.map(({ path }) => path)).to.include.members(readable.map(({ path }) => path))
    expect(readable.length).to.be.above(3)
  })

  it('declares price and 402 of every paid route', () => {
    const paid = operations().filter(({ path }) => path.startsWith('/proxy/'))
    expect(paid.length).to.be.above(5)
    for (const { path, operation } of paid) {
      expect(operation.responses, path).to.have.property('402')
      const { price, protocols, metered } = operation['x-payment-info'] as {
        price: Json
        protocols: Json[]
        metered?: Json
      }
      expect(price['mode'], path).to.be.oneOf(['fixed', 'dynamic'])
      expect(price['amount'] ?? price['max'], path).to.match(/^\d+\.\d{6}$/)
      const names = protocols.map((each) => Object.keys(each)[0])
      const exact = path === '/proxy/external' ? ['credits'] : ['x402', 'mpp']
      expect(names, path).to.deep.equal(metered === undefined ? exact : ['x402'])
    }
    const sentiment = document.paths['/proxy/analysis/sentiment']?.['post']
    expect(sentiment?.['x-payment-info']).to.deep.include({
      price: { mode: 'fixed', currency: 'USD', amount: '0.002000' },
    })
  })

  describe('documents the actual response', () => {
    const echo = '/proxy/echo/say'
    const json = { 'content-type': 'application/json' }
    const poor: Readonly<
      Record<string, readonly [path: string, template: string, RequestOptions]>
    > = {
      '402 payment_required': [echo, echo, { method: 'POST' }],
      '401 invalid_api_key': [echo, echo, { key: 'ahk_x', body: {} }],
      '400 malformed_json': [echo, echo, { key: 'rich', body: '{', headers: json }],
      '400 json_too_deep': [echo, echo, { key: 'rich', body: '['.repeat(100), headers: json }],
      '413 body_too_large': [echo, echo, { key: 'rich', body: `"${'x'.repeat(600_000)}"` }],
      '413 text_too_large': [echo, echo, { key: 'rich', body: { words: 'x'.repeat(1_001) } }],
      '415 unsupported_media_type': [
        echo,
        echo,
        { key: 'rich', body: 'words=a', headers: { 'content-type': 'text/plain' } },
      ],
      '422 validation_failed': [echo, echo, { key: 'rich', body: {} }],
      '402 price_exceeds_max': [
        echo,
        echo,
        { key: 'rich', body: { words: 'a' }, headers: { 'x-max-price': '1' } },
      ],
      '200 ': [echo, echo, { key: 'rich', body: { words: 'a' } }],
      '502 plugin_failed': ['/proxy/flawed/throws', '', { key: 'rich', body: {} }],
      '502 plugin_contract': ['/proxy/flawed/greedy', '', { key: 'rich', body: {} }],
      '504 timeout': ['/proxy/flawed/hangs', '', { key: 'rich', body: {} }],
      '422 refused': ['/proxy/flawed/refuses', '', { key: 'rich', body: {} }],
      '422 validation_failed outside': ['/proxy/external', '', { key: 'rich', body: {} }],
      '403 destination_not_allowed': [
        '/proxy/external',
        '',
        { key: 'rich', body: { url: 'http://127.0.0.1/' } },
      ],
      '502 upstream_error': [
        '/proxy/external',
        '',
        { key: 'rich', body: { url: 'http://seller.test/nothing' } },
      ],
      '404 service_not_found': ['/v1/services/nowhere', '/v1/services/{slug}', {}],
      '422 validation_failed of a list': ['/v1/services?limit=0', '/v1/services', {}],
      '400 nonce_unknown': [
        '/v1/register',
        '',
        {
          body: {
            wallet_address: `0x${'1'.repeat(40)}`,
            signature: `0x${'1'.repeat(130)}`,
            nonce: 'x'.repeat(24),
          },
        },
      ],
      '402 payment_required for credits': [
        '/v1/credits/purchase',
        '',
        { key: 'rich', body: { amount_microdollars: 5_000_000 } },
      ],
      '401 invalid_api_key for credits': ['/v1/credits/balance', '', {}],
      '200 health': ['/health', '', {}],
    }
    let rich: string
    before(async () => {
      const { apiKey, keyId } = await hub().agent()
      await hub().credit(keyId, usd('5'))
      rich = apiKey
    })
    for (const [wanted, [path, template, question]] of Object.entries(poor)) {
      it(`${wanted} at ${path}`, async () => {
        const key = question.key === 'rich' ? rich : question.key
        const { status, headers, body } = await ask(hub().url, path, { ...question, key })
        const [expected, code] = wanted.split(' ')
        expect([String(status), body['code'] ?? ''], JSON.stringify(body)).to.deep.equal([
          expected,
          wanted === '200 health' ? '' : code,
        ])
        const method = (
          question.method ?? (question.body === undefined ? 'GET' : 'POST')
        ).toLowerCase()
        const documented = document.paths[template || path]?.[method]?.responses[String(status)]
        expect(documented, `${method} ${path} ${status} in the document`).to.be.an('object')
        if (status < 400) return
        expect(documented?.['description'], 'names the code').to.include(code)
        expect(headers['content-type']).to.match(/^application\/problem\+json/)
        expect(Object.keys(body)).to.include.members([
          ...(document.components.schemas['Problem'] as { required: string[] }).required,
        ])
      })
    }
  })
})
