import { Resolver as DnsResolver } from 'node:dns/promises'
import { codeOf } from './errors.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Returns all addresses of a name. Rejects with the codes of node:dns if there are none. */
export type Resolver = (hostname: string) => Promise<readonly ResolvedAddress[]>

/** Error codes of a missing name, as opposed to a temporary failure. */
const NAME_NOT_FOUND_CODES = ['ENOTFOUND', 'ENODATA']

export const isNameNotFound = (error: unknown): boolean =>
  NAME_NOT_FOUND_CODES.includes(codeOf(error))

/** First timeout of a query; it doubles with each try. */
const QUERY_TIMEOUT_MS = 1_500
const TRIES = 2

/**
 * Creates a resolver that asks name servers itself. `dns.lookup` would hold one of the four threads
 * of libuv for each name whose servers never respond, so that a few such names stop file access,
 * compression and all other lookups. The hosts file and search domains are not used.
 * @param servers default: those of the operating system
 */
export function dnsResolver(servers?: readonly string[]): Resolver {
  const dns = new DnsResolver({ timeout: QUERY_TIMEOUT_MS, tries: TRIES })
  if (servers) dns.setServers(servers)
  const resolve = async (hostname: string, family: 4 | 6): Promise<ResolvedAddress[]> => {
    const addresses = await (family === 4 ? dns.resolve4(hostname) : dns.resolve6(hostname))
    return addresses.map((address) => ({ address, family }))
  }
  return async (hostname) => {
    const results = await Promise.allSettled([resolve(hostname, 4), resolve(hostname, 6)])
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    if (found.length > 0) return found
    const errors = results.flatMap((result): unknown[] =>
      result.status === 'rejected' ? [result.reason] : [],
    )
    throw errors.find((error) => !isNameNotFound(error)) ?? errors[0]
  }
}
