import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { createLog } from '../../../core/log.ts'
import {
  ConnectionGuard,
  type ConnectionLimits,
  type CutReason,
} from '../../../server/http/connection-guard.ts'
import { limitConnections } from '../../../server/http/connection-limits.ts'
import { sendBody } from '../../../server/http/send-body.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { eventually } from '../../support/eventually.ts'

const MIB = 1_048_576
/** More than the buffers of the kernel hold. */
const LARGE = Buffer.alloc(32 * MIB, 'x')

/** Identity that a test gives a request by its path. */
const REQUESTERS: Readonly<Record<string, { keyId?: string; charged?: bigint }>> = {
  '/keyless': {},
  '/keyed': { keyId: 'key_free' },
  '/paying': { keyId: 'key_paying', charged: 1n },
  '/other': { keyId: 'key_other', charged: 1n },
}

describe('a connection that holds memory', () => {
  realSockets()
  const sockets: Socket[] = []
  const cut: CutReason[] = []
  let server: Server | undefined

  async function start(limits: Partial<ConnectionLimits>, body = LARGE): Promise<void> {
    const log = createLog('silent')
    const guard = new ConnectionGuard(log, limits, (reason) => void cut.push(reason))
    const serve = (req: IncomingMessage, res: ServerResponse): void => {
      const requester = REQUESTERS[req.url ?? ''] ?? {}
      guard.watch(req, res, requester)
      res.once('close', () => guard.forget(res))
      req.resume().once('end', () => {
        sendBody(res.writeHead(200, { 'Content-Length': body.length }), body, guard)
      })
    }
    server = createServer(serve).listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    cut.length = 0
    server?.closeAllConnections()
    server?.close()
    if (server) await once(server, 'close')
    server = undefined
  })

  /** Sends a request; its response is not read before `socket.resume()`. */
  function request(path: string, head = ''): Socket {
    const { port } = server!.address() as AddressInfo
    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => undefined)
    socket.write(`${head === '' ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: a\r\n${head}\r\n`)
    sockets.push(socket)
    return socket
  }

  /** Reads a response to its end. @returns its length, headers included */
  async function read(socket: Socket): Promise<number> {
    let bytes = 0
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > LARGE.length) socket.end()
    })
    const closed = once(socket, 'close')
    socket.resume()
    await closed
    return bytes
  }

  it('is cut if nobody reads its response', async () => {
    await start({ graceMs: 300, sweepMs: 50 })
    request('/keyless')
    await eventually(() => cut.length === 1)
    expect(cut).to.deep.equal(['too_slow'])
  })

  it('A140 is cut if its client reads a little now and then', async () => {
    await start({ graceMs: 500, sweepMs: 50, bytesPerSecond: 10 * MIB })
    const socket = request('/paying')
    const timer = setInterval(() => void socket.read(1), 20)
    await eventually(() => cut.length === 1)
    clearInterval(timer)
    expect(cut).to.deep.equal(['too_slow'])
  })

  it('is cut if its response takes too long as a whole', async () => {
    await start({ wholeMs: 400, sweepMs: 50 })
    request('/paying')
    await eventually(() => cut.length === 1)
    expect(cut).to.deep.equal(['deadline'])
  })

  it('is left alone while its client reads', async () => {
    await start({ graceMs: 300, wholeMs: 20_000, sweepMs: 20 })
    expect(await read(request('/keyless'))).to.be.above(LARGE.length)
    expect(cut).to.deep.equal([])
  })

  it('is cut within a quarter of the budget if it has no key', async () => {
    await start({ budgetBytes: 256 * MIB })
    for (let i = 0; i < 5; i++) request('/keyless')
    await eventually(() => cut.length === 3)
    expect(cut).to.deep.equal(['memory', 'memory', 'memory'])
  })

  it('is cut for those who pay: keyless first, then unpaid, then the largest holder', async () => {
    await start({ budgetBytes: 256 * MIB })
    const paying = request('/other')
    for (let i = 0; i < 20; i++) request('/keyless')
    for (let i = 0; i < 20; i++) request('/keyed')
    for (let i = 0; i < 20; i++) request('/paying')
    await eventually(() => cut.length >= 61 - 8)
    expect(await read(paying), 'one response of another payer').to.be.above(LARGE.length)
    expect(new Set(cut)).to.deep.equal(new Set(['memory']))
  })

  it('is cut if many send their requests slowly', async () => {
    await start({ budgetBytes: 16 * MIB, graceMs: 60_000 })
    const slow = Array.from({ length: 20 }, () => request('/keyless', 'Content-Length: 500000\r\n'))
    await eventually(() => cut.length >= 10)
    expect(slow.filter((socket) => !socket.destroyed).length).to.be.at.least(8)
    expect(new Set(cut)).to.deep.equal(new Set(['memory']))
  })

  it('costs the pipelining client, not those behind it', async () => {
    await start({ budgetBytes: 256 * MIB })
    const { port } = server!.address() as AddressInfo
    const socket = connect(port, '127.0.0.1').pause()
    sockets.push(socket.on('error', () => undefined))
    socket.write('GET /keyless HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50))
    await eventually(() => cut.length > 0)
    expect(await read(request('/paying'))).to.be.above(LARGE.length)
  })
})

describe('too many connections', () => {
  realSockets()
  let server: Server
  const sockets: Socket[] = []
  before(async () => {
    server = createServer((_, res) => void res.end('ok'))
    limitConnections(server, 50, true)
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })

  it('A144 of one network are closed at once, and others find room when they end', async () => {
    const { port } = server.address() as AddressInfo
    const closed: Socket[] = []
    const open = (): Socket => {
      const socket = connect(port, '127.0.0.1').resume()
      socket.on('error', () => undefined).once('close', () => void closed.push(socket))
      sockets.push(socket)
      return socket
    }
    const all = Array.from({ length: 15 }, open)
    await eventually(() => closed.length === 5)
    for (const socket of all) socket.destroy()
    await eventually(() => closed.length === 15)
    const last = open()
    last.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(last, 'data')
  })
})
