import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { elapsedMs } from '../../../core/clock.ts'
import type { Sample } from '../load.ts'

/**
 * Sends one request repeatedly over `connections` connections, each after the previous response.
 * Does as little work as possible, because it shares the machine with what it measures.
 */
export async function drive(
  url: string,
  request: string,
  connections: number,
  seconds: number,
): Promise<Sample> {
  const { hostname, port } = new URL(url)
  const bytes = Buffer.from(request)
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname))
  await Promise.all(sockets.map((socket) => once(socket.setNoDelay(true), 'connect')))
  const latencies: number[] = []
  const errors: string[] = []
  const start = elapsedMs()
  const end = start + seconds * 1_000
  await Promise.all(sockets.map((socket) => loop(socket, bytes, end, latencies, errors)))
  const took = (elapsedMs() - start) / 1_000
  const first = errors[0] === undefined ? {} : { firstError: errors[0] }
  const calls = latencies.length - errors.length
  return { latencies, calls, errors: errors.length, ...first, seconds: took }
}

function loop(
  socket: Socket,
  bytes: Buffer,
  end: number,
  latencies: number[],
  errors: string[],
): Promise<void> {
  return new Promise((resolve) => {
    let before = elapsedMs()
    let text = ''
    const finish = (): void => {
      socket.destroy()
      resolve()
    }
    socket.on('error', (error) => {
      errors.push(error.message)
      finish()
    })
    socket.on('data', (chunk) => {
      text = text === '' ? chunk.toString('latin1') : text + chunk.toString('latin1')
      if (!isWhole(text)) return
      const now = elapsedMs()
      latencies.push(now - before)
      if (!text.startsWith('HTTP/1.1 200')) errors.push(text.slice(0, 600))
      text = ''
      if (now > end) return finish()
      before = now
      socket.write(bytes)
    })
    socket.write(bytes)
  })
}

/** Returns true if the response is complete, by its length or its last chunk. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
  if (length !== undefined) return text.length >= head + 4 + Number(length)
  return text.endsWith('\r\n0\r\n\r\n')
}
