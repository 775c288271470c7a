import type { ServerResponse } from 'node:http'
import type { Answer } from '../http/answer.ts'
import type { Id } from './message.ts'

const KEEP_ALIVE_MS = 15_000

/**
 * The answer to a request whose client wants to hear of progress: plain JSON as long as there is
 * none, from the first word of it on a stream of server-sent events.
 */
export class Progress {
  readonly #answer: Answer
  readonly #token: Id
  #stream: ServerResponse | undefined
  #alive: NodeJS.Timeout | undefined

  constructor(answer: Answer, token: Id) {
    this.#answer = answer
    this.#token = token
  }

  get isOpen(): boolean {
    return this.#stream !== undefined
  }

  tell(progress: number, total: number, message: string): void {
    const params = { progressToken: this.#token, progress, total, message }
    const told = { jsonrpc: '2.0', method: 'notifications/progress', params }
    this.#write(JSON.stringify(told))
  }

  /** The last event: a message, written out. */
  end(answer: string): void {
    this.#write(answer)
    this.close()
    this.#stream?.end()
  }

  close(): void {
    clearInterval(this.#alive)
  }

  #write(message: string): void {
    const stream = (this.#stream ??= this.#open())
    if (!stream.destroyed) stream.write(`event: message\ndata: ${message}\n\n`)
  }

  #open(): ServerResponse {
    const stream = this.#answer.events()
    this.#alive = setInterval(() => stream.write(': still at it\n\n'), KEEP_ALIVE_MS).unref()
    stream.once('close', () => this.close())
    return stream
  }
}
