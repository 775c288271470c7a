import { Resolver } from 'node:dns/promises'
import { createServer as createTls } from 'node:https'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { BAD_TLS } from '../../core/egress/badtls.ts'
import { type Listening, listen } from '../../core/egress/fixture.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { useAttackFixture } from './fixture.ts'

const FORBIDDEN = [403, 'destination_not_allowed'] as const
const INVALID = [422, 'validation_failed'] as const
const CREDITS = usd('1')
const MIB = 1_048_576
const PIECE = Buffer.alloc(65_536)
/** A public address. No test connects to it. */
const PUBLIC = '93.184.216.34'

/** `$INTERNAL` is a local port that the operator allows, so that only the address decides. */
const URLS: readonly [string, string, readonly [number, string]][] = [
  ['A001 a loopback address', 'http://127.0.0.1:$INTERNAL/', FORBIDDEN],
  ['A002 a short hexadecimal address', 'http://0x7f.1:$INTERNAL/', FORBIDDEN],
  ['A003 an IPv4-mapped IPv6 address', 'http://[::ffff:127.0.0.1]:$INTERNAL/', FORBIDDEN],
  ['A004 cloud metadata by NAT64', 'http://[64:ff9b::a9fe:a9fe]/latest/meta-data/', FORBIDDEN],
  ['A005 cloud metadata', 'http://169.254.169.254/latest/meta-data/', FORBIDDEN],
  ['A006 the Azure wire server', 'http://168.63.129.16/', FORBIDDEN],
  ['A007 localhost with a trailing dot', 'http://localhost.:$INTERNAL/', FORBIDDEN],
  ['A008 user and password', 'http://user:pw@seller.test/', INVALID],
  ['A009 a file URL', 'file:///etc/passwd', INVALID],
  ['A010 port 22', 'https://shop.test:22/', INVALID],
  ['A011 port 25', 'http://shop.test:25/', INVALID],
  ['A012 NUL in the host name', 'http://127.0.0.1%00.shop.test/', INVALID],
]

const KEY = 'Bearer $KEY'
const REQUESTS: readonly [string, object][] = [
  ['A017 a key of the hub in a header', { headers: { Authorization: KEY } }],
  ['A017 … in another header', { headers: { 'X-Token': '$KEY' } }],
  ['A017 … in the URL', { url: 'http://shop.test/echo?key=$KEY' }],
  ['A017 … in the body', { method: 'POST', body: { key: '$KEY' } }],
  ['A019 another Host header', { headers: { Host: 'admin.internal' } }],
  ['A020 a line break in a header', { headers: { 'X-A': 'a\r\nX-Injected: 1' } }],
  ['A020 … in a header name', { headers: { 'X-A\r\nX-Injected': '1' } }],
  ['a payment of the caller', { headers: { 'Payment-Signature': 'e30=' } }],
  ['a cookie', { headers: { Cookie: 'a=b' } }],
  ['A021 the method TRACE', { method: 'TRACE' }],
  ['A021 the method CONNECT', { method: 'CONNECT' }],
  ['A021 an unknown method', { method: 'BREW' }],
]

/** Destinations and requests that a caller may choose. Nothing here costs anything. */
describe('attacks by the destination of a call', () => {
  const ports = new Map<string, number>()
  const egressPorts: number[] = []
  let canary: Listening
  let unsafe: Listening
  before(async () => {
    canary = await listen()
    unsafe = await listen(undefined, (listener) => createTls(BAD_TLS, listener))
    egressPorts.push(canary.port, await freePort())
    ports.set('badtls.test', unsafe.port)
    ports.set('othername.test', unsafe.port)
  })
  after(() => Promise.all([canary.stop(), unsafe.stop()]))
  const fixture = useAttackFixture({ hosts: ['shop.test'], ports, config: { egressPorts } })
  beforeEach(() => fixture().sellers.serve('shop.test'))

  /** Asserts the refusal without any effect on money or a connection to this machine. */
  async function refused(
    request: object,
    [status, code]: readonly [number, string],
  ): Promise<ApiResponse> {
    const ada = await fixture().createAgent(CREDITS)
    const filled = JSON.stringify(request)
      .replaceAll('$INTERNAL', String(canary.port))
      .replaceAll('$KEY', ada.apiKey)
    const response = await fixture().buy(ada, JSON.parse(filled) as object)
    expect([response.status, response.body['code']]).to.deep.equal([status, code])
    expect(response.headers['content-type']).to.match(/^application\/problem\+json/)
    expect(response.body).to.include({ charged_microdollars: 0 }).and.have.property('request_id')
    expect(response.text).to.not.match(/ahk_|node_modules|\.ts:\d/)
    expect(canary.connections(), 'connections to this machine').to.equal(0)
    await fixture().expectMoney(ada, { credits: CREDITS, held: 0n, signed: 0, paid: 0n })
    return response
  }
  const notAsked = () => expect(fixture().sellers.visits).to.deep.equal([])

  describe('a forbidden URL', () => {
    for (const [title, url, refusal] of URLS) {
      it(`is refused: ${title}`, async () => {
        await refused({ url }, refusal)
        notAsked()
      })
    }

    it('A001 gets the same response whether or not the port is open', async () => {
      const refusalFor = async (url: string) => ({
        ...(await refused({ url }, FORBIDDEN)).body,
        request_id: '',
      })
      const open = await refusalFor('http://127.0.0.1:$INTERNAL/')
      expect(await refusalFor(`http://127.0.0.1:${egressPorts[1]}/`)).to.deep.equal(open)
      expect(await refusalFor('http://10.0.0.1/')).to.deep.equal(open)
    })
  })

  describe('a host name', () => {
    const { resolve4, resolve6 } = Resolver.prototype
    /** Replaces the name servers; each lookup returns the next answer. */
    const resolving = (answers: readonly (readonly string[])[]): string[] => {
      const names: string[] = []
      const answer = async (name: string) => {
        names.push(name)
        return answers[Math.min(names.length, answers.length) - 1]!
      }
      Object.assign(Resolver.prototype, { resolve4: answer, resolve6: async () => [] })
      return names
    }
    afterEach(() => {
      Object.assign(Resolver.prototype, { resolve4, resolve6 })
    })
    const names: readonly [string, readonly (readonly string[])[]][] = [
      ['A013 with a public and a private address', [[PUBLIC, '127.0.0.1']]],
      ['A014 that changes from public to private', [[PUBLIC], ['127.0.0.1']]],
      ['A014 that changes from private to public', [['127.0.0.1'], [PUBLIC]]],
      ['of the cloud metadata', [['169.254.169.254']]],
    ]
    for (const [title, answers] of names) {
      it(`${title} is refused`, async () => {
        const names = resolving(answers)
        await refused({ url: 'http://rebind.test/' }, FORBIDDEN)
        expect(new Set(names)).to.deep.equal(new Set(['rebind.test']))
      })
    }
  })

  describe('a seller', () => {
    const endless: readonly (readonly [number, readonly [number, string]])[] = [
      [402, [502, 'upstream_too_large']],
      [200, [422, 'not_payable']], // without a payment only the status matters
    ]
    for (const [status, refusal] of endless) {
      it(`A041 that returns ${status} and never ends is cut off, and nothing is paid`, () =>
        cutOff(status, refusal))
    }

    async function cutOff(status: number, refusal: readonly [number, string]): Promise<void> {
      let sent = 0
      const ended = Promise.withResolvers<void>()
      fixture().sellers.serve('shop.test', (_, response) => {
        response.once('close', () => ended.resolve())
        response.writeHead(status)
        const more = (): void => {
          while (!response.destroyed && response.write(PIECE)) sent += PIECE.length
        }
        response.on('drain', more)
        more()
      })
      await refused({ url: 'http://shop.test/' }, refusal)
      await ended.promise
      expect(sent / MIB, 'MiB, including socket buffers').to.be.below(64)
    }

    for (const status of [301, 302, 303, 307, 308]) {
      it(`A015 that redirects the hub to itself by ${status} is not followed`, async () => {
        const location = `http://127.0.0.1:${canary.port}/`
        fixture().sellers.serve('shop.test', (_, response) => {
          response.writeHead(status, { location }).end()
        })
        await refused({ url: 'http://shop.test/redir' }, [502, 'upstream_redirect'])
        expect(fixture().sellers.visits).to.have.length(1)
      })
    }

    for (const host of ['badtls.test', 'othername.test']) {
      it(`A086 without a valid certificate receives no request: ${host}`, async () => {
        await refused({ url: `https://${host}/` }, [502, 'upstream_tls'])
        expect(unsafe.seen).to.deep.equal([])
      })
    }
  })

  describe('a request', () => {
    for (const [title, change] of REQUESTS) {
      it(`is not sent with ${title}`, async () => {
        await refused({ url: 'http://shop.test/echo', ...change }, INVALID)
        notAsked()
      })
    }

    it('carries only what its caller may set, unpaid and paid', async () => {
      const ada = await fixture().createAgent(CREDITS)
      const headers = { Authorization: 'Bearer of-the-seller', 'X-Own': '1' }
      const request = { url: 'http://shop.test/echo', method: 'POST', body: 'hello', headers }
      const hub = { cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'payment-signature': 'e30=' }
      expect(await fixture().buy(ada, request, hub)).to.have.property('status', 200)
      const seen = fixture().sellers.visits
      expect(seen.map(({ body }) => body)).to.deep.equal(['hello', 'hello'])
      for (const visit of seen) {
        expect(visit.headers).to.include({ authorization: 'Bearer of-the-seller', 'x-own': '1' })
        expect(visit.headers).to.not.have.any.keys('cookie', 'x-forwarded-for')
        expect(JSON.stringify(visit)).to.not.include('ahk_')
      }
    })
  })
})
