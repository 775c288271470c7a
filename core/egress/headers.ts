import { invalidRequest } from './errors.ts'

export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>

/** Headers of one connection (RFC 9110 §7.6.1) or of message framing. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Headers about identity and payment, which only the hub may set. */
const HUB_HEADERS = [
  'cookie',
  'forwarded',
  'payment-authorization',
  'payment-receipt',
  'payment-required',
  'payment-response',
  'payment-signature',
  'set-cookie',
  'sign-in-with-x',
  'via',
  'x-forwarded',
  'x-payment',
  'x-payment-response',
  'x-real-ip',
]

/** Headers in which a proxy before the hub tells it the address or identity of a caller. */
const EDGE_HEADERS = [
  'cf-access-authenticated-user-email',
  'cf-access-jwt-assertion',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'client-ip',
  'cloudfront-viewer-address',
  'fastly-client-ip',
  'fly-client-ip',
  'true-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-goog-iap-jwt-assertion',
  'x-nf-client-connection-ip',
  'x-original-forwarded-for',
  'x-vercel-forwarded-for',
]

const DENIED = new Set([...CONNECTION_HEADERS, ...HUB_HEADERS, ...EDGE_HEADERS])
const DENIED_PREFIXES = [
  'proxy-',
  'sec-',
  'x-amzn-oidc-',
  'x-forwarded-',
  'x-goog-authenticated-user-',
]

/** Request headers of a native call that are passed to the provider. */
const RELAYED_HEADERS = new Set([
  'accept',
  'accept-language',
  'content-language',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
  'traceparent',
  'tracestate',
  'user-agent',
])

/** Response headers of an upstream that are passed to the caller. */
const RETURNED_HEADERS = new Set([
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
  'link',
  'location',
  'payment-response',
  'retry-after',
  'x-payment-response',
])

/** Maximum number and total size of forwarded headers. */
const COUNT_MAX = 64
const BYTES_MAX = 16_384

const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,128}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Prefix of the hub's API keys. Case-insensitive, so that a changed case does not leak a key. */
const HUB_KEY = /ahk_/i

/**
 * Validates headers that a caller wants sent to a foreign host, and returns them with lower-case
 * names. `Authorization` is allowed unless it contains a key of this hub. `Accept-Encoding` is
 * dropped: the hub requests uncompressed bodies.
 * @throws EgressError `validation_failed` for a reserved or repeated name, a name or value that is
 * invalid in HTTP (line breaks), a hub key, or too many or too large headers
 */
export function forwardableHeaders(headers: Readonly<Record<string, unknown>>) {
  const out: Record<string, string> = {}
  let bytes = 0
  for (const [given, value] of Object.entries(headers)) {
    if (!NAME.test(given)) throw invalidRequest('headers: contains an invalid name')
    const name = given.toLowerCase()
    if (typeof value !== 'string') throw invalidRequest(`headers.${name}: must be a string`)
    if (!VALUE.test(value)) throw invalidRequest(`headers.${name}: contains a control character`)
    if (isDenied(name)) throw invalidRequest(`headers.${name}: may not be set`)
    if (HUB_KEY.test(value) || HUB_KEY.test(name)) {
      throw invalidRequest(`headers.${name}: contains a key of this hub`)
    }
    if (Object.hasOwn(out, name)) throw invalidRequest(`headers.${name}: given twice`)
    bytes += name.length + value.length
    if (name !== 'accept-encoding') out[name] = value
  }
  if (Object.keys(headers).length > COUNT_MAX || bytes > BYTES_MAX) {
    throw invalidRequest(`headers: more than ${COUNT_MAX} headers or ${BYTES_MAX} bytes in total`)
  }
  return out
}

const isDenied = (name: string): boolean =>
  DENIED.has(name) || DENIED_PREFIXES.some((prefix) => name.startsWith(prefix))

/** Selects by allow-list the headers that a provider gets, so that secrets stay with the hub. */
export const relayableHeaders = (
  headers: HeaderValues,
  also: readonly string[] = [],
): Record<string, string> =>
  pickHeaders(
    headers,
    (name) => RELAYED_HEADERS.has(name) || (also.includes(name) && isRelayable(name)),
  )

/** Returns true if a provider may request this header of callers: no keys, payments, addresses. */
export const isRelayable = (name: string): boolean =>
  NAME.test(name) &&
  name === name.toLowerCase() &&
  !isDenied(name) &&
  !HUB_REQUEST_HEADER.test(name)

/** Request headers addressed to the hub itself. */
const HUB_REQUEST_HEADER = new RegExp(
  '^(?:authorization|idempotency-key|crawler-.*|' +
    'x-(?:api-key|max-price|quote-id|dry-run|request-id))$',
)

/** Selects the response headers of a foreign host that are passed to the caller. */
export const returnableHeaders = (headers: HeaderValues): Record<string, string> =>
  pickHeaders(headers, (name) => RETURNED_HEADERS.has(name))

function pickHeaders(headers: HeaderValues, isAllowed: (name: string) => boolean) {
  const hopByHop = connectionHeaders(headers['connection'])
  const out: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const values = isAllowed(name) ? headers[name] : undefined
    if (values === undefined || hopByHop.includes(name)) continue
    const value = typeof values === 'string' ? values : values.join(', ')
    if (VALUE.test(value) && !HUB_KEY.test(value)) out[name] = value
  }
  return out
}

/** Further hop-by-hop headers named by `Connection` (RFC 9110 §7.6.1). */
function connectionHeaders(connection: string | string[] | undefined): readonly string[] {
  if (connection === undefined) return []
  const list = [connection].flat().join(',')
  return list.split(',').map((name) => name.trim().toLowerCase())
}
