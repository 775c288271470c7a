import { Agent } from 'undici'
import { SHARED_READ_BUFFER } from './connector.ts'
import { type EgressOptions, sendRequest } from './egress.ts'
import { EgressError } from './errors.ts'
import type { Egress } from './http.ts'

interface BackendOptions extends Pick<EgressOptions, 'userAgent'> {
  /** Allowed origins, in the form of `URL.origin`. */
  readonly origins: readonly string[]
}

const CONNECT_MS = 5_000
const RESPONSE_MAX = 33_554_432

/**
 * Creates a client for servers listed by the operator, on any network and port, including this
 * machine. Other origins are refused and redirects are not followed. Only for addresses that the
 * operator configured; use `createEgress` for addresses from callers.
 */
export function createBackends({ origins, userAgent }: BackendOptions): Egress {
  const allowedOrigins = new Set(origins)
  const agent = new Agent({
    connect: { timeout: CONNECT_MS, rejectUnauthorized: true, onread: SHARED_READ_BUFFER },
    allowH2: false,
    maxResponseSize: RESPONSE_MAX,
  })
  const targetOf = (text: string): URL => {
    const url = URL.parse(text)
    if (url && allowedOrigins.has(url.origin)) return url
    throw new EgressError('destination_not_allowed', {
      message: 'The operator has not listed this host in HUB_PLUGIN_HOSTS.',
    })
  }
  const way = { agent, userAgent, targetOf }
  return { request: (request) => sendRequest(way, request), close: () => agent.close() }
}
