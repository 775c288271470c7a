import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/errors.ts'

/** Origins of the hub and of further pages that may use the MCP endpoint. */
export interface OriginPolicy {
  /** Public base URLs of the hub. */
  readonly origins: () => readonly string[]
  /** Further values of the Origin header. */
  readonly allowed: readonly string[]
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i
const LOOPBACK_ADDRESS = /^(?:127\.|::1$|::ffff:127\.)/

/**
 * Refuses foreign web pages, which could reach a hub on the user's own machine through its browser,
 * by address or by a name bound to it (DNS rebinding). MCP requires a 403.
 * @throws Fault `origin_not_allowed`
 */
export function assertOriginAllowed(
  request: IncomingMessage,
  { origins, allowed }: OriginPolicy,
): void {
  const { origin, host } = request.headers
  if (origin !== undefined && !isAllowed(origin, [...origins(), ...allowed])) {
    throw new Fault('origin_not_allowed', 'Pages of this origin may not use the MCP endpoint.')
  }
  if (!LOOPBACK_ADDRESS.test(request.socket.localAddress ?? '')) return
  if (host === undefined || LOOPBACK.test(host.replace(/:\d+$/, ''))) return
  if (!origins().some((each) => new URL(each).host === host)) {
    throw new Fault('origin_not_allowed', `${host} is not a host name of this hub.`)
  }
}

const EXPOSED_HEADERS = [
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Server-Timing',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ')

const ALLOWED_HEADERS = [
  'Accept',
  'Authorization',
  'Content-Type',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'traceparent',
  'X-API-Key',
  'X-Request-Id',
].join(', ')

/** CORS headers that let an allowed page read the response; none for a request without Origin. */
export const corsHeadersFor = ({ headers: { origin } }: IncomingMessage): Record<string, string> =>
  origin === undefined
    ? {}
    : { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED_HEADERS }

/** Response headers of a preflight. Browsers send one for every message, because of its key. */
export const PREFLIGHT_HEADERS = {
  Allow: 'POST, OPTIONS',
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': ALLOWED_HEADERS,
  'Access-Control-Max-Age': '7200',
} as const

const isAllowed = (origin: string, known: readonly string[]): boolean =>
  known.includes(origin) || (/^https?:/.test(origin) && isLoopback(origin))

const isLoopback = (url: string): boolean =>
  URL.canParse(url) && LOOPBACK.test(new URL(url).hostname)
