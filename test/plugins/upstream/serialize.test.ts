import { expect } from 'chai'
import { readOpenApi } from '../../../core/catalog/upstreams/openapi/read.ts'
import type { JsonObject } from '../../../core/json.ts'
import { usd } from '../../../core/money.ts'
import { Refusal } from '../../../core/plugin/index.ts'
import type { Upstream } from '../../../core/plugin/upstreams.ts'
import { compile } from '../../../core/plugin/validate.ts'
import { requestsOf } from '../../../plugins/upstream/request.ts'
import { readInput } from '../../../server/proxy/input.ts'

const BASE = 'https://api.example'
const upstream = { baseUrl: BASE, requestHeaders: [], responseHeaders: [], injected: [] }

/** Imports one operation and sends it this input. */
function send(
  path: string,
  method: string,
  spec: JsonObject,
  input: JsonObject,
  version = '3.1.0',
) {
  const head = version === '2.0' ? { swagger: version } : { openapi: version }
  const paths = { [path]: { [method]: { responses: {}, ...spec } } }
  const { endpoints, gaps } = readOpenApi(JSON.stringify({ ...head, paths }))
  const [endpoint] = endpoints
  if (!endpoint) return { gaps: gaps.map(({ what }) => what) }
  const build = requestsOf(upstream as unknown as Upstream, { ...endpoint, price: usd('0') })
  const issues = compile({ json: endpoint.input })(input)
  const { url, body, headers } = build({ id: 'x', input, signal: AbortSignal.timeout(9_000) })
  return { endpoint, issues, url: url.slice(BASE.length), body, type: headers?.['content-type'] }
}

const list = { type: 'array', items: { type: 'integer' } }
const object = { type: 'object', properties: { R: { type: 'integer' }, G: { type: 'integer' } } }
const inQuery = (schema: JsonObject, how: JsonObject = {}) => ({
  parameters: [{ name: 'c', in: 'query', schema, ...how }],
})
const inPath = (schema: JsonObject, how: JsonObject = {}) => ({
  parameters: [{ name: 'c', in: 'path', required: true, schema, ...how }],
})
const json = (schema: JsonObject, required = true) => ({
  requestBody: { required, content: { 'application/json': { schema } } },
})

describe('a request of an imported API', () => {
  it('has parameters in their declared styles, or the endpoint is not listed', () => {
    const cases: readonly [JsonObject, unknown, string][] = [
      [inQuery(list), [1, 2], '/x?c=1&c=2'],
      [inQuery(list, { explode: false }), [1, 2], '/x?c=1,2'],
      [inQuery(list, { style: 'spaceDelimited', explode: false }), [1, 2], '/x?c=1%202'],
      [inQuery(list, { style: 'pipeDelimited', explode: false }), [1, 2], '/x?c=1%7C2'],
      [inQuery(object), { R: 1, G: 2 }, '/x?R=1&G=2'],
      [inQuery(object, { explode: false }), { R: 1, G: 2 }, '/x?c=R,1,G,2'],
      [inQuery(object, { style: 'deepObject' }), { R: 1, G: 2 }, '/x?c%5BR%5D=1&c%5BG%5D=2'],
    ]
    for (const [spec, c, url] of cases) expect(send('/x', 'get', spec, { c }).url).to.equal(url)
    const paths: readonly [JsonObject, unknown, string][] = [
      [inPath(list), [1, 2], '/x/1,2'],
      [inPath(list, { style: 'label', explode: true }), [1, 2], '/x/.1.2'],
      [inPath(list, { style: 'matrix' }), [1, 2], '/x/;c=1,2'],
      [inPath(object, { style: 'matrix', explode: true }), { R: 1, G: 2 }, '/x/;R=1;G=2'],
    ]
    for (const [spec, c, url] of paths) expect(send('/x/{c}', 'get', spec, { c }).url).to.equal(url)
    const csv = { parameters: [{ name: 'c', in: 'query', ...list }] }
    expect(send('/x', 'get', csv, { c: [1, 2] }, '2.0').url, 'default of 2.0').to.equal('/x?c=1,2')
    const tabs = {
      parameters: [{ name: 'c', in: 'query', required: true, collectionFormat: 'tsv', ...list }],
    }
    expect(send('/x', 'get', tabs, {}, '2.0').gaps).to.deep.equal([
      'lists separated by tabs are not supported, and it is required',
    ])
  })

  it('is accepted from callers in the declared styles, too', () => {
    const read = (spec: JsonObject, query: Record<string, unknown>) => {
      const endpoint = send('/x', 'get', spec, {}).endpoint!
      const { parameters: styles } = endpoint.encoding ?? {}
      const sold = { input: { json: endpoint.input }, ...(styles && { styles }) }
      return readInput(sold as never, {}, { method: 'GET', query, body: undefined })
    }
    expect(read(inQuery(list, { explode: false }), { c: '1,2' })).to.deep.equal({ c: [1, 2] })
    expect(read(inQuery(object), { R: '1', G: '2' })).to.deep.equal({ c: { R: 1, G: 2 } })
    const mixed = inQuery({ type: ['string', 'integer'] })
    expect(read(mixed, { c: '007' })).to.deep.equal({ c: '007' })
    expect(read(mixed, { c: '7' })).to.deep.equal({ c: 7 })
    const deep = inQuery(object, { style: 'deepObject' })
    expect(read(deep, { 'c[R]': '1', 'c[__proto__]': '2' })).to.deep.equal({ c: { R: 1 } })
  })

  it('has paths with text around parameters', () => {
    const responses = {}
    expect(send('/a/{id}.json', 'get', { responses }, { id: 'x' }).url).to.equal('/a/x.json')
    expect(send("/a('{b-c}'):go", 'post', { responses }, { 'b-c': 'x' }).url).to.equal("/a('x'):go")
    expect(send('/a/{b}{c}', 'get', { responses }, {}).gaps?.[0]).to.include(
      'text between parameters',
    )
  })

  it('has bodies that are no object, or share a name with a parameter, as one member', () => {
    const array = send('/x', 'post', json(list), { body: [1, 2] })
    expect(array).to.deep.include({ body: '[1,2]', issues: [] })
    const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } }
    const named = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }
    const same = send(
      '/x/{id}',
      'put',
      { parameters: [id], ...json(named) },
      { id: 7, body: { id: 'b' } },
    )
    expect(same).to.deep.include({ url: '/x/7', body: '{"id":"b"}', issues: [] })
    const twice = { parameters: [id, { name: 'id', in: 'query', schema: {} }] }
    expect(send('/x/{id}', 'get', twice, { id: 7, query_id: 8 }).url).to.equal('/x/7?id=8')
    expect(
      send('/x/{id}', 'delete', { parameters: [id], ...json(named) }, { id: 7, body: { id: 'b' } }),
    ).to.deep.include({ url: '/x/7', body: '{"id":"b"}' })
    expect(send('/x', 'get', json(named), {}).gaps).to.deep.equal([
      'the body of a GET is not sent, and it is required',
    ])
  })

  it('has forms, multipart with files, and text', () => {
    const members = { a: { type: 'string' }, o: object, f: { type: 'string', format: 'binary' } }
    const body = (type: string, more: JsonObject = {}) => ({
      requestBody: {
        required: true,
        content: { [type]: { schema: { type: 'object', properties: members }, ...more } },
      },
    })
    const type = 'application/x-www-form-urlencoded'
    const encoding = { o: { style: 'deepObject', explode: true } }
    const form = send('/x', 'post', body(type, { encoding }), { a: 'b c', o: { R: 1 } })
    expect(form).to.deep.include({ type, body: 'a=b+c&o%5BR%5D=1' })
    const input = { a: 'b', o: { R: 1 }, f: Buffer.from('\0\r\n').toString('base64') }
    const parts = send('/x', 'post', body('multipart/form-data'), input)
    expect(parts.type).to.match(/^multipart\/form-data; boundary=agenthub-/)
    const text = Buffer.from(parts.body!).toString('latin1')
    expect(text).to.include('name="o"\r\nContent-Type: application/json\r\n\r\n{"R":1}')
    expect(text).to.include(
      'filename="f"\r\nContent-Type: application/octet-stream\r\n\r\n\0\r\n\r\n--',
    )
    const plain = { requestBody: { required: true, content: { 'text/csv': {} } } }
    expect(send('/x', 'post', plain, { body: 'a,b' })).to.include({ type: 'text/csv', body: 'a,b' })
  })

  it('has the bytes that the caller means, and a type that can be sent', () => {
    const files = { type: 'object', properties: { f: { type: 'string', format: 'binary' } } }
    const body = (type: string, schema: JsonObject = {}, more: JsonObject = {}) => ({
      requestBody: { required: true, content: { [type]: { schema, ...more } } },
    })
    const image = body('image/*')
    const sent = send('/x', 'post', image, { body: 'AP-_' })
    expect(sent.type).to.equal('application/octet-stream')
    expect(Buffer.from(sent.body!)).to.deep.equal(Buffer.from([0, 255, 191]))
    const own = body('multipart/form-data; boundary=own', files, {
      encoding: { f: { contentType: 'image/*' } },
    })
    const form = send('/x', 'post', own, { f: 'AA==' })
    expect(form.type).to.match(/^multipart\/form-data; boundary=agenthub-[\w-]+$/)
    expect(Buffer.from(form.body!).toString()).to.include('Content-Type: application/octet-stream')
    const url = 'data:image/png;base64,AA=='
    for (const [spec, input] of [
      [image, { body: url }],
      [own, { f: url }],
    ] as const) {
      expect(() => send('/x', 'post', spec, input)).to.throw(Refusal, 'must be Base64')
    }
  })

  it('needs no members that only responses have, and the whole optional body or none', () => {
    const schema = {
      type: 'object',
      required: ['id', 'name'],
      properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' }, n: {} },
    }
    expect(send('/x', 'post', json(schema), { name: 'a' }).issues).to.deep.equal([])
    expect(send('/x', 'post', json(schema), {}).issues).to.have.length(1)
    expect(send('/x', 'post', json(schema, false), {})).to.deep.include({
      issues: [],
      body: undefined,
    })
    expect(send('/x', 'post', json(schema, false), { n: 1 }).issues).not.to.deep.equal([])
  })

  it('has schemas as JSON Schema means them, also those that a strict validator dislikes', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/paths/~1x/post/x-node' } } }
    const loose: readonly [JsonObject, unknown, unknown][] = [
      [{ type: ['number', 'string'], minLength: 2 }, 'ab', 'a'],
      [{ allOf: [{ properties: { a: {} } }, { required: ['a'] }] }, { a: 1 }, {}],
      [{ minimum: 1, exclusiveMinimum: true }, 2, 1],
      [{ type: 'array', items: [{ type: 'string' }] }, ['a'], [1]],
      [{ type: 'array', uniqueItems: true }, [1, 2], [1, 1]],
      [{ enum: ['a', 'a'] }, 'a', 'b'],
      [{ type: 'string', minLength: '2' }, 'ab', 'a'],
      [{ if: { type: 'string' }, else: false }, 'ab', 1],
      [{ $ref: '#/paths/~1x/post/x-node' }, { next: { next: {} } }, { next: { next: 1 } }],
    ]
    for (const [inner, good, bad] of loose) {
      const spec = { ...json({ type: 'object', properties: { v: inner } }), 'x-node': node }
      const shown = JSON.stringify(inner)
      expect(send('/x', 'post', spec, { v: good }).issues, shown).to.deep.equal([])
      expect(send('/x', 'post', spec, { v: bad }).issues, shown).not.to.deep.equal([])
    }
  })

  it('goes to the server of its operation, or is not listed with those of another one', () => {
    const get = { responses: {} }
    const servers = [{ url: 'https://upload.example' }]
    const text = JSON.stringify({
      openapi: '3.2.0',
      servers: [{ url: BASE }],
      paths: { '/a': { get }, '/b': { servers, get }, '/c': { query: get } },
    })
    const { endpoints, gaps } = readOpenApi(text)
    expect(endpoints.map(({ path }) => path)).to.deep.equal(['/a'])
    expect(gaps.map(({ at }) => at)).to.deep.equal(['QUERY /c', 'GET /b'])
    expect(readOpenApi(text, { only: ['/b'] }).servers).to.deep.equal(['https://upload.example'])
  })

  it('goes to the server of most operations, wherever the first one goes', () => {
    const get = { responses: {} }
    const servers = [{ url: 'https://login.example' }]
    const { endpoints, servers: found } = readOpenApi(
      JSON.stringify({
        openapi: '3.0.0',
        servers: [{ url: BASE }],
        paths: { '/token': { servers, get }, '/a': { get }, '/b': { get } },
      }),
    )
    expect(endpoints.map(({ path }) => path)).to.deep.equal(['/a', '/b'])
    expect(found).to.deep.equal([BASE])
  })
})
