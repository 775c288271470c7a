import type { ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { namesOf } from '../exchange.ts'
import { compressed } from '../http/represent.ts'
import { traceOf } from '../trace.ts'

type Headers = Readonly<Record<string, string>>

const JSON_HEADERS: Headers = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}

/**
 * The answer to one POST. Its headers are gathered, and written in one go with the text: of a
 * short answer, what Koa does for each of them is most of the work.
 */
export class Answer {
  readonly #ctx: Context
  readonly #headers: Record<string, string>

  constructor(ctx: Context) {
    ctx.respond = false
    this.#ctx = ctx
    this.#headers = namesOf(ctx)
  }

  tell(headers: Headers): void {
    Object.assign(this.#headers, headers)
  }

  async send(status: number, json: string): Promise<void> {
    this.tell(JSON_HEADERS)
    const { body, headers } = await compressed(json, this.#ctx.req)
    this.tell(headers)
    this.#write(status, body)
  }

  /** Nothing is said to a notification. */
  accept(): void {
    this.#write(202, '')
  }

  /** Begins a stream of server-sent events. */
  stream(): ServerResponse {
    const { res } = this.#ctx
    this.tell({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    return res.writeHead(200, { ...this.#headers, 'X-Accel-Buffering': 'no' })
  }

  #write(status: number, body: string | Buffer): void {
    const { res } = this.#ctx
    if (res.headersSent) return void res.destroy() // a stream that is open already
    const timing = traceOf(this.#ctx).serverTiming
    if (timing !== '') this.#headers['Server-Timing'] = timing
    this.#headers['Content-Length'] = String(Buffer.byteLength(body))
    res.writeHead(status, this.#headers).end(body)
  }
}
