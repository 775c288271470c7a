import { type HostScope, hostScope, isAddressHost } from './host-scope.ts'

/** Description of what is unsafe about a value; undefined: nothing. */
export type Fault = string | undefined

const hostOf = (url: string): string => new URL(url).hostname
const isHttps = (url: string): boolean => url.startsWith('https:')

/** Suffixes that no public DNS resolves (RFC 6761, RFC 9476 and the like). */
const NOT_PUBLIC = /(?:^|\.)(?:localhost|local|internal|lan|intranet|test|invalid|example|onion)$/

/** Faults of an origin that people and agents open: they send keys, sessions and payments there. */
export function publicUrlFault(url: string): Fault {
  const host = hostOf(url)
  if (!isHttps(url)) return 'must start with https://, because API keys and sessions are sent to it'
  if (isAddressHost(host) || !host.includes('.') || NOT_PUBLIC.test(host)) {
    return `must name a public host, because ${host} leads others to no hub or another one`
  }
  return undefined
}

/**
 * Faults of a URL whose responses are believed or that receives secrets. Plain http is read and
 * changed by any machine on the way; on this machine there is none.
 */
export function encryptedUrlFault(url: string, allowed: readonly HostScope[] = []): Fault {
  const scope = hostScope(hostOf(url))
  if (scope === 'reserved') return `must not lead to the reserved address ${hostOf(url)}`
  if (isHttps(url) || scope === 'loopback' || allowed.includes(scope)) return undefined
  return 'must start with https://, unless it is on this machine (127.0.0.1)'
}

/** Faults of an origin whose pages may use MCP. Other schemes than http belong to applications. */
export const pageOriginFault = (origin: string): Fault =>
  origin.startsWith('http:') && hostScope(hostOf(origin)) !== 'loopback'
    ? `${origin} must start with https://, because pages sent by http can be changed on the way`
    : undefined

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'postgres:': '5432',
  'postgresql:': '5432',
  'redis:': '6379',
  'rediss:': '6379',
  'smtp:': '587',
  'smtps:': '465',
}

function endpointOf(text: string): string {
  const { hostname, port, protocol } = new URL(text)
  return `${hostname}:${port || DEFAULT_PORTS[protocol]}`
}

/** Faults of an origin that plugins may call without the rules for foreign hosts. */
export function pluginHostFault(origin: string, services: readonly (string | undefined)[]): Fault {
  const { hostname } = new URL(origin)
  const scope = hostScope(hostname)
  if (scope === 'reserved') return `${origin} is a reserved address, such as cloud metadata`
  if (services.some((url) => url !== undefined && endpointOf(url) === endpointOf(origin))) {
    return `${origin} is a service of the hub itself, which no plugin may reach`
  }
  return isHttps(origin) || scope !== 'public'
    ? undefined
    : `${origin} must start with https://, because it is on a public network`
}

/** Certificate checks of node-postgres; `require` does not check in libpq's own reading. */
const CHECKED_MODES = ['verify-full', 'verify-ca', 'require']

/** Faults of a connection to PostgreSQL. A private network does not need TLS. */
export function databaseFault(text: string): Fault {
  const { hostname, searchParams: options } = new URL(text)
  const scope = hostScope(options.get('host') ?? decodeURIComponent(hostname))
  if (scope === 'reserved') return 'must not lead to a reserved address'
  if (scope !== 'public') return undefined
  const mode = options.get('sslmode') ?? (options.get('ssl') === 'true' ? 'verify-full' : '')
  const isChecked = CHECKED_MODES.includes(mode) && !options.has('uselibpqcompat')
  return isChecked ? undefined : 'must end with ?sslmode=verify-full: its host is not private'
}

/** Faults of a connection to Redis. */
export function redisFault(url: string): Fault {
  const scope = hostScope(hostOf(url))
  if (scope === 'reserved') return 'must not lead to a reserved address'
  const isSafe = url.startsWith('rediss:') || scope !== 'public'
  return isSafe ? undefined : 'must start with rediss://: its host is not private'
}

/** Faults of the mail server: emails contain links that sign in. */
export function mailServerFault(text: string): Fault {
  const { hostname, protocol, searchParams: options } = new URL(text)
  if (hostScope(hostname) === 'loopback') return undefined
  if (options.get('tls.rejectUnauthorized') === 'false') return 'must check the certificate'
  const isEncrypted = protocol === 'smtps:' || options.get('requireTLS') === 'true'
  if (isEncrypted) return undefined
  return 'must start with smtps:// or end with ?requireTLS=true: emails contain sign-in links'
}
