import { Agent, request } from 'undici'
import { withDeadline } from '../../clock.ts'
import { FacilitatorUnavailable } from './facilitator.ts'

export type FacilitatorOperation = 'verify' | 'settle' | 'supported'

/** Creates the headers that authenticate one request. */
export type AuthHeaders = (
  operation: FacilitatorOperation,
  request: { readonly method: 'GET' | 'POST'; readonly url: string },
) => Promise<Readonly<Record<string, string>>>

export interface HttpFacilitatorOptions {
  /** Base URL, to which `/verify`, `/settle` and `/supported` are appended. */
  readonly url: string
  /** Limit per request, from connecting to the last byte of the response. @defaultValue 30000 */
  readonly timeoutMs?: number
  /** Largest response that is read. @defaultValue 262144 */
  readonly maxBytes?: number
  readonly authHeaders?: AuthHeaders
}

/** Nothing was sent, so the service cannot have seen the payment. */
export class FacilitatorUnreachable extends FacilitatorUnavailable {}

/**
 * Sends one request and returns its response, whatever its status.
 * @throws FacilitatorUnavailable if no complete response arrives
 * @throws FacilitatorUnreachable if nothing was sent
 */
export type Exchange = (
  operation: FacilitatorOperation,
  body?: string,
) => Promise<{ readonly status: number; readonly text: string }>

const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

/** Errors raised before a byte of the request is sent. */
const CONNECT_ERRORS =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** @throws TypeError for a URL that is neither https nor loopback */
export function openExchange(options: HttpFacilitatorOptions): Exchange {
  const { url, timeoutMs = 30_000, maxBytes = 262_144, authHeaders = async () => ({}) } = options
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !LOOPBACK.includes(hostname)) {
    throw new TypeError(`the URL of the facilitator must start with https: ${url}`)
  }
  const base = url.replace(/(?<!\/)\/+$/, '')
  const agent = new Agent({ maxResponseSize: maxBytes, allowH2: false })
  return async (operation, body) => {
    const target = {
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      url: `${base}/${operation}`,
    }
    const authenticating = withDeadline(timeoutMs, authHeaders(operation, target))
    const headers = await authenticating.catch((cause: unknown) => {
      throw new FacilitatorUnreachable('Failed to authenticate with the facilitator.', { cause })
    })
    const { statusCode: status, ...response } = await request(target.url, {
      dispatcher: agent,
      method: target.method,
      // Compression is declined, so a response cannot be a decompression bomb.
      headers: { ...JSON_HEADERS, 'accept-encoding': 'identity', ...headers },
      body: body ?? null,
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(throwUnavailable)
    response.body.on('error', () => {}) // an abort without a listener would end the process
    if (status >= 300 && status < 400) {
      response.body.destroy()
      throw new FacilitatorUnavailable(
        `The facilitator redirects "${operation}": use its final URL.`,
      )
    }
    return { status, text: await response.body.text().catch(throwUnavailable) }
  }
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

function throwUnavailable(cause: unknown): never {
  const code = codeOf(cause)
  const Unavailable = CONNECT_ERRORS.test(code) ? FacilitatorUnreachable : FacilitatorUnavailable
  throw new Unavailable(`The facilitator did not respond (${code}).`, { cause })
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : String(name)
}
