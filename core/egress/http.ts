import { Readable } from 'node:stream'
import { Agent, errors, request as undiciRequest } from 'undici'
import { type ConnectorOptions, codeOf, guardedConnector } from './connector.ts'
import { EgressError, invalid } from './errors.ts'
import { parseTarget, type TargetRules } from './target.ts'

/** The methods that are sent. TRACE, CONNECT and unknown ones are refused (security A021). */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** Milliseconds; each has a default. */
export interface EgressTimeouts {
  /** From the end of the request to the end of the response headers. Default 20,000. */
  readonly headersMs?: number
  /** Between two pieces of the body. Default 10,000. */
  readonly bodyMs?: number
  /** For everything, from the first lookup to the last byte. Default 30,000. */
  readonly totalMs?: number
}

export interface EgressRequest {
  readonly url: string
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** Largest body that is taken. Default 1 MiB, at most 32 MiB. */
  readonly maxBytes?: number | undefined
  readonly timeouts?: EgressTimeouts | undefined
  /**
   * What is larger than `maxBytes` comes as a stream, instead of being refused; `at-once`: what
   * succeeds comes as one from its first byte on.
   */
  readonly streams?: boolean | 'at-once' | undefined
}

export interface EgressResponse {
  readonly status: number
  /** By lower-case name; a name that came more than once has a list. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** As sent: never inflated. */
  readonly body: Buffer
  /** All of a large body, this time with what `body` has of it. Read it, or destroy it. */
  readonly stream?: Readable
}

/** What may reach foreign hosts. Everything that leaves the hub leaves through one of these. */
export interface Egress {
  /**
   * Sends one request, once: no redirect is followed, nothing is tried again.
   * @throws EgressError
   */
  request(request: EgressRequest): Promise<EgressResponse>
  /** Ends idle connections and waits for those at work. */
  close(): Promise<void>
}

export interface EgressOptions extends ConnectorOptions, TargetRules {
  readonly userAgent: string
}

const MIB = 1_048_576
const BODY_MAX = 32 * MIB
/** Of a stream, which is not kept in memory. */
const STREAM_MAX = 256 * MIB
/** For all of a stream. */
const STREAM_MS = 300_000
/** PAYMENT-REQUIRED headers with schemas inside are far larger than Node's default of 16 KiB. */
const HEADERS_MAX = 128 * 1_024
const DEFAULTS = { headersMs: 20_000, bodyMs: 10_000, totalMs: 30_000 } as const
const REDIRECTS: readonly number[] = [300, 301, 302, 303, 305, 307, 308]

/** Opens the guarded way out. Make one per process and close it at the end. */
export function createEgress(options: EgressOptions): Egress {
  const agent = new Agent({
    connect: guardedConnector(options),
    allowH2: false,
    maxResponseSize: STREAM_MAX,
    maxHeaderSize: HEADERS_MAX,
  })
  return {
    request: (request) => exchange(agent, parseTarget(request.url, options), request, options),
    close: () => agent.close(),
  }
}

/**
 * One request to a target that whoever asks has checked.
 * @throws EgressError
 */
export async function exchange(
  agent: Agent,
  url: URL,
  request: EgressRequest,
  options: Pick<EgressOptions, 'userAgent'>,
): Promise<EgressResponse> {
  const method = methodOf(request.method)
  const { headersMs, bodyMs, totalMs } = { ...DEFAULTS, ...request.timeouts }
  const deadline = new Deadline(totalMs, request.signal)
  const { signal } = deadline
  let response: EgressResponse | undefined
  try {
    const answer = await undiciRequest(url, {
      dispatcher: agent,
      method,
      headers: outgoing(options.userAgent, request.headers),
      body: request.body ?? null,
      headersTimeout: headersMs,
      bodyTimeout: bodyMs,
      signal,
    })
    // Before anything else: an abort without a listener would end the process.
    answer.body.on('error', ignore)
    response = { status: answer.statusCode, headers: answer.headers, body: Buffer.alloc(0) }
    const maxBytes = Math.min(request.maxBytes ?? MIB, BODY_MAX)
    const atOnce = request.streams === 'at-once' && isSuccess(response)
    const reading = request.streams ? read : readWhole
    const { body, rest } = atOnce ? begun(answer.body) : await reading(answer.body, maxBytes)
    if (rest && !(request.streams && isSuccess(response))) {
      await rest.return?.()
      throw new EgressError('upstream_too_large')
    }
    if (rest) deadline.extend(STREAM_MS)
    response = {
      ...response,
      body,
      ...(rest && { stream: streamOf(body, rest, answer.body, deadline) }),
    }
  } catch (error) {
    throw exchangeFault(error, signal, response)
  } finally {
    if (!response?.stream) deadline.end()
  }
  if (!REDIRECTS.includes(response.status)) return response
  throw new EgressError('upstream_redirect', { sent: true, response })
}

/**
 * The method in capitals.
 * @throws EgressError `validation_failed` when it is none of `METHODS`
 */
export function methodOf(text: string): Method {
  const method = METHODS.find((known) => known === text.toUpperCase())
  if (!method) throw invalid(`method: must be one of ${METHODS.join(', ')}`)
  return method
}

function outgoing(userAgent: string, headers: Readonly<Record<string, string>> = {}) {
  const out: Record<string, string> = { 'user-agent': userAgent }
  for (const [name, value] of Object.entries(headers)) out[name.toLowerCase()] = value
  // A body that is never inflated cannot be a bomb.
  out['accept-encoding'] = 'identity'
  return out
}

const isSuccess = ({ status }: EgressResponse): boolean => status >= 200 && status < 300

/** Nothing of a body yet. */
const begun = (stream: Readable): Awaited<ReturnType<typeof read>> => ({
  body: Buffer.alloc(0),
  rest: stream.iterator({ destroyOnReturn: true }),
})

/** The body, or more than `maxBytes` of it and the rest. */
async function read(
  stream: Readable,
  maxBytes: number,
): Promise<{ readonly body: Buffer; readonly rest?: AsyncIterableIterator<Buffer> }> {
  const chunks: Buffer[] = []
  let size = 0
  const pieces: AsyncIterableIterator<Buffer> = stream.iterator({ destroyOnReturn: true })
  for (;;) {
    const piece = await pieces.next()
    if (piece.done) return { body: Buffer.concat(chunks) }
    size += piece.value.length
    chunks.push(piece.value)
    if (size > maxBytes) return { body: Buffer.concat(chunks), rest: pieces }
  }
}

/** All of the body, by its events: an iterator over a stream costs more than the rest of it. */
function readWhole(stream: Readable, maxBytes: number): ReturnType<typeof read> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof read>>>()
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size <= maxBytes) return
    reject(new EgressError('upstream_too_large'))
    stream.destroy()
  })
  stream.once('end', () =>
    resolve({ body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }),
  )
  stream.once('error', reject)
  return promise
}

/** What was read and what is to come; whoever stops reading ends the connection. */
function streamOf(
  start: Buffer,
  rest: AsyncIterableIterator<Buffer>,
  source: Readable,
  deadline: Deadline,
): Readable {
  const pieces = async function* (): AsyncGenerator<Buffer> {
    if (start.length > 0) yield start
    let size = start.length
    for await (const piece of rest) {
      size += piece.length
      if (size > STREAM_MAX) throw new EgressError('upstream_too_large', { sent: true })
      yield piece
    }
  }
  // Also of a stream that nobody began to read: its generator would never come to an end.
  return Readable.from(pieces(), { objectMode: false }).once('close', () => {
    source.destroy()
    deadline.end()
  })
}

/** A time-out that may be put off, and comes at once when whoever asks gives up. */
class Deadline {
  readonly #controller = new AbortController()
  readonly #asker: AbortSignal | undefined
  readonly #giveUp = (): void => this.#controller.abort(this.#asker?.reason)
  #timer: NodeJS.Timeout

  constructor(ms: number, asker: AbortSignal | undefined) {
    this.#timer = this.#start(ms)
    this.#asker = asker
    if (asker?.aborted) this.#giveUp()
    else asker?.addEventListener('abort', this.#giveUp, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  extend(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = this.#start(ms)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#asker?.removeEventListener('abort', this.#giveUp)
  }

  #start(ms: number): NodeJS.Timeout {
    return setTimeout(
      () => this.#controller.abort(new DOMException('', 'TimeoutError')),
      ms,
    ).unref()
  }
}

function exchangeFault(cause: unknown, signal: AbortSignal, response?: EgressResponse) {
  // The connector's own faults say that nothing was sent; they pass as they are.
  if (cause instanceof EgressError && !response) return cause
  const code = codeOf(cause)
  if (NEVER_SENT.has(code)) return invalid('headers: not possible in an HTTP request', cause)
  return new EgressError(faultCode(cause, code, signal), { sent: true, response, cause })
}

/** What undici refuses to write. */
const NEVER_SENT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])
const TOO_LARGE = new Set(['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'UND_ERR_HEADERS_OVERFLOW'])
const NOT_HTTP = new Set(['UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])
const TOO_LATE = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

function faultCode(cause: unknown, code: string, signal: AbortSignal) {
  if (cause instanceof EgressError) return cause.code
  if (signal.aborted || TOO_LATE.has(code)) return 'upstream_timeout'
  if (TOO_LARGE.has(code)) return 'upstream_too_large'
  if (cause instanceof errors.HTTPParserError || NOT_HTTP.has(code)) return 'upstream_error'
  return 'upstream_unreachable'
}

const ignore = (): void => undefined
