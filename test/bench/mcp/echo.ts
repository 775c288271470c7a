import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type JSONRPCRequest, JSONRPCServer } from 'json-rpc-2.0'
import Koa from 'koa'

/** Peer of the MCP endpoint: the same two libraries and nothing else. */
const rpc = new JSONRPCServer()
rpc.addMethod('tools/call', (params: unknown) => params)

const app = new Koa()
app.use(async (ctx) => {
  ctx.body = await rpc.receive(JSON.parse(await text(ctx.req)) as JSONRPCRequest)
})
const answer = app.callback()
const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
