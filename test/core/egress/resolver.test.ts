import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { dnsResolver, type Resolver } from '../../../core/egress/resolver.ts'
import { openNameServer } from '../../support/name-server.ts'

const V4 = '93.184.216.34'
const V6 = '2a00:1450:4001:82a:1:2:3:4'
const HUNG = Array.from({ length: 50 }, (_, i) => `n${i}.silent.test`)

describe('the resolver of names', () => {
  let server: Awaited<ReturnType<typeof openNameServer>>
  let resolver: Resolver
  before(async () => {
    server = await openNameServer()
    server.addresses
      .set('both.test', [V4, V6])
      .set('old.test', [V4])
      .set('broken.test', 'a failure')
    for (const name of HUNG) server.addresses.set(name, 'none at all')
    resolver = dnsResolver([server.url])
  })
  after(() => server.close())

  const failureOf = (name: string): Promise<unknown> =>
    resolver(name).then(
      () => 'resolved',
      ({ code }: NodeJS.ErrnoException) => code,
    )

  it('returns the addresses of both families', async () => {
    const [v4, v6] = [
      { address: V4, family: 4 },
      { address: V6, family: 6 },
    ]
    expect(await resolver('both.test')).to.have.deep.members([v4, v6])
    expect(await resolver('old.test')).to.deep.equal([v4])
  })

  it('distinguishes a missing name from a failing server', async () => {
    expect(await failureOf('missing.test')).to.equal('ENOTFOUND')
    expect(await failureOf('broken.test')).to.equal('ESERVFAIL')
  })

  it('A292 lets names whose servers never respond hold up neither files nor names', async () => {
    const hung = HUNG.map(failureOf)
    const ended = Promise.race(hung).then(() => 'a hung lookup')
    const others = Promise.all([
      readFile(new URL(import.meta.url)),
      resolver('both.test'),
      failureOf('missing.test'),
    ]).then(() => 'the others')
    expect(await Promise.race([ended, others])).to.equal('the others')
    expect(new Set(await Promise.all(hung))).to.deep.equal(new Set(['ETIMEOUT']))
  })
})
