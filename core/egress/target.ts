import { invalid } from './errors.ts'
import type { SandboxHosts } from './sandbox.ts'

/** Longest URL that is sent, in characters. */
const URL_MAX = 2_048

const STANDARD_PORTS: readonly number[] = [80, 443]

/** One of our own API keys, in plain letters or percent-encoded (security case A017). */
const OWN_KEY = /(?:a|%61)(?:h|%68)(?:k|%6b)(?:_|%5f)/i

export interface TargetRules {
  /** Ports allowed besides 80 and 443. */
  readonly allowedPorts?: readonly number[]
  /** Refuses plain http. For production. */
  readonly httpsOnly?: boolean
  readonly sandboxHosts?: SandboxHosts
}

/** The port that a URL, or an undici origin, means. */
export const portOf = ({ protocol, port }: { protocol: string; port: string }): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** Whether a host may be asked on a port. A sandbox host has its own port and the standard ones. */
export function isAllowedPort(host: string, port: number, rules: TargetRules): boolean {
  if (STANDARD_PORTS.includes(port)) return true
  const sandboxPort = rules.sandboxHosts?.get(host)
  if (sandboxPort !== undefined) return port === sandboxPort
  return rules.allowedPorts?.includes(port) ?? false
}

/**
 * Parses the URL of a foreign host, once, as WHATWG does: octal, hexadecimal, short and full-width
 * addresses come out dotted, so that what is checked later is what is connected. Whether the host
 * is public is decided by the connector, not here.
 * @throws EgressError `validation_failed` for another scheme, user information, a port that is not
 * allowed, control characters, more than 2,048 characters, or a hub key inside
 */
export function parseTarget(text: string, rules: TargetRules = {}): URL {
  if (text.length > URL_MAX) throw invalid(`url: longer than ${URL_MAX} characters`)
  // WHATWG parsing removes tabs and line breaks silently; two readers could see two URLs.
  if (/[\0-\x20\x7f]/.test(text)) throw invalid('url: contains a space or a control character')
  const url = URL.parse(text)
  if (!url) throw invalid('url: not an absolute URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalid('url: the scheme must be https or http')
  }
  if (rules.httpsOnly && url.protocol !== 'https:') throw invalid('url: the scheme must be https')
  if (url.username !== '' || url.password !== '') {
    throw invalid('url: must not contain a user name or password')
  }
  if (!isAllowedPort(url.hostname, portOf(url), rules)) {
    throw invalid('url: the port is not allowed; 80 and 443 are')
  }
  if (OWN_KEY.test(url.href)) throw invalid('url: contains a key of this hub')
  url.hash = ''
  if (url.href.length > URL_MAX) throw invalid(`url: longer than ${URL_MAX} characters`)
  return url
}
