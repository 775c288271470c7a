import { Agent } from 'undici'
import { type ConnectorOptions, guardedConnector } from './connector.ts'
import { EgressError, invalidRequest } from './errors.ts'
import {
  type Egress,
  type EgressRequest,
  type EgressResponse,
  METHODS,
  type Method,
} from './http.ts'
import { ResponseCollector } from './response-collector.ts'
import { parseTarget, type TargetRules } from './target.ts'

export interface EgressOptions extends ConnectorOptions, TargetRules {
  readonly userAgent: string
  /** Returns the headers that sign a request. @defaultValue none */
  readonly sign?: ((url: URL) => Readonly<Record<string, string>>) | undefined
}

/** Maximum size of a streamed response, in bytes. */
const STREAM_MAX = 268_435_456
/** PAYMENT-REQUIRED headers with embedded schemas far exceed Node's default of 16 KiB. */
const HEADERS_MAX = 128 * 1_024
const DEFAULTS = { headersMs: 20_000, bodyMs: 10_000, totalMs: 30_000 } as const

const SIGNATURE_HEADERS = ['signature', 'signature-input', 'signature-agent'] as const

/** Creates the guarded client for foreign hosts. Create one per process and close it at exit. */
export function createEgress(options: EgressOptions): Egress {
  const agent = new Agent({
    connect: guardedConnector(options),
    allowH2: false,
    maxResponseSize: STREAM_MAX,
    maxHeaderSize: HEADERS_MAX,
  })
  const { userAgent, sign } = options
  const channel = { agent, userAgent, sign, targetOf: (url: string) => parseTarget(url, options) }
  return {
    request: (request) => sendRequest(channel, request),
    close: () => agent.close(),
  }
}

/** Connection pool, and the rules of its destinations. */
interface Channel extends Pick<EgressOptions, 'userAgent' | 'sign'> {
  readonly agent: Agent
  /** Parses and checks a URL. @throws EgressError if the destination is not allowed */
  readonly targetOf: (url: string) => URL
}

/** Sends one request. @throws EgressError */
export const sendRequest = (channel: Channel, request: EgressRequest): Promise<EgressResponse> =>
  new Promise((resolve, reject) => {
    const target = channel.targetOf(request.url)
    const method = methodOf(request.method)
    const { headersMs, bodyMs, totalMs } = { ...DEFAULTS, ...request.timeouts }
    if (request.signal?.aborted) throw new EgressError('upstream_timeout')
    const options = {
      origin: target.origin,
      path: `${target.pathname}${target.search}`,
      method,
      headers: outgoingHeaders(channel, target, request.headers),
      body: request.body ?? null,
      headersTimeout: headersMs,
      bodyTimeout: bodyMs,
    }
    channel.agent.dispatch(options, new ResponseCollector(request, totalMs, resolve, reject))
  })

/** Returns the method in upper case. @throws EgressError `validation_failed` if unknown */
export function methodOf(text: string): Method {
  const method = METHODS.find((known) => known === text.toUpperCase())
  if (!method) throw invalidRequest(`method: must be one of ${METHODS.join(', ')}`)
  return method
}

function outgoingHeaders(
  { userAgent, sign }: Channel,
  target: URL,
  headers: Readonly<Record<string, string>> = {},
) {
  const out: Record<string, string> = { 'user-agent': userAgent }
  for (const name of Object.keys(headers)) out[name.toLowerCase()] = headers[name]!
  // A caller that signs the request itself is not signed for.
  const isSigned = SIGNATURE_HEADERS.some((name) => out[name] !== undefined)
  if (!isSigned) Object.assign(out, sign?.(target))
  // Without decompression, there are no decompression bombs.
  out['accept-encoding'] = 'identity'
  return out
}
