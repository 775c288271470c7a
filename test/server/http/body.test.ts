import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import { BODY_BYTES_MAX, CONTAINERS_MAX, MEMBERS_MAX, readJson } from '../../../server/http/body.ts'
import { problem, toFault } from '../../../server/http/problem.ts'
import { type Answer, type Listening, listen, send } from '../http.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const text = (bytes: number): string => JSON.stringify('a'.repeat(bytes - 2))

describe('a request body', () => {
  let server: Listening
  before(async () => {
    server = await listen((request, response) => {
      void readJson(request)
        .then((value) => ({ status: 200, headers: {}, body: { value } }))
        .catch((error: unknown) => problem(toFault(error), 'req_12345678', '/'))
        .then(({ status, headers, body }) =>
          response.writeHead(status, headers).end(JSON.stringify(body)),
        )
    })
  })
  after(() => server.close())

  const post = (
    body: string | Buffer | readonly (string | Buffer)[],
    headers: Readonly<Record<string, string>> = JSON_TYPE,
  ): Promise<Answer> => send(server.port, { body, headers })
  const valueOf = async (body: string): Promise<unknown> => (await post(body)).json['value']

  it('is read as the JSON that it is', async () => {
    expect(await valueOf('{"a": [1, "ü😀", null, true]}')).to.deep.equal({
      a: [1, 'ü😀', null, true],
    })
    expect(await valueOf('0')).to.equal(0)
  })

  it('is undefined when there is none, whatever its type', async () => {
    expect((await post('', {})).json).to.deep.equal({})
    expect((await post('', { 'Content-Type': 'text/plain' })).status).to.equal(200)
  })

  it('may be cut into chunks anywhere, also within a character', async () => {
    const bytes = Buffer.from('{"a":"ü😀"}')
    const chunks = [...bytes].map((byte) => Buffer.from([byte]))
    expect((await post(chunks)).json).to.deep.equal({ value: { a: 'ü😀' } })
  })

  describe('has a limit in bytes', () => {
    it('up to which it is read', async () => {
      expect((await post(text(BODY_BYTES_MAX))).status).to.equal(200)
    })

    it('above which it is refused by its declared length', async () => {
      const { status, json, headers } = await post(text(BODY_BYTES_MAX + 1))
      expect(status).to.equal(413)
      expect(headers['connection']).to.equal('close')
      expect(json).to.include({
        code: 'body_too_large',
        limit_bytes: BODY_BYTES_MAX,
        actual_bytes: BODY_BYTES_MAX + 1,
      })
    })

    it('above which it is refused, and answered, also when it comes without a length', async () => {
      const { status, json } = await post(Array.from({ length: 500 }, () => text(32 * 1_024)))
      expect(status).to.equal(413)
      expect(json).to.include({ code: 'body_too_large', limit_bytes: BODY_BYTES_MAX })
    })

    for (const [what, framing, end] of [
      ['declared', 'Content-Length: 4194304', ''],
      ['chunked', 'Transfer-Encoding: chunked', '\r\n0\r\n\r\n'],
    ]) {
      it(`above which a ${what} one is answered to a client that sends all first`, async () => {
        const half = 'x'.repeat(2_097_152)
        const socket = connect(server.port, '127.0.0.1').pause()
        let received = ''
        const ended = once(socket, 'close')
        socket.write(
          `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`,
        )
        socket.write(end === '' ? half : `400000\r\n${half}`)
        await sleep(500) // a server that answered now would close the connection
        await new Promise((resolve) => socket.write(half + end, resolve))
        await sleep(100)
        socket.on('data', (bytes: Buffer) => (received += bytes)).resume()
        await ended
        expect(received)
          .to.match(/^HTTP\/1\.1 413 /)
          .and.include('"code":"body_too_large"')
      })
    }
  })

  describe('is not unpacked', () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
      it(encoding, async () => {
        const headers = { ...JSON_TYPE, 'Content-Encoding': encoding }
        const { status, json } = await post(gzipSync('{}'), headers)
        expect(status).to.equal(415)
        expect(json).to.include({ code: 'unsupported_content_encoding' })
      })
    }

    it('and identity is no encoding, in any case of letters', async () => {
      for (const encoding of ['identity', 'Identity']) {
        const answer = await post('{}', { ...JSON_TYPE, 'Content-Encoding': encoding })
        expect(answer.status).to.equal(200)
      }
    })
  })

  describe('is JSON in UTF-8 by its content type', () => {
    const accepted = [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/ld+json',
    ]
    for (const type of accepted) {
      it(`as ${type}`, async () => {
        expect((await post('{}', { 'Content-Type': type })).status).to.equal(200)
      })
    }
    const refused = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/json; charset=utf-16',
      'text/json, application/json',
    ]
    for (const type of refused) {
      it(`and not as ${type}`, async () => {
        const { status, json } = await post('{}', { 'Content-Type': type })
        expect(status).to.equal(415)
        expect(json).to.include({ code: 'unsupported_media_type' })
      })
    }
    it('and not without one', async () => {
      expect((await post('{}', {})).status).to.equal(415)
    })
  })

  describe('is malformed', () => {
    const malformed: Readonly<Record<string, string | Buffer>> = {
      'when it ends too early': '{"a":',
      'when something follows': '{} {}',
      'when it is a literal of JavaScript': "{'a': NaN}",
      'when it is only space': '  ',
      'when it is no UTF-8': Buffer.from([0x22, 0xc3, 0x28, 0x22]),
      'when it is an overlong encoding': Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
      'when it is half a character': Buffer.from([0x22, 0xf0, 0x9f, 0x22]),
      'when it is UTF-16': Buffer.from('{}', 'utf16le'),
      'A132 when it begins with a byte order mark': '\ufeff{}',
    }
    for (const [when, body] of Object.entries(malformed)) {
      it(when, async () => {
        const { status, json } = await post(body)
        expect(status).to.equal(400)
        expect(json).to.include({ code: 'malformed_json' })
      })
    }
  })

  describe('A132 names each member of an object once', () => {
    const twice = [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '[{"b":{"":1,"c":[],"":2}}]',
      '{"__proto__":1,"__proto__":2}',
    ]
    for (const body of twice) {
      it(`or is refused: ${body}`, async () => {
        const { status, json } = await post(body)
        expect(status).to.equal(400)
        expect(json).to.include({ code: 'duplicate_member' })
      })
    }
    it('in which colons in strings, and equal names in other objects, do not count', async () => {
      const body = JSON.stringify({ 'a:b': ':"a":', c: [{ c: { c: 1 } }, { c: 1 }], 0: '\\":' })
      expect((await post(body)).status).to.equal(200)
    })
  })

  describe('has a limited depth', () => {
    it('of 64', async () => {
      expect((await post(nested(64))).status).to.equal(200)
      const { status, json } = await post(nested(65))
      expect(status).to.equal(400)
      expect(json).to.include({ code: 'json_too_deep' })
    })

    it('which no parser is asked to find out', async () => {
      const deep = '{"a":'.repeat(40_000)
      expect((await post(deep)).json).to.include({ code: 'json_too_deep' })
    })

    it('in which brackets within strings do not count', async () => {
      const body = JSON.stringify({ a: '\\"'.repeat(9) + '['.repeat(1_000) })
      expect((await post(body)).status).to.equal(200)
    })
  })

  describe('A136 has a limited number of', () => {
    const names = (count: number): string =>
      `{${Array.from({ length: count }, (_, n) => `"${n}":[]`).join()}}`
    const lists = (count: number): string =>
      `[${Array(count - 1)
        .fill('{}')
        .join()}]`
    const limits = [
      ['members', names, MEMBERS_MAX],
      ['objects and lists', lists, CONTAINERS_MAX],
    ] as const
    for (const [what, make, limit] of limits) {
      it(what, async () => {
        expect((await post(make(limit))).status).to.equal(200)
        const { status, json } = await post(make(limit + 1))
        expect(status).to.equal(413)
        const name = `limit_${what.replaceAll(' ', '_')}`
        expect(json).to.include({ code: 'body_too_large', [name]: limit })
      })
    }
  })

  describe('has no key that would touch a prototype', () => {
    const bodies = [
      '{"__proto__": {"admin": true}}',
      '{"a": [{"b": {"constructor": {"prototype": {}}}}]}',
      '[{"prototype": 1}]',
      '{"\\u005f_proto__": 1}',
    ]
    for (const body of bodies) {
      it(body, async () => {
        const { status, json } = await post(body)
        expect(status).to.equal(422)
        expect(json).to.include({ code: 'validation_failed' })
        expect(({} as { admin?: boolean }).admin).to.equal(undefined)
      })
    }

    it('but may say such a word', async () => {
      expect(await valueOf('{"a": "__proto__"}')).to.deep.equal({ a: '__proto__' })
    })
  })
})
