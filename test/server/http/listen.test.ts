import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { sleep } from '../../../core/clock.ts'
import type { HubServer } from '../../../server/http/hub-server.ts'
import { listen, TIMEOUTS_MS } from '../../../server/http/listen.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'
import { send } from '../http.ts'

/** Sends a chunk every few milliseconds until the server closes. @returns its response */
async function drip(port: number, head: string, piece: string): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1')
  let output = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.write(head)
  const timer = setInterval(() => socket.write(piece), 40)
  await closed
  clearInterval(timer)
  return output
}

describe('callers that take their time', () => {
  realSockets()
  let server: HubServer
  let port: number
  let requestCount = 0
  before(async () => {
    server = await listen(
      (request, response) => {
        request.resume().once('end', () => {
          requestCount++
          response.end('ok')
        })
      },
      { host: '127.0.0.1', port: 0 },
      { ...TIMEOUTS_MS, headers: 1_000, request: 1_500, checkInterval: 50 },
    )
    port = (server.address() as AddressInfo).port
  })
  after(() => server.drain({ graceSeconds: 1 }))

  it('get ten seconds for their headers, thirty for all that they ask', () => {
    expect(TIMEOUTS_MS).to.include({ headers: 10_000, request: 30_000, checkInterval: 1_000 })
    expect(TIMEOUTS_MS.idle, 'longer than a call may last, paid on a chain').to.be.above(360_000)
  })

  it('A038 to send headers line by line get 408, and others are served meanwhile', async () => {
    const slow = Array.from({ length: 50 }, () =>
      drip(port, 'GET / HTTP/1.1\r\nHost: a\r\n', 'X-Line: a\r\n'),
    )
    for (let i = 0; i < 20; i++) expect((await send(port, { path: '/' })).status).to.equal(200)
    for (const output of await Promise.all(slow)) expect(output).to.match(/^HTTP\/1\.1 408 /)
  })

  it('A039 to send a body byte by byte get 408, and it is never handled', async () => {
    const before = requestCount
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n'
    expect(await drip(port, head, 'x')).to.match(/^HTTP\/1\.1 408 /)
    expect(requestCount).to.equal(before)
  })

  it('are served whatever else they expect of it (RFC 9110 §10.1.1)', async () => {
    for (const expected of ['100-continue', 'a-biscuit']) {
      const head = `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: ${expected}\r\n\r\n`
      expect(await drip(port, head, ''), expected).to.match(/^HTTP\/1\.1 200 /m)
    }
  })

  it('get a problem for CONNECT, because the hub opens no tunnels', async () => {
    const answer = await drip(port, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', '')
    expect(answer)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.to.include('"code":"malformed_request"')
  })

  it('with headers of more than 32 KiB, or thousands of them, get 431 or nothing', async () => {
    const long = { path: '/', headers: { 'x-long': 'a'.repeat(33_000) } }
    expect((await send(port, long)).status).to.equal(431)
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x-${i}`, 'a']))
    expect((await send(port, { path: '/', headers: many })).status).to.equal(431)
    expect((await send(port, { path: '/' })).status).to.equal(200)
  })
})

describe('an answer that nobody reads', () => {
  realSockets()

  it('is held no longer than its connection may be silent', async () => {
    const large = Buffer.alloc(32_000_000)
    const place = { host: '127.0.0.1', port: 0 }
    const timeouts = { ...TIMEOUTS_MS, idle: 1_000 }
    const server = await listen((_, response) => response.end(large), place, timeouts)
    const connected = once(server, 'connection')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const [held] = (await connected) as [Socket]
    await once(held, 'close')
    expect(held.bytesWritten).to.be.above(0)
    socket.destroy()
    await server.drain({ graceSeconds: 1 })
  })
})

describe('a body that never comes', () => {
  const hub = useHub()

  it('A039 holds no connection to the database, and no money', async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, 1_000n)
    const { port } = new URL(hub().url)
    const head = [
      'POST /proxy/external HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${apiKey}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
      '',
      '{"url":',
    ].join('\r\n')
    const sockets = Array.from({ length: 30 }, () => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(head))
      return socket.on('error', () => {})
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    await sleep(300)
    const { pool } = hub().hub
    await eventually(() => pool.totalCount === pool.idleCount) // and none of them was read
    expect(await hub().balance(keyId)).to.equal(1_000n)
    for (const socket of sockets) socket.destroy()
    const disconnects = () =>
      hub()
        .logged()
        .split('\n')
        .filter((line) => line.includes('"status":499'))
    await eventually(async () => disconnects().length >= sockets.length)
    expect(disconnects(), 'each is told in the log, as gone').to.have.length(30)
    const { rows } = await hub().hub.pool.query('SELECT FROM ledger.open_hold')
    expect(rows).to.deep.equal([])
  })
})
