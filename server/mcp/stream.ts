import type { Context } from 'koa'
import type { Id } from './message.ts'

const KEEP_ALIVE_MS = 15_000

/**
 * The answer to a request whose client wants to hear of progress: plain JSON as long as there is
 * none, from the first word of it on a stream of server-sent events.
 */
export class Progress {
  readonly #ctx: Context
  readonly #token: Id
  #alive: NodeJS.Timeout | undefined

  constructor(ctx: Context, token: Id) {
    this.#ctx = ctx
    this.#token = token
  }

  get isOpen(): boolean {
    return this.#alive !== undefined
  }

  tell(progress: number, total: number, message: string): void {
    if (!this.isOpen) this.#open()
    const params = { progressToken: this.#token, progress, total, message }
    const told = { jsonrpc: '2.0', method: 'notifications/progress', params }
    this.#write(JSON.stringify(told))
  }

  /** The last event: a message, written out. */
  end(answer: string): void {
    this.#write(answer)
    this.close()
    this.#ctx.res.end()
  }

  close(): void {
    clearInterval(this.#alive)
  }

  #open(): void {
    const { res } = this.#ctx
    this.#ctx.respond = false
    res.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
    this.#alive = setInterval(() => res.write(': still at it\n\n'), KEEP_ALIVE_MS).unref()
    res.once('close', () => this.close())
  }

  #write(message: string): void {
    const { res } = this.#ctx
    if (!res.destroyed) res.write(`event: message\ndata: ${message}\n\n`)
  }
}
