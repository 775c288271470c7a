import type { ServerResponse } from 'node:http'
import { traceOf } from '../observability/trace.ts'
import type { Flow } from '../proxy/stream.ts'
import type { Exchange } from './exchange.ts'
import { sendFlow } from './flow.ts'
import { compressed, isCompressible } from './represent.ts'

type Headers = Readonly<Record<string, string>>

/** Statuses whose answer has no body (RFC 9110 §6.4.1). */
export const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** The answer of a door before Koa: its headers are gathered, and written with the body. */
export class Answer {
  readonly #exchange: Exchange
  readonly #draining: () => boolean
  /** By lower-case name: the name as it is written, and the value. */
  readonly #headers = new Map<string, readonly [string, string]>()

  /** @param draining see `Observers` */
  constructor(exchange: Exchange, draining: () => boolean) {
    this.#exchange = exchange
    this.#draining = draining
  }

  /** Of a header that was told before, the last value counts. */
  tell(headers: Headers): void {
    for (const name of Object.keys(headers)) this.#set(name, headers[name]!)
  }

  /** Answers with a whole body, compressed for who reads that. */
  async send(status: number, body: string | Buffer): Promise<void> {
    if (!isCompressible(status, body.length, (name) => this.#valueOf(name))) {
      this.#write(status, body)
      return
    }
    const smaller = await compressed(body, this.#exchange.req)
    const vary = this.#valueOf('vary')
    this.tell(vary ? { ...smaller.headers, Vary: bothOf(vary) } : smaller.headers)
    this.#write(status, smaller.body)
  }

  /** Nothing is said to a notification. */
  accept(): void {
    this.#write(202, '')
  }

  /** The answer to a browser that asks before its page may. */
  permit(headers: Headers): void {
    this.tell(headers)
    this.#write(204, '')
  }

  /** Begins a stream of server-sent events. */
  events(): ServerResponse {
    const noStore = { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
    this.tell({ 'Content-Type': 'text/event-stream', ...noStore })
    return this.#writeHead(200)
  }

  /** Answers with a stream. */
  flow(status: number, flow: Flow): void {
    traceOf(this.#exchange).end()
    this.#writeHead(status)
    sendFlow(this.#exchange, flow)
  }

  #set(name: string, value: string): void {
    this.#headers.set(lowerOf(name), [name, value])
  }

  #valueOf(name: string): string | undefined {
    return this.#headers.get(name)?.[1]
  }

  #write(status: number, body: string | Buffer): void {
    const { req, res } = this.#exchange
    if (res.headersSent) return void res.destroy() // a stream that is open already
    const isBodiless = BODILESS.has(status)
    if (isBodiless) this.#headers.delete('content-type')
    else this.#set('Content-Length', String(Buffer.byteLength(body)))
    traceOf(this.#exchange).end()
    this.#writeHead(status).end(isBodiless || req.method === 'HEAD' ? undefined : body)
  }

  #writeHead(status: number): ServerResponse {
    const timing = traceOf(this.#exchange).serverTiming
    if (timing !== '') this.#set('Server-Timing', timing)
    if (this.#draining()) this.#set('Connection', 'close')
    const lines: string[] = []
    for (const [name, value] of this.#headers.values()) lines.push(name, value)
    return this.#exchange.res.writeHead(status, lines)
  }
}

const NAMES_MAX = 1_000
const lowered = new Map<string, string>()

/** A name in lower case: there are few, and every answer has twenty. */
function lowerOf(name: string): string {
  const known = lowered.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (lowered.size < NAMES_MAX) lowered.set(name, lower)
  return lower
}

const bothOf = (vary: string): string =>
  /\*|accept-encoding/i.test(vary) ? vary : `${vary}, Accept-Encoding`
