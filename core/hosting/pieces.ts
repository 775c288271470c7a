import { Readable } from 'node:stream'
import { asBuffer } from '../bytes.ts'
import { StoppableStream } from '../runtime/stoppable-stream.ts'
import { PIECE_MAX } from './limits.ts'

/** Splits the chunks of a stream to at most `PIECE_MAX` bytes. */
async function* splitIntoPieces(stream: StoppableStream): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : asBuffer(chunk)
    for (let at = 0; at < bytes.length; at += PIECE_MAX) yield bytes.subarray(at, at + PIECE_MAX)
  }
}

/** Piece of a stream, or its end. */
export type Piece<Broken> = { readonly base64: string } | { readonly broken: Broken | undefined }

interface OpenStream {
  readonly stream: Readable
  isPulled: boolean
}

/** Streams received from the other side of a runtime, piece by piece, each on request. */
export class ReceivedStreams {
  readonly #open = new Map<number, OpenStream>()

  /**
   * @param pull requests the next piece
   * @param drop called if the reader goes before the end; `isPulled` if a piece is due
   */
  add(id: number, pull: () => void, drop: (isPulled: boolean) => void): Readable {
    const stream = new Readable({
      read: () => {
        entry.isPulled = true
        pull()
      },
      destroy: (error, done) => {
        if (this.#open.delete(id)) drop(entry.isPulled)
        done(error)
      },
    })
    const entry: OpenStream = { stream, isPulled: false }
    this.#open.set(id, entry)
    return stream
  }

  has(id: number): boolean {
    return this.#open.has(id)
  }

  /** Returns false for a piece that nobody requested. */
  receive(id: number, piece: Piece<Error>): boolean {
    const entry = this.#open.get(id)
    if (!entry) return true // its reader has gone
    if (!entry.isPulled) return false
    entry.isPulled = false
    if ('base64' in piece) {
      entry.stream.push(Buffer.from(piece.base64, 'base64'))
      return true
    }
    this.#open.delete(id)
    if (piece.broken) entry.stream.destroy(piece.broken)
    else entry.stream.push(null)
    return true
  }

  /** Ends all streams with an error, because the other side is gone. */
  fail(error: Error): void {
    const streams = [...this.#open.values()]
    this.#open.clear()
    for (const { stream } of streams) stream.destroy(error)
  }
}

interface SentStream {
  readonly stream: Readable
  readonly chunks: StoppableStream
  readonly pieces: AsyncIterator<Buffer>
  readonly onEnd: () => void
  isRead: boolean
}

/** Streams sent to the other side of a runtime: it requests each piece. */
export class SentStreams {
  readonly #open = new Map<number, SentStream>()

  /** @param onEnd called before the end is returned */
  add(id: number, stream: Readable, onEnd: () => void = () => undefined): void {
    const chunks = new StoppableStream(stream)
    this.#open.set(id, { stream, chunks, pieces: splitIntoPieces(chunks), isRead: false, onEnd })
  }

  /** Ends a stream with what it has buffered. */
  stop(id: number): void {
    this.#open.get(id)?.chunks.stop()
  }

  has(id: number): boolean {
    return this.#open.has(id)
  }

  /** Returns the next piece; undefined while another one is being read, or if there is none. */
  async next(id: number): Promise<Piece<unknown> | undefined> {
    const entry = this.#open.get(id)
    if (!entry || entry.isRead) return undefined
    entry.isRead = true
    try {
      const { done, value } = await entry.pieces.next()
      if (!done) return { base64: value.toString('base64') }
      this.#open.delete(id)
      entry.onEnd()
      return { broken: undefined }
    } catch (error) {
      this.#open.delete(id)
      return { broken: error }
    } finally {
      entry.isRead = false
    }
  }

  /** Ends a stream whose reader has gone. */
  drop(id: number): void {
    const entry = this.#open.get(id)
    this.#open.delete(id)
    entry?.stream.destroy()
  }

  /** Ends all streams, because the other side is gone. */
  dropAll(): void {
    for (const id of this.#open.keys()) this.drop(id)
  }
}
