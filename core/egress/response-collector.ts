import { Readable } from 'node:stream'
import { type Dispatcher, errors } from 'undici'
import { type Collection, CollectionBudget } from './collection-budget.ts'
import { codeOf, type EgressCode, EgressError, invalidRequest } from './errors.ts'
import type { EgressRequest, EgressResponse } from './http.ts'

type Controller = Dispatcher.DispatchController

const MIB = 1_048_576
const BODY_MAX = 32 * MIB
/** Maximum total time of a streamed response. */
const STREAM_MS = 300_000
const REDIRECTS: readonly number[] = [300, 301, 302, 303, 305, 307, 308]

/** Memory of one process for responses that are being collected. */
const COLLECTIONS = new CollectionBudget(256 * MIB)

/** Collects a response as a whole body up to a limit, or as a stream if requested. */
export class ResponseCollector implements Dispatcher.DispatchHandler, Collection {
  readonly #maxBytes: number
  readonly #streams: EgressRequest['streams']
  readonly #deadline: Deadline
  readonly #collections: CollectionBudget
  readonly #resolve: (response: EgressResponse) => void
  readonly #reject: (error: EgressError) => void
  /** Undefined until the request is sent. */
  #controller: Controller | undefined
  /** Reason why the caller stopped waiting. */
  #abandoned: EgressError | undefined
  #response: EgressResponse | undefined
  #chunks: Buffer[] = []
  #size = 0
  #stream: Readable | undefined
  entry: Collection['entry']

  constructor(
    { maxBytes = MIB, streams, signal }: EgressRequest,
    totalMs: number,
    resolve: (response: EgressResponse) => void,
    reject: (error: EgressError) => void,
    collections = COLLECTIONS,
  ) {
    this.#collections = collections
    this.#maxBytes = Math.min(maxBytes, BODY_MAX)
    this.#streams = streams
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = new Deadline(totalMs, signal, (reason) => this.#abandon(reason))
  }

  get size(): number {
    return this.#size
  }

  abandon(): void {
    this.#collections.remove(this)
    this.#controller?.abort(new EgressError('upstream_too_large'))
  }

  onRequestStart(controller: Controller): void {
    if (this.#abandoned) controller.abort(this.#abandoned)
    else this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: EgressResponse['headers']) {
    if (status < 200) return
    this.#response = { status, headers, body: EMPTY }
    if (this.#streams === 'at-once' && isSuccess(status))
      this.#startStream(controller, this.#response)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stream) {
      if (!this.#stream.push(chunk)) controller.pause()
      return
    }
    if (controller.aborted) return
    this.#chunks.push(chunk)
    this.#size += chunk.length
    this.#collections.add(this, chunk.length)
    if (this.#size <= this.#maxBytes) return
    const response = this.#response!
    if (this.#streams && isSuccess(response.status)) this.#startStream(controller, response)
    else controller.abort(new EgressError('upstream_too_large'))
  }

  onResponseEnd(): void {
    if (this.#stream) {
      this.#stream.push(null)
      return
    }
    this.#deadline.end()
    const response = { ...this.#response!, body: this.#takeBody() }
    if (!REDIRECTS.includes(response.status)) this.#resolve(response)
    else this.#reject(new EgressError('upstream_redirect', { sent: true, response }))
  }

  onResponseError(_: Controller, error: Error): void {
    this.#fail(error)
  }

  /** Resolves with a stream of all received and further bytes. Destroying it aborts the request. */
  #startStream(controller: Controller, response: EgressResponse): void {
    const body = this.#takeBody()
    const stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        this.#deadline.end()
        controller.abort(error ?? new errors.RequestAbortedError())
        done(error)
      },
    })
    stream.on('error', ignore) // a reader may attach later
    if (body.length > 0) stream.push(body)
    this.#stream = stream
    this.#deadline.extend(STREAM_MS)
    this.#resolve({ ...response, body, stream })
  }

  #takeBody(): Buffer {
    const chunks = this.#chunks
    this.#chunks = []
    this.#collections.remove(this)
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  #abandon(cause: unknown): void {
    this.#abandoned = new EgressError('upstream_timeout', { cause })
    this.#fail(this.#abandoned)
    this.#controller?.abort(this.#abandoned) // not sent yet: onRequestStart aborts it
  }

  #fail(cause: Error): void {
    this.#deadline.end()
    this.#collections.remove(this)
    this.#chunks = []
    if (this.#stream) this.#stream.destroy(cause)
    else this.#reject(this.#faultOf(cause))
  }

  #faultOf(cause: Error): EgressError {
    const sent = this.#controller !== undefined
    // Errors of the connector are final.
    if (cause instanceof EgressError && !sent) return cause
    const code = codeOf(cause)
    if (NEVER_SENT.has(code)) return invalidRequest('headers: not valid in an HTTP request', cause)
    return new EgressError(faultCode(cause, code), { sent, response: this.#response, cause })
  }
}

function faultCode(cause: Error, code: string): EgressCode {
  if (cause instanceof EgressError) return cause.code
  if (TIMED_OUT.has(code)) return 'upstream_timeout'
  if (TOO_LARGE.has(code)) return 'upstream_too_large'
  if (cause instanceof errors.HTTPParserError || NOT_HTTP.has(code)) return 'upstream_error'
  return 'upstream_unreachable'
}

/** Requests that undici refuses to write. */
const NEVER_SENT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])
const TOO_LARGE = new Set(['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'UND_ERR_HEADERS_OVERFLOW'])
const NOT_HTTP = new Set(['UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])
const TIMED_OUT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const EMPTY = Buffer.alloc(0)

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const ignore = (): void => undefined

/** Timeout that can be extended, and ends at once when the caller's signal aborts. */
class Deadline {
  readonly #signal: AbortSignal | undefined
  readonly #onExpire: (reason: unknown) => void
  readonly #onAbort = (): void => this.#onExpire(this.#signal?.reason)
  #timer: NodeJS.Timeout

  constructor(ms: number, signal: AbortSignal | undefined, onExpire: (reason: unknown) => void) {
    this.#signal = signal
    this.#onExpire = onExpire
    this.#timer = this.#start(ms)
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  extend(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = this.#start(ms)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }

  #start(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#onExpire(new DOMException('', 'TimeoutError')), ms).unref()
  }
}
