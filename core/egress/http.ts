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
}

export interface EgressResponse {
  readonly status: number
  /** By lower-case name; a name that came more than once has a list. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** As sent: never inflated. */
  readonly body: Buffer
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
/** PAYMENT-REQUIRED headers with schemas inside are far larger than Node's default of 16 KiB. */
const HEADERS_MAX = 128 * 1_024
const DEFAULTS = { headersMs: 20_000, bodyMs: 10_000, totalMs: 30_000 } as const
const REDIRECTS: readonly number[] = [300, 301, 302, 303, 305, 307, 308]

/** Opens the guarded way out. Make one per process and close it at the end. */
export function createEgress(options: EgressOptions): Egress {
  const agent = new Agent({
    connect: guardedConnector(options),
    allowH2: false,
    maxResponseSize: BODY_MAX,
    maxHeaderSize: HEADERS_MAX,
  })
  return {
    request: (request) => exchange(agent, request, options),
    close: () => agent.close(),
  }
}

async function exchange(
  agent: Agent,
  request: EgressRequest,
  options: EgressOptions,
): Promise<EgressResponse> {
  const url = parseTarget(request.url, options)
  const method = methodOf(request.method)
  const { headersMs, bodyMs, totalMs } = { ...DEFAULTS, ...request.timeouts }
  const deadline = AbortSignal.timeout(totalMs)
  const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
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
    const body = await read(answer.body, Math.min(request.maxBytes ?? MIB, BODY_MAX))
    response = { ...response, body }
  } catch (error) {
    throw exchangeFault(error, signal, response)
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

async function read(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new EgressError('upstream_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
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
