import type { ServerResponse } from 'node:http'
import type { Observers } from '../observability/observe.ts'
import { traceOf } from '../observability/trace.ts'
import type { Exchange } from './exchange.ts'
import { compressBody, isCompressible } from './finalize-response.ts'
import type { ResponseStream } from './response-stream.ts'
import { sendBody } from './send-body.ts'
import { sendStream } from './send-stream.ts'

type Headers = Readonly<Record<string, string>>
type ResponseObservers = Pick<Observers, 'draining' | 'connections'>

/** Statuses of responses without a body (RFC 9110 §6.4.1). */
export const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304])

/** Collects the headers of a response and writes them together with the body. */
export class ResponseWriter {
  readonly #exchange: Exchange
  readonly #observers: ResponseObservers
  /** Lower-case names of the headers: faster to search than a Map, because they are few. */
  readonly #names: string[] = []
  /** Names as written and values, in turns, as Node writes them. */
  readonly #lines: string[] = []

  constructor(exchange: Exchange, observers: ResponseObservers) {
    this.#exchange = exchange
    this.#observers = observers
  }

  /** Sets headers. The last value of a header wins. */
  setHeaders(headers: Headers): void {
    for (const name of Object.keys(headers)) this.#set(name, headers[name]!)
  }

  /**
   * Sends a complete body, compressed if the client accepts that. Returns a promise only for a body
   * that may be compressed.
   */
  send(status: number, body: string | Buffer): Promise<void> | undefined {
    if (isCompressible(status, body.length, (name) => this.#valueOf(name)))
      return this.#sendCompressed(status, body)
    this.#write(status, body)
  }

  async #sendCompressed(status: number, body: string | Buffer): Promise<void> {
    const smaller = await compressBody(body, this.#exchange.req)
    const vary = this.#valueOf('vary')
    this.setHeaders(vary ? { ...smaller.headers, Vary: withAcceptEncoding(vary) } : smaller.headers)
    this.#write(status, smaller.body)
  }

  /** Sends 202 without a body, the response to a JSON-RPC notification. */
  sendAccepted(): void {
    this.#write(202, '')
  }

  sendPreflight(headers: Headers): void {
    this.setHeaders(headers)
    this.#write(204, '')
  }

  /** Starts a stream of server-sent events. */
  startEvents(): ServerResponse {
    const noStore = { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
    this.setHeaders({ 'Content-Type': 'text/event-stream', ...noStore })
    return this.#writeHead(200)
  }

  /** Sends a stream as the body. */
  sendStream(status: number, flow: ResponseStream): void {
    traceOf(this.#exchange).end()
    this.#writeHead(status)
    sendStream(this.#exchange, flow)
  }

  #set(name: string, value: string): void {
    const lower = lowerCaseName(name)
    const index = this.#names.indexOf(lower)
    if (index < 0) {
      this.#names.push(lower)
      this.#lines.push(name, value)
      return
    }
    this.#lines[2 * index] = name
    this.#lines[2 * index + 1] = value
  }

  #valueOf(name: string): string | undefined {
    const index = this.#names.indexOf(name)
    return index < 0 ? undefined : this.#lines[2 * index + 1]
  }

  #delete(name: string): void {
    const index = this.#names.indexOf(name)
    if (index < 0) return
    this.#names.splice(index, 1)
    this.#lines.splice(2 * index, 2)
  }

  #write(status: number, body: string | Buffer): void {
    const { req, res } = this.#exchange
    if (res.headersSent) return void res.destroy() // a stream that is open already
    const isBodiless = BODILESS_STATUSES.has(status)
    if (isBodiless) this.#delete('content-type')
    else this.#set('Content-Length', String(Buffer.byteLength(body)))
    traceOf(this.#exchange).end()
    const sent = isBodiless || req.method === 'HEAD' ? undefined : body
    sendBody(this.#writeHead(status), sent, this.#observers.connections)
  }

  #writeHead(status: number): ServerResponse {
    const timing = traceOf(this.#exchange).serverTiming
    if (timing !== '') this.#set('Server-Timing', timing)
    if (this.#observers.draining()) this.#set('Connection', 'close')
    return this.#exchange.res.writeHead(status, this.#lines)
  }
}

const NAMES_MAX = 1_000
const lowerCaseNames = new Map<string, string>()

/** Returns a header name in lower case. Memoized: every response has about twenty of few names. */
function lowerCaseName(name: string): string {
  const known = lowerCaseNames.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (lowerCaseNames.size < NAMES_MAX) lowerCaseNames.set(name, lower)
  return lower
}

const withAcceptEncoding = (vary: string): string =>
  /\*|accept-encoding/i.test(vary) ? vary : `${vary}, Accept-Encoding`
