import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { MAIN, usersOf } from './hub.ts'

const EVENT = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }

describe('hub mcp', () => {
  const server = createServer()
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { user } = usersOf(url)
  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  it('forwards progress at once and closes canceled requests', async () => {
    const hungUp = new Promise<void>((resolve) => {
      server.on('request', (request, response) => {
        if (request.headers['mcp-method'] !== 'tools/call') return void response.end()
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`event: message\ndata: ${JSON.stringify(EVENT)}\n\n`)
        response.once('close', resolve) // never responds
      })
    })
    const env = { ...user({ HUB_API_KEY: 'ahk_any' }).env }
    const child = spawn(process.execPath, [MAIN, 'mcp'], { env })
    const say = (message: object): void =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }
    say({ id: 7, method: 'tools/call', params: { name: 'hub_call', arguments: {}, ...meta } })
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    expect(JSON.parse(line)).to.deep.equal(EVENT)
    say({ method: 'notifications/cancelled', params: { requestId: 7, ...meta } })
    await hungUp
    child.stdin.end()
    expect((await once(child, 'exit'))[0]).to.equal(0)
  })

  it('returns what the hub says of a request that it refused unread', async () => {
    const refusal = { code: -31_401, message: 'Send Authorization: Bearer ahk_… with a valid key.' }
    server.removeAllListeners('request').on('request', (_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', error: refusal }))
    })
    const env = { ...user({ HUB_API_KEY: 'ahk_wrong' }).env }
    const child = spawn(process.execPath, [MAIN, 'mcp'], { env })
    child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize' })}\n`)
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    expect(JSON.parse(line)).to.deep.equal({ jsonrpc: '2.0', error: refusal, id: 1 })
  })
})
