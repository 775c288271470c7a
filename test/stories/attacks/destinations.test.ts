import dns from 'node:dns/promises'
import { createServer as createTls } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { BAD_TLS } from '../../core/egress/badtls.ts'
import { type Listening, listen } from '../../core/egress/world.ts'
import type { Told } from '../../support/ask.ts'
import { useStage } from './stage.ts'

const FORBIDDEN = [403, 'destination_not_allowed'] as const
const INVALID = [422, 'validation_failed'] as const
const CREDITS = usd('1')
const MIB = 1_048_576
const PIECE = Buffer.alloc(65_536)
/** An address of the internet. Nobody connects to it. */
const PUBLIC = '93.184.216.34'

/** `$INTERNAL` is a port of this machine that the operator allows, so that the address decides. */
const URLS: readonly [string, string, readonly [number, string]][] = [
  ['A001 a loopback address', 'http://127.0.0.1:$INTERNAL/', FORBIDDEN],
  ['A002 one in hexadecimal, and short', 'http://0x7f.1:$INTERNAL/', FORBIDDEN],
  ['A003 one inside of IPv6', 'http://[::ffff:127.0.0.1]:$INTERNAL/', FORBIDDEN],
  ['A004 NAT64 of the metadata', 'http://[64:ff9b::a9fe:a9fe]/latest/meta-data/', FORBIDDEN],
  ['A005 metadata of the cloud', 'http://169.254.169.254/latest/meta-data/', FORBIDDEN],
  ['A006 the wire server of Azure', 'http://168.63.129.16/', FORBIDDEN],
  ['A007 localhost with a dot', 'http://localhost.:$INTERNAL/', FORBIDDEN],
  ['A008 a user and a password', 'http://user:pw@seller.test/', INVALID],
  ['A009 a file', 'file:///etc/passwd', INVALID],
  ['A010 port 22', 'https://shop.test:22/', INVALID],
  ['A011 port 25', 'http://shop.test:25/', INVALID],
  ['A012 NUL in the name', 'http://127.0.0.1%00.shop.test/', INVALID],
]

const KEY = 'Bearer $KEY'
const REQUESTS: readonly [string, object][] = [
  ['A017 the key of the hub in a header', { headers: { Authorization: KEY } }],
  ['A017 … in another header', { headers: { 'X-Token': '$KEY' } }],
  ['A017 … in the URL', { url: 'http://shop.test/echo?key=$KEY' }],
  ['A017 … in the body', { method: 'POST', body: { key: '$KEY' } }],
  ['A019 another Host', { headers: { Host: 'admin.internal' } }],
  ['A020 a line break in a header', { headers: { 'X-A': 'a\r\nX-Injected: 1' } }],
  ['A020 … in the name of one', { headers: { 'X-A\r\nX-Injected': '1' } }],
  ['a payment of its own', { headers: { 'Payment-Signature': 'e30=' } }],
  ['a cookie', { headers: { Cookie: 'a=b' } }],
  ['A021 the method TRACE', { method: 'TRACE' }],
  ['A021 the method CONNECT', { method: 'CONNECT' }],
  ['A021 a method that is none', { method: 'BREW' }],
]

/** Where a caller may send the hub, and with what; nothing here costs anything. */
describe('attacks by where a caller sends the hub', () => {
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
  const stage = useStage({ hosts: ['shop.test'], ports, config: { egressPorts } })
  beforeEach(() => stage().sellers.at('shop.test'))

  /** Refused so, with no effect on the money, and without a connection to ourselves. */
  async function refused(
    request: object,
    [status, code]: readonly [number, string],
  ): Promise<Told> {
    const ada = await stage().agent(CREDITS)
    const filled = JSON.stringify(request)
      .replaceAll('$INTERNAL', String(canary.port))
      .replaceAll('$KEY', ada.apiKey)
    const told = await stage().buys(ada, JSON.parse(filled) as object)
    expect([told.status, told.body['code']]).to.deep.equal([status, code])
    expect(told.headers['content-type']).to.match(/^application\/problem\+json/)
    expect(told.body).to.include({ charged_microdollars: 0 }).and.have.property('request_id')
    expect(told.text).to.not.match(/ahk_|node_modules|\.ts:\d/)
    expect(canary.connections(), 'connections to this machine').to.equal(0)
    await stage().expects(ada, { credits: CREDITS, held: 0n, signed: 0, paid: 0n })
    return told
  }
  const notAsked = () => expect(stage().sellers.visits).to.deep.equal([])

  describe('a URL that leads nowhere it may', () => {
    for (const [title, url, refusal] of URLS) {
      it(`is refused: ${title}`, async () => {
        await refused({ url }, refusal)
        notAsked()
      })
    }

    it('A001 gets the same words, whether anybody listens there or not', async () => {
      const said = async (url: string) => ({
        ...(await refused({ url }, FORBIDDEN)).body,
        request_id: '',
      })
      const open = await said('http://127.0.0.1:$INTERNAL/')
      expect(await said(`http://127.0.0.1:${egressPorts[1]}/`)).to.deep.equal(open)
      expect(await said('http://10.0.0.1/')).to.deep.equal(open)
    })
  })

  describe('a name', () => {
    const { lookup } = dns
    /** Stands for the resolver of this machine; a name has one answer after the other. */
    const resolving = (answers: readonly (readonly string[])[]): string[] => {
      const asked: string[] = []
      const answer = async (name: string) => {
        asked.push(name)
        const addresses = answers[Math.min(asked.length, answers.length) - 1]!
        return addresses.map((address) => ({ address, family: 4 }))
      }
      Object.assign(dns, { lookup: answer })
      syncBuiltinESMExports()
      return asked
    }
    afterEach(() => {
      Object.assign(dns, { lookup })
      syncBuiltinESMExports()
    })
    const names: readonly [string, readonly (readonly string[])[]][] = [
      ['A013 that is public and private', [[PUBLIC, '127.0.0.1']]],
      ['A014 that is public first, and then private', [[PUBLIC], ['127.0.0.1']]],
      ['A014 that is private first, and then public', [['127.0.0.1'], [PUBLIC]]],
      ['that is that of the metadata', [['169.254.169.254']]],
    ]
    for (const [title, answers] of names) {
      it(`${title} is refused`, async () => {
        const asked = resolving(answers)
        await refused({ url: 'http://rebind.test/' }, FORBIDDEN)
        expect(new Set(asked)).to.deep.equal(new Set(['rebind.test']))
      })
    }
  })

  describe('a seller', () => {
    const endless: readonly (readonly [number, readonly [number, string]])[] = [
      [402, [502, 'upstream_too_large']],
      [200, [422, 'not_payable']], // of one who asks for nothing only the status matters
    ]
    for (const [says, refusal] of endless) {
      it(`A041 that says ${says} and never ends is cut off, and nothing is paid`, () =>
        cutOff(says, refusal))
    }

    async function cutOff(says: number, refusal: readonly [number, string]): Promise<void> {
      let sent = 0
      const ended = Promise.withResolvers<void>()
      stage().sellers.at('shop.test', (_, response) => {
        response.once('close', () => ended.resolve())
        response.writeHead(says)
        const more = (): void => {
          while (!response.destroyed && response.write(PIECE)) sent += PIECE.length
        }
        response.on('drain', more)
        more()
      })
      await refused({ url: 'http://shop.test/' }, refusal)
      await ended.promise
      expect(sent / MIB, 'MiB, with what the sockets hold').to.be.below(64)
    }

    for (const status of [301, 302, 303, 307, 308]) {
      it(`A015 that sends the hub to itself by ${status} is not followed`, async () => {
        const location = `http://127.0.0.1:${canary.port}/`
        stage().sellers.at('shop.test', (_, response) => {
          response.writeHead(status, { location }).end()
        })
        await refused({ url: 'http://shop.test/redir' }, [502, 'upstream_redirect'])
        expect(stage().sellers.visits).to.have.length(1)
      })
    }

    for (const host of ['badtls.test', 'othername.test']) {
      it(`A086 without a good certificate is not talked to: ${host}`, async () => {
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

    it('carries what its caller may set, and nothing of the hub’s, to both legs', async () => {
      const ada = await stage().agent(CREDITS)
      const headers = { Authorization: 'Bearer of-the-seller', 'X-Own': '1' }
      const request = { url: 'http://shop.test/echo', method: 'POST', body: 'hello', headers }
      const hub = { cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'payment-signature': 'e30=' }
      expect(await stage().buys(ada, request, hub)).to.have.property('status', 200)
      const seen = stage().sellers.visits
      expect(seen.map(({ body }) => body)).to.deep.equal(['hello', 'hello'])
      for (const visit of seen) {
        expect(visit.headers).to.include({ authorization: 'Bearer of-the-seller', 'x-own': '1' })
        expect(visit.headers).to.not.have.any.keys('cookie', 'x-forwarded-for')
        expect(JSON.stringify(visit)).to.not.include('ahk_')
      }
    })
  })
})
