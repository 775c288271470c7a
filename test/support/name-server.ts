import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

/** TXT records by name, each a list of strings. Other names do not exist. */
export type Records = Map<string, readonly (readonly string[])[]>

const TXT = 16
const INTERNET = 1
const RESPONSE = 0x8180
const NO_SUCH_NAME = 3
const REFUSED = 5
/** Offset of the question, referenced by every response. */
const QUESTION = 12

/** DNS server on loopback for tests: TXT records by RFC 1035, over UDP. */
export async function openNameServer(): Promise<{
  readonly records: Records
  /** Queried names. */
  readonly asked: string[]
  /** Resolver that uses only this server. */
  readonly resolver: Resolver
  close(): void
}> {
  const records: Records = new Map()
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    const { name, end } = readName(message)
    asked.push(name)
    const type = message.readUInt16BE(end)
    const found = type === TXT ? records.get(name.toLowerCase()) : undefined
    const code = type !== TXT ? REFUSED : found ? 0 : NO_SUCH_NAME
    const question = message.subarray(QUESTION, end + 4)
    const answers = (found ?? []).map(written)
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
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return { records, asked, resolver, close: () => socket.close() }
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

function written(strings: readonly string[]): Buffer {
  const data = Buffer.concat(
    strings.map((text) => Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')])),
  )
  const head = Buffer.alloc(QUESTION)
  head.writeUInt16BE(0xc000 | QUESTION, 0)
  head.writeUInt16BE(TXT, 2)
  head.writeUInt16BE(INTERNET, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
