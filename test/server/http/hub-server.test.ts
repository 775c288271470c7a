import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import type { HubServer } from '../../../server/http/hub-server.ts'
import { listen } from '../../../server/http/listen.ts'
import { realSockets } from '../../core/egress/fixture.ts'

/** Longer than a test may take: nothing here may wait for it. */
const GRACE = { graceSeconds: 600 }
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

describe('a server that drains', () => {
  realSockets()
  let server: HubServer
  let handle: (request: IncomingMessage, response: ServerResponse) => void
  const sockets: Socket[] = []

  beforeEach(async () => {
    handle = (_, response) => response.end('answer')
    const listening = (request: IncomingMessage, response: ServerResponse) =>
      handle(request, response)
    server = await listen(listening, { host: '127.0.0.1', port: 0 })
  })
  afterEach(async () => {
    for (const each of sockets.splice(0)) each.destroy()
    await server.drain({ graceSeconds: 0 })
  })

  const open = async (): Promise<{ socket: Socket; answers: () => number }> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    sockets.push(socket)
    let output = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    await once(socket, 'connect')
    return { socket, answers: () => output.match(/answer/g)?.length ?? 0 }
  }
  const closed = ({ socket }: { readonly socket: Socket }) => once(socket, 'close')

  it('answers requests that connections in use send meanwhile', async () => {
    const used = await open()
    used.socket.write(GET)
    await once(used.socket, 'data')
    const drained = server.drain(GRACE)
    await sleep(100) // some checks for idle connections later
    used.socket.write(GET)
    await once(used.socket, 'data')
    await Promise.all([closed(used), drained])
    expect(used.answers()).to.equal(2)
  })

  it('answers connections that it has not accepted yet', async () => {
    const waiting = Promise.all(Array.from({ length: 40 }, open)) // before any is accepted
    const drained = server.drain({ ...GRACE, idleMs: 200 })
    const clients = await waiting
    for (const { socket } of clients) socket.write(GET)
    await Promise.all([...clients.map(closed), drained])
    expect(clients.map(({ answers }) => answers())).to.deep.equal(clients.map(() => 1))
  })

  it('closes no connection whose request is not answered or not complete', async () => {
    handle = (request, response) => {
      request.resume().once('end', () => void sleep(300).then(() => response.end('answer')))
    }
    const [slow, upload, partial] = await Promise.all([open(), open(), open()])
    slow.socket.write(GET)
    upload.socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n12')
    partial.socket.write(GET.slice(0, 20))
    await sleep(50)
    const drained = server.drain({ ...GRACE, idleMs: 20 })
    await sleep(200)
    upload.socket.write('34')
    partial.socket.write(GET.slice(20))
    await Promise.all([closed(slow), closed(upload), closed(partial), drained])
    expect([slow, upload, partial].map(({ answers }) => answers())).to.deep.equal([1, 1, 1])
  })

  it('does not wait for connections that send nothing', async () => {
    const silent = await open()
    await Promise.all([closed(silent), server.drain({ ...GRACE, idleMs: 20 })])
  })

  it('closes connections in use when the grace period ends', async () => {
    handle = () => {}
    const stuck = await open()
    stuck.socket.write(GET)
    await Promise.all([closed(stuck), server.drain({ graceSeconds: 0.1 })])
    expect(stuck.answers()).to.equal(0)
  })
})
