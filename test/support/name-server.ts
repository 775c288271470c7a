import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

/** TXT records by name, each a list of strings. Other names do not exist. */
export type Records = Map<string, readonly (readonly string[])[]>

const A = 1
const AAAA = 28
const TXT = 16
const INTERNET = 1
const RESPONSE = 0x8180
const SERVER_FAILED = 2
const NO_SUCH_NAME = 3
/** Offset of the question, referenced by every response. */
const QUESTION = 12

/** Response to the queries of a name: its addresses, of which IPv6 ones have all 8 groups. */
type Addresses = readonly string[] | 'none at all' | 'a failure' | 'garbage'

/** DNS server on loopback for tests: addresses and TXT records by RFC 1035, over UDP. */
export async function openNameServer(): Promise<{
  readonly records: Records
  readonly addresses: Map<string, Addresses>
  readonly url: string
  /** Queried names. */
  readonly queries: string[]
  /** Resolver that uses only this server. */
  readonly resolver: Resolver
  close(): void
}> {
  const records: Records = new Map()
  const addresses = new Map<string, Addresses>()
  const queries: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    const { name, end } = readName(message)
    queries.push(name)
    const type = message.readUInt16BE(end)
    const key = name.toLowerCase()
    const known: Addresses | readonly Buffer[] | undefined =
      type === TXT ? records.get(key)?.map(textData) : addresses.get(key)
    if (known === 'none at all') return
    if (known === 'garbage') return socket.send(Buffer.alloc(9, 255), port, address)
    const code = known === undefined ? NO_SUCH_NAME : known === 'a failure' ? SERVER_FAILED : 0
    const found = Array.isArray(known) ? known : []
    const question = message.subarray(QUESTION, end + 4)
    const answers = found
      .map((each) => (typeof each === 'string' ? addressData(each) : each))
      .filter((data) => type === TXT || data.length === ADDRESS_BYTES[type])
      .map((data) => written(type, data))
    const header = Buffer.alloc(QUESTION)
    header.writeUInt16BE(message.readUInt16BE(0), 0)
    header.writeUInt16BE(RESPONSE | code, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(answers.length, 6)
    socket.send(Buffer.concat([header, question, ...answers]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 500, tries: 2 })
  const url = `127.0.0.1:${socket.address().port}`
  resolver.setServers([url])
  return { records, addresses, url, queries, resolver, close: () => socket.close() }
}

function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = QUESTION
  for (let size = message.readUInt8(at); size > 0; size = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size))
    at += 1 + size
  }
  return { name: labels.join('.'), end: at + 1 }
}

const ADDRESS_BYTES: Readonly<Record<number, number>> = { [A]: 4, [AAAA]: 16 }

const addressData = (address: string): Buffer =>
  isIPv4(address)
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(
        address
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )

const textData = (strings: readonly string[]): Buffer =>
  Buffer.concat(
    strings.map((text) => Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')])),
  )

function written(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(QUESTION)
  head.writeUInt16BE(0xc000 | QUESTION, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(INTERNET, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
