import type { Readable, Writable } from 'node:stream'
import type { ConnectionTransport } from 'puppeteer-core'

/**
 * The longest message that is taken from a browser. What is asked for is asked in slices far below;
 * whatever is longer was made by a page, to fill the hub's memory.
 */
const MESSAGE_BYTES = 16 * 1_048_576

/**
 * Speaks with a browser by two pipes, a NUL after each message. No port is open, so that nobody
 * else on the machine can command the browser, and it ends when the hub does: its pipe is closed.
 */
export class PipeTransport implements ConnectionTransport {
  onmessage?: (message: string) => void
  onclose?: () => void
  readonly #input: Writable
  readonly #output: Readable
  #pending: Buffer[] = []
  #bytes = 0

  constructor({ input, output }: { readonly input: Writable; readonly output: Readable }) {
    this.#input = input
    this.#output = output
    output.on('data', (chunk: Buffer) => this.#take(chunk)).once('close', () => this.onclose?.())
  }

  send(message: string): void {
    this.#input.write(`${message}\0`)
  }

  close(): void {
    this.#input.destroy()
    this.#output.destroy()
  }

  #take(chunk: Buffer): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(0, start)
      if (end < 0) break
      this.#keep(chunk.subarray(start, end))
      const message = Buffer.concat(this.#pending).toString()
      this.#pending = []
      this.#bytes = 0
      this.onmessage?.(message)
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  #keep(part: Buffer): void {
    this.#pending.push(part)
    this.#bytes += part.length
    if (this.#bytes <= MESSAGE_BYTES) return
    this.#pending = []
    this.close()
  }
}
