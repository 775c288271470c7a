import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Server } from 'node:net'
import nock from 'nock'
import { createEgress, type EgressOptions } from '../../../core/egress/egress.ts'
import type { Egress, EgressRequest } from '../../../core/egress/http.ts'
import { parseSandboxHosts } from '../../../core/egress/sandbox.ts'
import { listenOnLoopback } from '../../support/loopback.ts'

/** Disables nock, which would bypass the guard's connector. */
export function realSockets(): void {
  before(() => nock.restore())
  after(() => nock.activate())
}

export interface Listening {
  readonly port: number
  /** Number of connections so far. */
  readonly connections: () => number
  /** Requests so far, with their bodies. */
  readonly seen: Seen[]
  readonly stop: () => Promise<void>
}

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: string[]
  readonly body: string
}

/** Starts a server on a free port of 127.0.0.1; by default HTTP that responds `ok`. */
export async function listen(
  answer: RequestListener = (_, response) => response.end('ok'),
  make: (listener: RequestListener) => Server = createServer,
): Promise<Listening> {
  const seen: Seen[] = []
  let connections = 0
  const server = make((request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      seen.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() })
      answer(request, response)
    })
  })
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  const port = await listenOnLoopback(server)
  const stop = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { port, connections: () => connections, seen, stop }
}

/** Runs `work` with an egress that closes afterwards. */
export async function withEgress<T>(
  options: Partial<EgressOptions>,
  work: (egress: Egress) => Promise<T>,
): Promise<T> {
  const egress = createEgress({ userAgent: 'agenthub-test', ...options })
  try {
    return await work(egress)
  } finally {
    await egress.close()
  }
}

/** Serves `seller.test` while `work` runs. */
export async function against<T>(
  answer: RequestListener | undefined,
  work: (egress: Egress, seller: Listening) => Promise<T>,
  make?: (listener: RequestListener) => Server,
): Promise<T> {
  const seller = await listen(answer, make)
  const sandboxHosts = parseSandboxHosts(`seller.test=127.0.0.1:${seller.port}`)
  try {
    return await withEgress({ sandboxHosts }, (egress) => work(egress, seller))
  } finally {
    await seller.stop()
  }
}

/** Sends a request to `seller.test`. */
export const ask = (egress: Egress, more: Partial<EgressRequest> = {}) =>
  egress.request({ url: 'http://seller.test/x', method: 'GET', ...more })
