import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/**
 * The API that is sold, and the stub of a facilitator, each in a process of its own: it answers
 * JSON to whatever is asked, and takes every payment.
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
const answers = new Map(Object.entries(BODIES).map(([path, body]) => [path, answerOf(body)]))
const other = answerOf(ANSWER)

function answerOf(body: string): string {
  const head = `content-type: application/json\r\ncontent-length: ${body.length}`
  return `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`
}

/** Reads no more of HTTP than the proxies send: what it took of the machine, they would lack. */
const server = createServer((socket) => {
  let text = ''
  socket.setNoDelay(true).on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (let length = lengthOf(text); length > 0; length = lengthOf(text)) {
      const path = text.slice(text.indexOf(' ') + 1, text.indexOf(' HTTP/'))
      text = text.slice(length)
      socket.write(answers.get(path) ?? other)
    }
  })
})

/** Of the first request with its body; 0: it is not all there. */
function lengthOf(text: string): number {
  const body = text.indexOf('\r\n\r\n') + 4
  if (body < 4) return 0
  const head = text.slice(0, body)
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    const end = text.indexOf('0\r\n\r\n', body)
    return end < 0 ? 0 : end + 5
  }
  const length = body + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  return text.length < length ? 0 : length
}

server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
