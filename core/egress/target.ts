import { invalidRequest } from './errors.ts'
import type { SandboxHosts } from './sandbox.ts'

/** Maximum length of a URL, in characters. */
const URL_MAX = 2_048

const STANDARD_PORTS: readonly number[] = [80, 443]

/** Prefix of the hub's API keys, plain or percent-encoded. */
const HUB_KEY = /(?:a|%61)(?:h|%68)(?:k|%6b)(?:_|%5f)/i

export interface TargetRules {
  /** Ports allowed besides 80 and 443. */
  readonly allowedPorts?: readonly number[]
  /** True to refuse plain http; set in production. */
  readonly httpsOnly?: boolean
  readonly sandboxHosts?: SandboxHosts
}

/** Port of a URL or an undici origin. */
export const portOf = ({ protocol, port }: { protocol: string; port: string }): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** Returns true if the port is allowed. A sandbox host has the standard ports and its own. */
export function isAllowedPort(host: string, port: number, rules: TargetRules): boolean {
  if (STANDARD_PORTS.includes(port)) return true
  const sandboxPort = rules.sandboxHosts?.get(host)
  if (sandboxPort !== undefined) return port === sandboxPort
  return rules.allowedPorts?.includes(port) ?? false
}

/**
 * Parses the URL of a foreign host by WHATWG rules: octal, hexadecimal, short and full-width
 * addresses are normalized, so that the checked address is the connected one. The connector checks
 * that the host is public.
 * @throws EgressError `validation_failed` for another scheme, user information, a port that is not
 * allowed, control characters, more than 2,048 characters, or a hub key inside
 */
export function parseTarget(text: string, rules: TargetRules = {}): URL {
  if (text.length > URL_MAX) throw invalidRequest(`url: longer than ${URL_MAX} characters`)
  // WHATWG parsing silently removes tabs and line breaks; two parsers could see different URLs.
  if (/[\0-\x20\x7f]/.test(text))
    throw invalidRequest('url: contains a space or a control character')
  const url = URL.parse(text)
  if (!url) throw invalidRequest('url: not an absolute URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalidRequest('url: the scheme must be https or http')
  }
  if (rules.httpsOnly && url.protocol !== 'https:')
    throw invalidRequest('url: the scheme must be https')
  if (url.username !== '' || url.password !== '') {
    throw invalidRequest('url: must not contain a user name or password')
  }
  if (!isAllowedPort(url.hostname, portOf(url), rules)) {
    throw invalidRequest('url: the port is not allowed; 80 and 443 are')
  }
  if (HUB_KEY.test(url.href)) throw invalidRequest('url: contains a key of this hub')
  if (url.href.includes('#')) url.hash = '' // also an empty fragment, which `hash` hides
  if (url.href.length > URL_MAX) throw invalidRequest(`url: longer than ${URL_MAX} characters`)
  return url
}
