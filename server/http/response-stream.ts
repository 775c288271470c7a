import { pipeline, Readable, Transform } from 'node:stream'

/** Response body that is sent while it is produced, with trailers after its end. */
export class ResponseStream extends Transform {
  /** Sent after the body; undefined while the stream is open. */
  trailers: Readonly<Record<string, string>> | undefined
  #failure: Error | null = null
  readonly #closeController = new AbortController()

  constructor() {
    super()
    this.on('error', () => undefined) // no reader may be left that listens
    this.once('close', () => this.#closeController.abort())
  }

  /** Reads the source on demand; fails if the source fails. */
  static of(source: AsyncIterable<string | Uint8Array>): ResponseStream {
    return pipeline(Readable.from(source), new ResponseStream(), () => undefined)
  }

  /** Aborts when the stream closes, because nobody reads it any more. */
  get closeSignal(): AbortSignal {
    return this.#closeController.signal
  }

  /** Ends the stream. Chunks written before a failure are delivered before it. */
  finish(failure: Error | null): void {
    this.#failure = failure
    if (!this.destroyed) this.end()
  }

  override _transform(chunk: Buffer, _: string, next: (error: null, chunk: Buffer) => void): void {
    next(null, chunk)
  }

  override _flush(next: (error: Error | null) => void): void {
    next(this.#failure)
  }
}

/** Destroys a body that nobody will read, because a stream holds a connection. */
export function discardBody(body: unknown): void {
  if (body instanceof Readable) body.on('error', () => undefined).destroy()
}
