import type { ServerResponse } from 'node:http'
import type { ResponseWriter } from '../http/response-writer.ts'
import type { Id } from './message.ts'

const KEEP_ALIVE_MS = 15_000

/** Response with a progress token: plain JSON, or server-sent events from the first report on. */
export class ProgressStream {
  readonly #writer: ResponseWriter
  readonly #token: Id
  #stream: ServerResponse | undefined
  #keepAlive: NodeJS.Timeout | undefined

  constructor(writer: ResponseWriter, token: Id) {
    this.#writer = writer
    this.#token = token
  }

  get isOpen(): boolean {
    return this.#stream !== undefined
  }

  report(progress: number, total: number, message: string): void {
    const params = { progressToken: this.#token, progress, total, message }
    const notification = { jsonrpc: '2.0', method: 'notifications/progress', params }
    this.#write(JSON.stringify(notification))
  }

  /** Sends the response, a serialized message, as the last event. */
  end(message: string): void {
    this.#write(message)
    this.close()
    this.#stream?.end()
  }

  close(): void {
    clearInterval(this.#keepAlive)
  }

  #write(message: string): void {
    const stream = (this.#stream ??= this.#open())
    if (!stream.destroyed) stream.write(`event: message\ndata: ${message}\n\n`)
  }

  #open(): ServerResponse {
    const stream = this.#writer.startEvents()
    this.#keepAlive = setInterval(() => stream.write(': keep-alive\n\n'), KEEP_ALIVE_MS).unref()
    stream.once('close', () => this.close())
    return stream
  }
}
