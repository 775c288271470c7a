import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { addAbortSignal, pipeline, Readable, Transform } from 'node:stream'
import { elapsedMs } from '../../core/clock.ts'
import { Failure } from '../../core/plugin/index.ts'
import { KEPT_BYTES_MAX } from '../../core/usage/kept-answers.ts'
import { viewOf } from '../http/bytes.ts'

/** The most that a stream may bring: as much as may come from a host outside. */
const STREAM_BYTES_MAX = 256 * 1_048_576

/** An answer that is sent as it comes. What it came to is known at its end. */
export class Flow extends Transform {
  /** What is told after the body. Undefined: it is not over. */
  trailers: Readonly<Record<string, string>> | undefined
  #failure: Error | null = null
  readonly #gone = new AbortController()

  constructor() {
    super()
    this.on('error', () => undefined) // nobody may be left who listens
    this.once('close', () => this.#gone.abort())
  }

  /** What is read as it is taken; where that fails, this does. */
  static of(source: AsyncIterable<string | Uint8Array>): Flow {
    return pipeline(Readable.from(source), new Flow(), () => undefined) // its reader is told
  }

  /** Aborted when nobody reads any more. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Ends it. What came before a failure is passed on before the failure is. */
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

/** How a stream came to its end. */
export interface Ending {
  /** Undefined: it came whole. */
  readonly failure?: { readonly reason: string; readonly cause: Error } | undefined
  /** Whether it was the caller who did not take what there was in time. */
  readonly byCaller: boolean
  /** sha256 of all of it; null where it broke off. */
  readonly hash: Buffer | null
  /** All of it, where that was asked for and is not too long. */
  readonly bytes?: Buffer | undefined
}

/**
 * Passes a stream on, to its end or to the deadline, whether its reader stays or leaves. At the
 * deadline the one who has kept the other waiting longer is to blame.
 */
export async function passOn(
  source: Readable,
  flow: Flow,
  deadline: AbortSignal,
  keeps: boolean,
): Promise<Ending> {
  const hash = createHash('sha256')
  const waited = { source: 0, caller: 0 }
  const stop = AbortSignal.any([deadline, flow.gone])
  const kept: Buffer[] = []
  let size = 0
  let mark = elapsedMs()
  const lap = (who: keyof typeof waited): void => {
    waited[who] -= mark
    waited[who] += mark = elapsedMs()
  }
  try {
    for await (const chunk of addAbortSignal(deadline, source)) {
      lap('source')
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : viewOf(chunk as Uint8Array)
      size += bytes.length
      if (size > STREAM_BYTES_MAX) throw new Error('the stream is too long')
      hash.update(bytes)
      if (keeps && size <= KEPT_BYTES_MAX) kept.push(bytes)
      else kept.length = 0
      if (!flow.destroyed && !flow.write(bytes)) await roomIn(flow, stop)
      lap('caller')
    }
  } catch (cause) {
    lap('source')
    const late = deadline.aborted
    const told = cause instanceof Failure ? cause.code : 'stream_broken'
    const broken = size > STREAM_BYTES_MAX ? 'stream_too_large' : told
    const failure = { reason: late ? 'deadline' : broken, cause: cause as Error }
    return { failure, byCaller: late && waited.caller > waited.source, hash: null }
  }
  const whole = keeps && size <= KEPT_BYTES_MAX ? Buffer.concat(kept) : undefined
  return { byCaller: false, hash: hash.digest(), bytes: whole }
}

/** Waits until it takes more, or nobody reads it, or time is up. */
const roomIn = (flow: Flow, signal: AbortSignal): Promise<unknown> =>
  once(flow, 'drain', { signal }).catch(() => undefined)
