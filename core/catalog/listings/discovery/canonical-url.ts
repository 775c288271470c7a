import { isIP } from 'node:net'
import { isPublicAddress } from '../../../egress/address.ts'
import { isAllowedPort, parseTarget, portOf, type TargetRules } from '../../../egress/target.ts'
import type { Reason } from '../reasons.ts'

/** Names reserved by RFC 2606, 6761, 6762 and 8375, and `.internal`. */
const RESERVED_NAME = new RegExp(
  '(?:^|\\.)(?:localhost|local|test|example|invalid|onion|internal|home\\.arpa|' +
    'example\\.(?:com|net|org))$',
)

const UNRESERVED_CHARACTER = /%(?:2[dD]|2[eE]|5[fF]|7[eE]|3\d|[46][1-9a-fA-F]|[57][\daA])/g

/**
 * Returns the canonical form of a URL: host in lower case without a trailing dot, no fragment, no
 * default port, no empty query, no percent-encoding of letters, digits and `-._~` (RFC 3986 §6.2).
 * The order of the query is kept, because it may matter, and so are templates (`/weather/:city`).
 */
export function canonicalUrl(text: unknown, rules: TargetRules): { url: string } | Reason {
  if (typeof text !== 'string' || text.trim() === '') return 'no_url'
  const isClean = text.length <= 2_048 && !/\p{Cc}|%[01][\da-f]|%7f/iu.test(text.trim())
  const url = isClean ? URL.parse(text.trim()) : null
  if (!url || url.hostname === '') return 'malformed_url'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'malformed_url'
  url.hostname = url.hostname.replace(/\.$/, '')
  if (url.username !== '' || url.password !== '') return 'credentials_in_url'
  const isSandboxed = rules.sandboxHosts?.has(url.hostname) ?? false
  if (!isSandboxed && !isPublicName(url.hostname)) return 'local_host'
  if (url.protocol === 'http:' && rules.httpsOnly) return 'not_https'
  if (!isAllowedPort(url.hostname, portOf(url), rules)) return 'port'
  url.hash = ''
  if (url.search === '') url.search = ''
  const href = url.href.replace(UNRESERVED_CHARACTER, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  )
  try {
    return { url: parseTarget(href, rules).href }
  } catch {
    return /(?:a|%61)(?:h|%68)(?:k|%6b)(?:_|%5f)/i.test(href)
      ? 'credentials_in_url'
      : 'malformed_url'
  }
}

function isPublicName(hostname: string): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address)) return isPublicAddress(address)
  return hostname.includes('.') && !RESERVED_NAME.test(hostname)
}

/** Parses an origin: `https://api.acme.com`, or a bare host, which means https. */
export function canonicalOrigin(text: unknown, rules: TargetRules): { origin: string } | Reason {
  const isBare = typeof text === 'string' && !text.includes('://')
  const scheme = isBare && rules.sandboxHosts?.has(text) ? 'http' : 'https'
  const full = isBare ? `${scheme}://${text}` : text
  const result = canonicalUrl(full, rules)
  return typeof result === 'string' ? result : { origin: new URL(result.url).origin }
}
