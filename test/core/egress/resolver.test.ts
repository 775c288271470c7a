import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { dnsResolver } from '../../../core/egress/resolver.ts'

const HEADER_BYTES = 12
const TYPE_A = 1
const TYPE_AAAA = 28
/** Pointer to the name of the question (RFC 1035, 4.1.4). */
const NAME_POINTER = [0xc0, HEADER_BYTES]

interface Question {
  readonly name: string
  readonly type: number
  readonly end: number
}

function readQuestion(query: Buffer): Question {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** Builds the response to a query: one address, or none with the response code. */
function respond(query: Buffer, end: number, address?: readonly number[], code = 0): Buffer {
  const response = Buffer.from(query.subarray(0, end))
  response.writeUInt16BE(0x8180 | code, 2)
  response.writeUInt16BE(address ? 1 : 0, 6)
  response.writeUInt32BE(0, 8)
  if (!address) return response
  const type = address.length === 4 ? TYPE_A : TYPE_AAAA
  const fixed = [...NAME_POINTER, 0, type, 0, 1, 0, 0, 0, 60, 0, address.length]
  return Buffer.concat([response, Buffer.from([...fixed, ...address])])
}

const V4 = [93, 184, 216, 34]
const V6 = [0x2a, 0, ...Array<number>(13).fill(0), 1]
const NXDOMAIN = 3
const SERVFAIL = 2

describe('the resolver of names', () => {
  let server: Socket
  let resolver: ReturnType<typeof dnsResolver>
  before(async () => {
    server = createSocket('udp4')
    server.on('message', (query, { port, address }) => {
      const { name, type, end } = readQuestion(query)
      const answer = (...rest: [address?: readonly number[], code?: number]): void =>
        server.send(respond(query, end, ...rest), port, address)
      if (name.endsWith('silent.test')) return
      if (name === 'both.test') answer(type === TYPE_A ? V4 : V6)
      else if (name === 'old.test') answer(type === TYPE_A ? V4 : undefined)
      else if (name === 'broken.test') answer(undefined, SERVFAIL)
      else answer(undefined, NXDOMAIN)
    })
    server.bind(0, '127.0.0.1')
    await once(server, 'listening')
    resolver = dnsResolver([`127.0.0.1:${server.address().port}`])
  })
  after(() => server.close())

  const failureOf = (name: string): Promise<unknown> =>
    resolver(name).then(
      () => 'resolved',
      ({ code }: NodeJS.ErrnoException) => code,
    )

  it('returns the addresses of both families', async () => {
    expect(await resolver('both.test')).to.have.deep.members([
      { address: '93.184.216.34', family: 4 },
      { address: '2a00::1', family: 6 },
    ])
    expect(await resolver('old.test')).to.deep.equal([{ address: '93.184.216.34', family: 4 }])
  })

  it('tells a missing name from a failing server', async () => {
    expect(await failureOf('missing.test')).to.equal('ENOTFOUND')
    expect(await failureOf('broken.test')).to.equal('ESERVFAIL')
  })

  it('A292 lets names whose servers never respond delay no files and no other names', async () => {
    const hung = Array.from({ length: 50 }, (_, i) => failureOf(`n${i}.silent.test`))
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
