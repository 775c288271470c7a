import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Agent, type buildConnector, request as undiciRequest } from 'undici'
import { elapsedMs } from '../clock.ts'
import { type ConnectorOptions, guardedConnector } from './connector.ts'
import { codeOf, EgressError } from './errors.ts'
import type { TargetRules } from './target.ts'

export interface ProxyOptions extends ConnectorOptions, TargetRules {
  /** Maximum bytes in both directions together; then all connections are cut off. */
  readonly maxBytes: number
  /** Maximum number of requests and tunnels; further ones are refused. */
  readonly maxRequests: number
}

/** After this time without a response, a tunnel no longer counts as waiting. */
const RESPONSE_WAIT_MS = 2_000
/** Minimum size of a request inside TLS: HTTP/2 control frames are shorter. */
const REQUEST_BYTES = 64
const SOCKETS_MAX = 256
const HEADERS_MAX = 128 * 1_024
/** Maximum number of hosts whose failure is remembered. */
const FAULTS_MAX = 256

/** Headers of one connection (RFC 9110 §7.6.1), or that lead around the proxy. */
const HOP_BY_HOP_HEADER =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|alt-svc)$/

interface Tunnel {
  /** Time of the last apparent request, by `elapsedMs`; undefined once it has a response. */
  requestedAtMs: number | undefined
}

/**
 * HTTP proxy on 127.0.0.1 that connects to public hosts only, with the same guard as
 * `createEgress`. Forwards plain requests and tunnels `CONNECT`. Serves one client and counts its
 * bytes. Refused connections are cut off without an error page, which could be mistaken for the
 * site's response; `faultOf` returns the reason.
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
  #requestCount = 0
  #openRequests = 0
  #bytes = 0
  #lastByteAtMs = elapsedMs()

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
      this.#forward(request, response).catch(() => response.destroy())
    })
    this.#server.maxConnections = SOCKETS_MAX
    this.#server.on('connection', (socket) => this.#trackSocket(socket))
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

  /** Aborts when `maxBytes` is exceeded. */
  get overrun(): AbortSignal {
    return this.#overrun.signal
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Estimated number of requests without a response; TLS hides the exact number. */
  get pendingRequests(): number {
    const since = elapsedMs() - RESPONSE_WAIT_MS
    const waiting = [...this.#tunnels].filter(({ requestedAtMs = 0 }) => requestedAtMs > since)
    return this.#openRequests + waiting.length
  }

  /** Milliseconds since the last byte. */
  get quietMs(): number {
    return elapsedMs() - this.#lastByteAtMs
  }

  /** Returns why a host could not be reached. */
  faultOf(hostname: string): EgressError | undefined {
    return this.#faults.get(hostname)
  }

  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>()
    this.#server.close(() => closed.resolve())
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all([closed.promise, this.#agent.destroy()])
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '')
    if (url?.protocol !== 'http:' || this.#options.httpsOnly || !this.#admit()) {
      return void response.destroy()
    }
    this.#openRequests += 1
    try {
      const upstream = await undiciRequest(url, {
        dispatcher: this.#agent,
        method: request.method as 'GET',
        headers: { ...endToEndHeaders(request.headers), host: url.host }, // RFC 9112 §3.2.2
        body: hasBody(request) ? request : null,
        headersTimeout: 60_000,
        bodyTimeout: 60_000,
      })
      response.writeHead(upstream.statusCode, endToEndHeaders(upstream.headers))
      upstream.body.on('data', (chunk: Buffer) => this.#countBytes(chunk.length))
      await pipeline(upstream.body, response)
    } catch (error) {
      this.#recordFault(url.hostname, error)
      response.destroy()
    } finally {
      this.#openRequests -= 1
    }
  }

  #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): void {
    const target = URL.parse(`http://${request.url}`)
    if (!target || target.pathname !== '/' || !this.#admit()) return void client.destroy()
    const { hostname, host, port } = target
    this.#connect({ hostname, host, port, protocol: 'http:' }, (error, upstream) => {
      if (error || !upstream) {
        this.#recordFault(hostname, error)
        return void client.destroy()
      }
      this.#trackSocket(upstream)
      if (client.destroyed) return void upstream.destroy()
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) upstream.write(head)
      this.#relay(client, upstream)
    })
  }

  #relay(client: Duplex, upstream: Duplex): void {
    const tunnel: Tunnel = { requestedAtMs: undefined }
    this.#tunnels.add(tunnel)
    client.on('data', ({ length }: Buffer) => {
      if (length >= REQUEST_BYTES) tunnel.requestedAtMs = elapsedMs()
      this.#countBytes(length)
    })
    upstream.on('data', ({ length }: Buffer) => {
      tunnel.requestedAtMs = undefined
      this.#countBytes(length)
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
    this.#requestCount += 1
    this.#lastByteAtMs = elapsedMs()
    return this.#requestCount <= this.#options.maxRequests && !this.#overrun.signal.aborted
  }

  #countBytes(bytes: number): void {
    this.#bytes += bytes
    this.#lastByteAtMs = elapsedMs()
    if (this.#bytes <= this.#options.maxBytes) return
    this.#overrun.abort(new EgressError('upstream_too_large', { sent: true }))
    for (const socket of this.#sockets) socket.destroy()
  }

  #recordFault(hostname: string, error: unknown): void {
    if (this.#faults.size >= FAULTS_MAX) return
    const timedOut = codeOf(error).endsWith('_TIMEOUT')
    const fault =
      error instanceof EgressError
        ? error
        : new EgressError(timedOut ? 'upstream_timeout' : 'upstream_unreachable', { cause: error })
    this.#faults.set(hostname, fault)
  }

  #trackSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.on('error', ignore).once('close', () => this.#sockets.delete(socket))
  }
}

const ignore = (): void => undefined

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

const endToEndHeaders = <Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP_HEADER.test(name)))
