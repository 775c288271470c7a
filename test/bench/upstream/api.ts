import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Program: the proxied API and a stub facilitator. Responds with JSON to every request and accepts
 * every payment.
 */
const ANSWER = JSON.stringify({ words: 'hello', at: 'the API of a provider', n: 42 })
const PAYER = '0x1111111111111111111111111111111111111111'
const BODIES: Readonly<Record<string, string>> = {
  '/verify': JSON.stringify({ isValid: true, payer: PAYER }),
  '/settle': JSON.stringify({
    success: true,
    payer: PAYER,
    transaction: `0x${'1'.repeat(64)}`,
    network: 'eip155:8453',
  }),
  '/supported': JSON.stringify({
    kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:8453' }],
    extensions: [],
    signers: {},
  }),
}
const server = createServer((request, response) => {
  const text = BODIES[request.url ?? ''] ?? ANSWER
  request.resume().on('end', () => {
    const headers = { 'content-type': 'application/json', 'content-length': text.length }
    response.writeHead(200, headers).end(text)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
