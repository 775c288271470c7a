import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { askRaw } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'

const JSON_TYPE = 'Content-Type: application/json'
const withBody = (body: string): readonly string[] => [
  JSON_TYPE,
  `Content-Length: ${Buffer.byteLength(body)}`,
  '',
  body,
]

describe('a malformed request', () => {
  const hub = useHub()
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const key = () => `Authorization: Bearer ${ada.apiKey}`

  const STRANGE: Readonly<Record<string, readonly [status: number, code: string, () => string[]]>> =
    {
      'two Authorization headers, of a call': [
        400,
        'duplicate_header',
        () => ['POST /proxy/echo/say HTTP/1.1', key(), key(), ...withBody('{"words":"a"}')],
      ],
      'two Authorization headers, of a balance': [
        400,
        'duplicate_header',
        () => ['GET /v1/credits/balance HTTP/1.1', key(), 'Authorization: Bearer other'],
      ],
      'a path that goes up': [
        400,
        'malformed_path',
        () => ['POST /proxy/echo/../analysis/sentiment HTTP/1.1', key(), ...withBody('{}')],
      ],
      'an encoded path that goes up': [
        400,
        'malformed_path',
        () => ['POST /proxy/echo/%2e%2e/v1 HTTP/1.1', key(), ...withBody('{}')],
      ],
      'a path with NUL': [404, 'service_not_found', () => ['GET /v1/services/a%00 HTTP/1.1']],
      'a path that cannot be decoded': [
        400,
        'malformed_path',
        () => ['GET /v1/services/%zz HTTP/1.1'],
      ],
      'a body with __proto__': [
        422,
        'validation_failed',
        () => ['POST /proxy/echo/say HTTP/1.1', key(), ...withBody('{"__proto__":{"words":"a"}}')],
      ],
      'a body with constructor': [
        422,
        'validation_failed',
        () => ['POST /v1/search HTTP/1.1', key(), ...withBody('{"constructor":{}}')],
      ],
      'half a JSON': [
        400,
        'malformed_json',
        () => ['POST /v1/search HTTP/1.1', key(), ...withBody('{"query":')],
      ],
      'a body that is not UTF-8, by name': [
        415,
        'unsupported_media_type',
        () => [
          'POST /v1/search HTTP/1.1',
          key(),
          'Content-Type: application/json; charset=utf-16',
          'Content-Length: 2',
          '',
          '{}',
        ],
      ],
      'a body of two types': [
        400,
        'duplicate_header',
        () => ['POST /v1/search HTTP/1.1', key(), 'Content-Type: text/plain', ...withBody('{}')],
      ],
      'a body with transfer coding gzip': [
        400,
        'malformed_request',
        () => [
          'POST /proxy/echo/say HTTP/1.1',
          key(),
          JSON_TYPE,
          'Transfer-Encoding: gzip, chunked',
          '',
          '2',
          '{}',
          '0',
        ],
      ],
      'another version of HTTP': [400, 'malformed_request', () => ['GET /v1/services HTTP/2.0']],
      'a compressed body': [
        415,
        'unsupported_content_encoding',
        () => ['POST /v1/search HTTP/1.1', key(), 'Content-Encoding: gzip', ...withBody('{}')],
      ],
      'another method': [405, 'method_not_allowed', () => ['DELETE /v1/services HTTP/1.1', key()]],
      'an absolute target of another host': [
        400,
        'malformed_request',
        () => ['GET http://elsewhere.test/nothing HTTP/1.1', key()],
      ],
      'an absolute target that is no URL': [
        400,
        'malformed_request',
        () => ['GET http://[/v1/services HTTP/1.1'],
      ],
      'an absolute target with an impossible port': [
        400,
        'malformed_request',
        () => ['GET http://hub.test:99999/v1/services HTTP/1.1'],
      ],
      'an absolute target without a path': [
        400,
        'malformed_request',
        () => ['GET hub://hub.test?a=1 HTTP/1.1'],
      ],
      'a query with a prototype': [
        422,
        'validation_failed',
        () => ['GET /v1/wallet/balance?__proto__[a]=1 HTTP/1.1', key()],
      ],
    }
  for (const [what, [status, code, lines]] of Object.entries(STRANGE)) {
    it(`is ${status} ${code}: ${what}`, async () => {
      const text = await askRaw(hub().url, lines())
      expect(text).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(text).to.match(/content-type: application\/problem\+json/i)
      expect(text).to.include(code)
      if (status === 405) expect(text).to.match(/\r\nAllow: .*GET/)
    })
  }

  it('is 404 for a page with NUL in its path', async () => {
    const text = await askRaw(hub().url, ['GET /services/a%00 HTTP/1.1', 'Accept: text/html'])
    expect(text).to.match(/^HTTP\/1\.1 404 /)
  })

  it('gets a response even if its chunked body is far too large', async () => {
    const piece = `10000\r\n${'x'.repeat(65_536)}`
    const pieces = Array.from({ length: 9 }, () => piece)
    const text = await askRaw(hub().url, [
      'POST /proxy/echo/say HTTP/1.1',
      key(),
      JSON_TYPE,
      'Transfer-Encoding: chunked',
      '',
      ...pieces,
      '0',
    ])
    expect(text).to.match(/^HTTP\/1\.1 413 /)
    expect(text).to.include('body_too_large')
  })

  it('never costs anything', async () => {
    expect(await hub().balance(ada.keyId)).to.equal(usd('1'))
  })
})
