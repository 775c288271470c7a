import { Readable } from 'node:stream'
import { type Dispatcher, errors } from 'undici'
import { codeOf } from './connector.ts'
import { Deadline } from './deadline.ts'
import { type EgressCode, EgressError, invalid } from './errors.ts'
import type { EgressRequest, EgressResponse } from './http.ts'

type Controller = Dispatcher.DispatchController

const MIB = 1_048_576
const BODY_MAX = 32 * MIB
/** For all of a stream. */
const STREAM_MS = 300_000
const REDIRECTS: readonly number[] = [300, 301, 302, 303, 305, 307, 308]

/**
 * Takes the answer to one request, as undici tells of it: whole, or as a stream where that is asked
 * for. What is taken whole costs no stream, no signal and no promise for its parts.
 */
export class Taking implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number
  readonly #streams: EgressRequest['streams']
  readonly #deadline: Deadline
  readonly #resolve: (response: EgressResponse) => void
  readonly #reject: (error: EgressError) => void
  /** Undefined: no byte of the request has left. */
  #controller: Controller | undefined
  /** Why it is not waited for any longer. */
  #late: EgressError | undefined
  #response: EgressResponse | undefined
  #chunks: Buffer[] = []
  #size = 0
  #stream: Readable | undefined

  constructor(
    { maxBytes = MIB, streams, signal }: EgressRequest,
    totalMs: number,
    resolve: (response: EgressResponse) => void,
    reject: (error: EgressError) => void,
  ) {
    this.#maxBytes = Math.min(maxBytes, BODY_MAX)
    this.#streams = streams
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = new Deadline(totalMs, signal, (reason) => this.#giveUp(reason))
  }

  onRequestStart(controller: Controller): void {
    if (this.#late) controller.abort(this.#late)
    else this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: EgressResponse['headers']) {
    if (status < 200) return
    this.#response = { status, headers, body: EMPTY }
    if (this.#streams === 'at-once' && isSuccess(status)) this.#flow(controller, this.#response)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stream) {
      if (!this.#stream.push(chunk)) controller.pause()
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size <= this.#maxBytes) return
    const response = this.#response!
    if (this.#streams && isSuccess(response.status)) this.#flow(controller, response)
    else controller.abort(new EgressError('upstream_too_large'))
  }

  onResponseEnd(): void {
    if (this.#stream) {
      this.#stream.push(null)
      return
    }
    this.#deadline.end()
    const response = { ...this.#response!, body: this.#body() }
    if (!REDIRECTS.includes(response.status)) this.#resolve(response)
    else this.#reject(new EgressError('upstream_redirect', { sent: true, response }))
  }

  onResponseError(_: Controller, error: Error): void {
    this.#fail(error)
  }

  /** What has come, and all that comes; whoever stops reading ends the connection. */
  #flow(controller: Controller, response: EgressResponse): void {
    const body = this.#body()
    const stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        this.#deadline.end()
        controller.abort(error ?? new errors.RequestAbortedError())
        done(error)
      },
    })
    stream.on('error', ignore) // its reader may come later
    if (body.length > 0) stream.push(body)
    this.#stream = stream
    this.#deadline.extend(STREAM_MS)
    this.#resolve({ ...response, body, stream })
  }

  #body(): Buffer {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  #giveUp(cause: unknown): void {
    this.#late = new EgressError('upstream_timeout', { cause })
    this.#fail(this.#late)
    this.#controller?.abort(this.#late) // else it waits for its connection, and is not sent then
  }

  #fail(cause: Error): void {
    this.#deadline.end()
    if (this.#stream) this.#stream.destroy(cause)
    else this.#reject(this.#faultOf(cause))
  }

  #faultOf(cause: Error): EgressError {
    const sent = this.#controller !== undefined
    // The connector's own faults pass as they are.
    if (cause instanceof EgressError && !sent) return cause
    const code = codeOf(cause)
    if (NEVER_SENT.has(code)) return invalid('headers: not possible in an HTTP request', cause)
    return new EgressError(faultCode(cause, code), { sent, response: this.#response, cause })
  }
}

function faultCode(cause: Error, code: string): EgressCode {
  if (cause instanceof EgressError) return cause.code
  if (TOO_LATE.has(code)) return 'upstream_timeout'
  if (TOO_LARGE.has(code)) return 'upstream_too_large'
  if (cause instanceof errors.HTTPParserError || NOT_HTTP.has(code)) return 'upstream_error'
  return 'upstream_unreachable'
}

/** What undici refuses to write. */
const NEVER_SENT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])
const TOO_LARGE = new Set(['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'UND_ERR_HEADERS_OVERFLOW'])
const NOT_HTTP = new Set(['UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])
const TOO_LATE = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const EMPTY = Buffer.alloc(0)

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const ignore = (): void => undefined
