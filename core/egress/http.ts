import type { Readable } from 'node:stream'
import { Agent } from 'undici'
import { type ConnectorOptions, guardedConnector } from './connector.ts'
import { EgressError, invalid } from './errors.ts'
import { Taking } from './response-collector.ts'
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

/** Of a stream, which is not kept in memory. */
const STREAM_MAX = 268_435_456
/** PAYMENT-REQUIRED headers with schemas inside are far larger than Node's default of 16 KiB. */
const HEADERS_MAX = 128 * 1_024
const DEFAULTS = { headersMs: 20_000, bodyMs: 10_000, totalMs: 30_000 } as const

/** Opens the guarded way out. Make one per process and close it at the end. */
export function createEgress(options: EgressOptions): Egress {
  const agent = new Agent({
    connect: guardedConnector(options),
    allowH2: false,
    maxResponseSize: STREAM_MAX,
    maxHeaderSize: HEADERS_MAX,
  })
  const { userAgent } = options
  const way = { agent, userAgent, targetOf: (url: string) => parseTarget(url, options) }
  return {
    request: (request) => exchange(way, request),
    close: () => agent.close(),
  }
}

/** A way out, and what belongs to it. */
interface Way extends Pick<EgressOptions, 'userAgent'> {
  readonly agent: Agent
  /** What is asked, if it may be. @throws EgressError */
  readonly targetOf: (url: string) => URL
}

/**
 * One request.
 * @throws EgressError
 */
export const exchange = (way: Way, request: EgressRequest): Promise<EgressResponse> =>
  new Promise((resolve, reject) => {
    const { origin, pathname, search } = way.targetOf(request.url)
    const method = methodOf(request.method)
    const { headersMs, bodyMs, totalMs } = { ...DEFAULTS, ...request.timeouts }
    if (request.signal?.aborted) throw new EgressError('upstream_timeout')
    const asked = {
      origin,
      path: `${pathname}${search}`,
      method,
      headers: outgoing(way.userAgent, request.headers),
      body: request.body ?? null,
      headersTimeout: headersMs,
      bodyTimeout: bodyMs,
    }
    way.agent.dispatch(asked, new Taking(request, totalMs, resolve, reject))
  })

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
  for (const name of Object.keys(headers)) out[name.toLowerCase()] = headers[name]!
  // A body that is never inflated cannot be a bomb.
  out['accept-encoding'] = 'identity'
  return out
}
