import type { Readable, Writable } from 'node:stream'
import type { ConnectionTransport } from 'puppeteer-core'

/** Maximum size of a message: a longer one was caused by a page to exhaust the hub's memory. */
const MESSAGE_BYTES = 16 * 1_048_576

/**
 * Transport to a browser over two pipes, with a NUL after each message. No port is open, so no
 * other process can control the browser, and the browser exits when the hub closes the pipe.
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
    output.on('data', (chunk: Buffer) => this.#receive(chunk)).once('close', () => this.onclose?.())
  }

  send(message: string): void {
    this.#input.write(`${message}\0`)
  }

  close(): void {
    this.#input.destroy()
    this.#output.destroy()
  }

  #receive(chunk: Buffer): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(0, start)
      if (end < 0) break
      this.#buffer(chunk.subarray(start, end))
      const message = Buffer.concat(this.#pending).toString()
      this.#pending = []
      this.#bytes = 0
      this.onmessage?.(message)
      start = end + 1
    }
    this.#buffer(chunk.subarray(start))
  }

  #buffer(part: Buffer): void {
    this.#pending.push(part)
    this.#bytes += part.length
    if (this.#bytes <= MESSAGE_BYTES) return
    this.#pending = []
    this.close()
  }
}
