import net from 'node:net'
import { expect } from 'chai'
import { EgressError } from '../../../core/egress/errors.ts'
import type { Resolver } from '../../../core/egress/resolver.ts'
import { parseSandboxHosts } from '../../../core/egress/sandbox.ts'
import { rejection } from '../../support/rejection.ts'
import { type Listening, listen, realSockets, withEgress } from './fixture.ts'

/** A resolver that reads from a table; each lookup returns the next list of a name. */
function table(names: Record<string, readonly (readonly string[])[]>): Resolver {
  const lookupCounts = new Map<string, number>()
  return async (name) => {
    const answers = names[name]
    if (!answers) throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' })
    const turn = lookupCounts.get(name) ?? 0
    lookupCounts.set(name, turn + 1)
    const addresses = answers[Math.min(turn, answers.length - 1)] ?? []
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

/** Public address; no test connects to it. */
const PUBLIC = '93.184.216.34'

describe('the egress guard', () => {
  realSockets()
  let canary: Listening
  before(async () => {
    canary = await listen()
  })
  after(() => canary.stop())

  async function refused(url: string, resolver: Resolver = table({})): Promise<EgressError> {
    const allowedPorts = [canary.port]
    const error = await withEgress({ allowedPorts, resolver }, (egress) =>
      rejection(egress.request({ url, method: 'GET' })),
    )
    if (!(error instanceof EgressError)) throw error
    return error
  }

  const literals: readonly [string, string][] = [
    ['A001 loopback', 'http://127.0.0.1:$INTERNAL/'],
    ['A002 hexadecimal and short', 'http://0x7f.1:$INTERNAL/'],
    ['decimal', 'http://2130706433:$INTERNAL/'],
    ['octal', 'http://0177.0.0.1:$INTERNAL/'],
    ['full-width digits', 'http://１２７.０.０.１:$INTERNAL/'],
    ['a trailing dot', 'http://127.0.0.1.:$INTERNAL/'],
    ['any address', 'http://0.0.0.0:$INTERNAL/'],
    ['A003 mapped', 'http://[::ffff:127.0.0.1]:$INTERNAL/'],
    ['IPv6 loopback', 'http://[::1]:$INTERNAL/'],
    ['compatible', 'http://[::127.0.0.1]:$INTERNAL/'],
    ['A004 NAT64 of the metadata address', 'http://[64:ff9b::a9fe:a9fe]/latest/meta-data/'],
    ['6to4 of loopback', 'http://[2002:7f00:1::]:$INTERNAL/'],
    ['A005 cloud metadata', 'http://169.254.169.254/latest/meta-data/'],
    ['A006 Azure wire server', 'http://168.63.129.16/'],
    ['private over https', 'https://10.0.0.1/'],
    ['A007 localhost with a trailing dot', 'http://localhost.:$INTERNAL/'],
    ['localhost', 'http://localhost:$INTERNAL/'],
    ['a name below localhost', 'http://a.localhost:$INTERNAL/'],
  ]
  for (const [title, url] of literals) {
    it(`refuses ${title}`, async () => {
      const error = await refused(url.replace('$INTERNAL', String(canary.port)))
      expect(error).to.include({ code: 'destination_not_allowed', sent: false })
      expect(canary.connections()).to.equal(0)
    })
  }

  const names: readonly [string, readonly (readonly string[])[]][] = [
    ['A013 a public and a private address', [[PUBLIC, '127.0.0.1']]],
    ['a private and a public address', [['127.0.0.1', PUBLIC]]],
    ['A014 rebinding: first public, then private', [[PUBLIC], ['127.0.0.1']]],
    ['rebinding the other way', [['127.0.0.1'], [PUBLIC]]],
    ['a mapped loopback address', [['::ffff:127.0.0.1']]],
    ['no address', [[]]],
  ]
  for (const [title, answers] of names) {
    it(`refuses a name with ${title}`, async () => {
      const error = await refused(`http://a.test:${canary.port}/`, table({ 'a.test': answers }))
      expect(error).to.include({ code: 'destination_not_allowed', sent: false })
      expect(canary.connections()).to.equal(0)
    })
  }

  it('reports the same error for every refusal and for missing names', async () => {
    const open = await refused(`http://127.0.0.1:${canary.port}/`)
    const shut = await refused('http://127.0.0.1/')
    const named = await refused('http://db.internal/', table({ 'db.internal': [['10.0.0.5']] }))
    const unknown = await refused('http://nothing.internal/')
    for (const error of [shut, named, unknown]) {
      expect({ code: error.code, message: error.message }).to.deep.equal({
        code: open.code,
        message: open.message,
      })
    }
  })

  it('reveals nothing about a failing resolver', async () => {
    const error = await refused('http://a.test/', () =>
      Promise.reject(Object.assign(new Error('10.0.0.53 timed out'), { code: 'EAI_AGAIN' })),
    )
    expect(error.code).to.equal('upstream_unreachable')
    expect(error.message).not.to.match(/10\.0/)
  })

  it('connects to the checked address, and checks the connected one', async () => {
    const real = net.connect
    const given: unknown[] = []
    // Simulates a system that connects to the canary instead.
    const detour = (options: { host: string; lookup: net.LookupFunction }) => {
      options.lookup(options.host, { all: true }, (_, all) => given.push(all))
      options.lookup(options.host, {}, (_, ...one) => given.push(one))
      return real({ host: '127.0.0.1', port: canary.port })
    }
    Object.assign(net, { connect: detour })
    try {
      const error = await refused('http://a.test/', table({ 'a.test': [[PUBLIC]] }))
      expect(error).to.include({ code: 'destination_not_allowed', sent: false })
      expect(given).to.deep.equal([[{ address: PUBLIC, family: 4 }], [PUBLIC, 4]])
      expect(canary.seen).to.deep.equal([])
    } finally {
      Object.assign(net, { connect: real })
    }
  })
})

describe('sandbox hosts', () => {
  realSockets()
  let seller: Listening
  let canary: Listening
  before(async () => {
    seller = await listen()
    canary = await listen()
  })
  after(() => Promise.all([seller.stop(), canary.stop()]))

  const get = (url: string, allowedPorts: readonly number[] = []) =>
    withEgress(
      {
        allowedPorts,
        sandboxHosts: parseSandboxHosts(`seller.test=127.0.0.1:${seller.port}`),
        resolver: table({ 'other.test': [['127.0.0.1']], 'a.seller.test': [['127.0.0.1']] }),
      },
      (egress) => egress.request({ url, method: 'GET' }),
    )

  it('are reached by name, on the standard port and their own', async () => {
    for (const url of ['http://seller.test/a', `http://SELLER.test:${seller.port}/a`]) {
      const { status, body } = await get(url)
      expect([status, body.toString()]).to.deep.equal([200, 'ok'])
    }
    expect(seller.seen.map(({ headers }) => headers.host)).to.deep.equal([
      'seller.test',
      `seller.test:${seller.port}`,
    ])
  })

  it('allow no other name, address or port', async () => {
    const ports = [seller.port, canary.port]
    const before = seller.connections()
    for (const url of [
      `http://127.0.0.1:${seller.port}/`,
      `http://other.test:${seller.port}/`,
      `http://a.seller.test:${seller.port}/`,
      `http://seller.test.:${seller.port}/`,
    ]) {
      const error = await rejection(get(url, ports))
      expect(error, url).to.have.property('code', 'destination_not_allowed')
    }
    const error = await rejection(get(`http://seller.test:${canary.port}/`, ports))
    expect(error).to.have.property('code', 'validation_failed')
    expect([seller.connections() - before, canary.connections()]).to.deep.equal([0, 0])
  })
})
