import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Agent, type buildConnector, request as undiciRequest } from 'undici'
import { elapsedMs } from '../clock.ts'
import { type ConnectorOptions, codeOf, guardedConnector } from './connector.ts'
import { EgressError } from './errors.ts'
import type { TargetRules } from './target.ts'

export interface ProxyOptions extends ConnectorOptions, TargetRules {
  /** Bytes in both directions together; then everything is cut off. */
  readonly maxBytes: number
  /** Requests and tunnels together; what comes later is refused. */
  readonly maxRequests: number
}

/** The longest that a tunnel is taken to wait for an answer. */
const ANSWER_MS = 2_000
/**
 * The least that a request inside TLS takes. What an HTTP/2 client writes by itself (window
 * updates, pings, settings) is shorter, and nobody answers it.
 */
const REQUEST_BYTES = 64
const SOCKETS_MAX = 256
const HEADERS_MAX = 128 * 1_024
/** Reasons are kept of so many hosts. */
const FAULTS_MAX = 256

/** Belong to one connection (RFC 9110 §7.6.1), or offer a way around the proxy. */
const DROPPED = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|alt-svc)$/

interface Tunnel {
  /** When the client last wrote what looks like a request; undefined once it was answered. */
  asked: number | undefined
}

/**
 * An HTTP proxy on 127.0.0.1 that leads to public hosts alone, by the guard of every other request
 * of the hub: plain requests are passed on, `CONNECT` makes a tunnel. It serves one client, whose
 * bytes it counts. What it refuses it cuts off, without a page that somebody could take for an
 * answer; `faultOf` tells why.
 */
export class Proxy {
  readonly #options: ProxyOptions
  readonly #connect: buildConnector.connector
  readonly #agent: Agent
  readonly #server: Server
  readonly #sockets = new Set<Duplex>()
  readonly #tunnels = new Set<Tunnel>()
  readonly #faults = new Map<string, EgressError>()
  readonly #overrun = new AbortController()
  #requests = 0
  #open = 0
  #bytes = 0
  #moved = elapsedMs()

  private constructor(options: ProxyOptions) {
    this.#options = options
    this.#connect = guardedConnector(options)
    this.#agent = new Agent({
      connect: (target, callback) => this.#connect(target, callback),
      allowH2: false,
      connections: 16,
      maxHeaderSize: HEADERS_MAX,
    })
    this.#server = createServer({ maxHeaderSize: HEADERS_MAX }, (request, response) => {
      this.#pass(request, response).catch(() => response.destroy())
    })
    this.#server.maxConnections = SOCKETS_MAX
    this.#server.on('connection', (socket) => this.#watch(socket))
    this.#server.on('connect', (request, client, head) => this.#tunnel(request, client, head))
    this.#server.on('upgrade', (_, socket) => socket.destroy())
    this.#server.on('clientError', (_, socket) => socket.destroy())
  }

  static async open(options: ProxyOptions): Promise<Proxy> {
    const proxy = new Proxy(options)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    proxy.#server.once('error', reject).listen(0, '127.0.0.1', resolve)
    await promise
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Aborts once more bytes have come than may. */
  get overrun(): AbortSignal {
    return this.#overrun.signal
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Requests that wait for an answer, as far as can be seen from outside. */
  get waiting(): number {
    const since = elapsedMs() - ANSWER_MS
    const asking = [...this.#tunnels].filter(({ asked = 0 }) => asked > since)
    return this.#open + asking.length
  }

  /** Milliseconds since the last byte. */
  get quietMs(): number {
    return elapsedMs() - this.#moved
  }

  /** Why a host was not reached. */
  faultOf(hostname: string): EgressError | undefined {
    return this.#faults.get(hostname)
  }

  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>()
    this.#server.close(() => closed.resolve())
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all([closed.promise, this.#agent.destroy()])
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '')
    if (url?.protocol !== 'http:' || this.#options.httpsOnly || !this.#admit()) {
      return void response.destroy()
    }
    this.#open += 1
    try {
      const answer = await undiciRequest(url, {
        dispatcher: this.#agent,
        method: request.method as 'GET',
        headers: { ...passedOn(request.headers), host: url.host }, // RFC 9112 §3.2.2
        body: hasBody(request) ? request : null,
        headersTimeout: 60_000,
        bodyTimeout: 60_000,
      })
      response.writeHead(answer.statusCode, passedOn(answer.headers))
      answer.body.on('data', (chunk: Buffer) => this.#count(chunk.length))
      await pipeline(answer.body, response)
    } catch (error) {
      this.#remember(url.hostname, error)
      response.destroy()
    } finally {
      this.#open -= 1
    }
  }

  #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): void {
    const target = URL.parse(`http://${request.url}`)
    if (!target || target.pathname !== '/' || !this.#admit()) return void client.destroy()
    const { hostname, host, port } = target
    this.#connect({ hostname, host, port, protocol: 'http:' }, (error, upstream) => {
      if (error || !upstream) {
        this.#remember(hostname, error)
        return void client.destroy()
      }
      this.#watch(upstream)
      if (client.destroyed) return void upstream.destroy()
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) upstream.write(head)
      this.#join(client, upstream)
    })
  }

  #join(client: Duplex, upstream: Duplex): void {
    const tunnel: Tunnel = { asked: undefined }
    this.#tunnels.add(tunnel)
    client.on('data', ({ length }: Buffer) => {
      if (length >= REQUEST_BYTES) tunnel.asked = elapsedMs()
      this.#count(length)
    })
    upstream.on('data', ({ length }: Buffer) => {
      tunnel.asked = undefined
      this.#count(length)
    })
    const end = (): void => {
      this.#tunnels.delete(tunnel)
      client.destroy()
      upstream.destroy()
    }
    client.pipe(upstream).once('close', end)
    upstream.pipe(client).once('close', end)
  }

  #admit(): boolean {
    this.#requests += 1
    this.#moved = elapsedMs()
    return this.#requests <= this.#options.maxRequests && !this.#overrun.signal.aborted
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#moved = elapsedMs()
    if (this.#bytes <= this.#options.maxBytes) return
    this.#overrun.abort(new EgressError('upstream_too_large', { sent: true }))
    for (const socket of this.#sockets) socket.destroy()
  }

  #remember(hostname: string, error: unknown): void {
    if (this.#faults.size >= FAULTS_MAX) return
    const late = codeOf(error).endsWith('_TIMEOUT')
    const fault =
      error instanceof EgressError
        ? error
        : new EgressError(late ? 'upstream_timeout' : 'upstream_unreachable', { cause: error })
    this.#faults.set(hostname, fault)
  }

  #watch(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.on('error', ignore).once('close', () => this.#sockets.delete(socket))
  }
}

const ignore = (): void => undefined

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

const passedOn = <Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !DROPPED.test(name)))
