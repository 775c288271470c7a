import { finished, type Readable } from 'node:stream'

/**
 * Reads a stream to its end or, once stopped, to the end of what it had buffered then. Unlike the
 * iterator of the stream, it does not wait for a source that ignores its destruction.
 */
export class StoppableStream implements AsyncIterable<string | Uint8Array> {
  readonly #source: Readable
  readonly #signal: AbortSignal | undefined
  /** Rest that is to be read, in the measure of `readableLength`. */
  #left = Number.POSITIVE_INFINITY
  #wake: () => void = () => undefined

  /** @param signal ends the reading with its reason */
  constructor(source: Readable, signal?: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  stop(): void {
    if (this.#left !== Number.POSITIVE_INFINITY) return
    this.#left = this.#source.readableLength
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string | Uint8Array, void, undefined> {
    const source = this.#source
    let end: { readonly error?: Error | null | undefined } | undefined
    const wake = () => this.#wake()
    source.on('readable', wake)
    this.#signal?.addEventListener('abort', wake)
    const cleanUp = finished(source, { writable: false }, (error) => {
      end = { error }
      this.#wake()
    })
    try {
      while (this.#left > 0) {
        this.#signal?.throwIfAborted()
        const chunk: string | Uint8Array | null = source.destroyed ? null : source.read()
        if (chunk !== null) yield this.#take(chunk)
        else if (end?.error) throw end.error
        else if (end) return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      source.off('readable', wake)
      this.#signal?.removeEventListener('abort', wake)
      cleanUp()
      source.on('error', ignore) // of its destruction, which may come later
      source.destroy()
    }
  }

  /** Counts a chunk, and cuts off what exceeds the rest. */
  #take(chunk: string | Uint8Array): string | Uint8Array {
    const isCounted = this.#source.readableObjectMode
    const taken = isCounted ? chunk : chunk.slice(0, Math.min(chunk.length, this.#left))
    this.#left -= isCounted ? 1 : taken.length
    return taken
  }
}

const ignore = (): void => undefined
