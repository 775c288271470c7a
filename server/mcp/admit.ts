import type { IncomingMessage } from 'node:http'
import { Fault } from '../../core/errors.ts'

/** Who may ask at all, before it is known who it is. */
export interface Admission {
  /** Addresses of the hub as callers see it. */
  readonly origins: () => readonly string[]
  /** Further origins of pages and programs that may ask, as they stand in the header. */
  readonly allowed: readonly string[]
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i
const LOOPBACK_ADDRESS = /^(?:127\.|::1$|::ffff:127\.)/

/**
 * A page of somebody else's in the browser of somebody who runs a hub must not reach it, by its
 * address or by a name that the page has bound to it (DNS rebinding). MCP demands a 403.
 * @throws Fault `origin_not_allowed`
 */
export function assertAdmitted(request: IncomingMessage, { origins, allowed }: Admission): void {
  const { origin, host } = request.headers
  if (origin !== undefined && !mayAsk(origin, [...origins(), ...allowed])) {
    throw new Fault('origin_not_allowed', 'Pages of this origin may not use the MCP endpoint.')
  }
  if (!LOOPBACK_ADDRESS.test(request.socket.localAddress ?? '')) return
  if (host === undefined || LOOPBACK.test(host.replace(/:\d+$/, ''))) return
  if (!origins().some((each) => new URL(each).host === host)) {
    throw new Fault('origin_not_allowed', `This hub is not called ${host}.`)
  }
}

const EXPOSED = [
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Server-Timing',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ')

const SENT = [
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

/** By which a browser lets a page that was admitted read the answer; nothing for who is no page. */
export const readableBy = ({ headers: { origin } }: IncomingMessage): Record<string, string> =>
  origin === undefined
    ? {}
    : { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED }

/** What a browser asks for such a page before each message: none is without a key. */
export const PREFLIGHT = {
  Allow: 'POST, OPTIONS',
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': SENT,
  'Access-Control-Max-Age': '7200',
} as const

const mayAsk = (origin: string, known: readonly string[]): boolean =>
  known.includes(origin) || (/^https?:/.test(origin) && isLoopback(origin))

const isLoopback = (url: string): boolean =>
  URL.canParse(url) && LOOPBACK.test(new URL(url).hostname)
