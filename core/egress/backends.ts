import { Agent } from 'undici'
import { EgressError } from './errors.ts'
import { type Egress, type EgressOptions, exchange } from './http.ts'

interface BackendOptions extends Pick<EgressOptions, 'userAgent'> {
  /** Scheme, host and port, as `URL.origin` has them. */
  readonly origins: readonly string[]
}

const CONNECT_MS = 5_000
const RESPONSE_MAX = 33_554_432

/**
 * The way to servers that the operator named one by one, wherever they are: on this machine, in the
 * house's network, on any port. No name or redirect leads anywhere else. For addresses that the
 * operator configured; a caller's belong to `createEgress`.
 */
export function createBackends({ origins, userAgent }: BackendOptions): Egress {
  const named = new Set(origins)
  const agent = new Agent({
    connect: { timeout: CONNECT_MS, rejectUnauthorized: true },
    allowH2: false,
    maxResponseSize: RESPONSE_MAX,
  })
  const targetOf = (text: string): URL => {
    const url = URL.parse(text)
    if (url && named.has(url.origin)) return url
    throw new EgressError('destination_not_allowed', {
      message: 'The operator has not named this host in HUB_PLUGIN_HOSTS.',
    })
  }
  const way = { agent, userAgent, targetOf }
  return { request: (request) => exchange(way, request), close: () => agent.close() }
}
