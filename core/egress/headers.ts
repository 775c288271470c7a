import { invalid } from './errors.ts'

export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>

/** Belong to one connection (RFC 9110 §7.6.1), or to how a message is framed. */
const OF_THE_CONNECTION = [
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

/** Say who asks, or who pays: the hub's to write, not the caller's. */
const OF_THE_HUB = [
  'cookie',
  'forwarded',
  'payment-required',
  'payment-response',
  'payment-signature',
  'set-cookie',
  'via',
  'x-forwarded',
  'x-payment',
  'x-payment-response',
  'x-real-ip',
]

const DENIED = new Set([...OF_THE_CONNECTION, ...OF_THE_HUB])
const DENIED_PREFIXES = ['x-forwarded-', 'proxy-', 'sec-']

/** What an agent sends along with a native call that is nobody's business but the provider's. */
const RELAYED = new Set([
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

/** What an upstream's answer may tell the caller about its body and itself. */
const ANSWERED = new Set([
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

/** The most headers that are sent, and the most bytes in them. */
const COUNT_MAX = 64
const BYTES_MAX = 16_384

const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,128}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Part of a key of this hub. Case matters in a key, but not to whoever would steal it. */
const OWN_KEY = /ahk_/i

/**
 * The headers that a caller asks to have sent to a foreign host, names in lower case.
 * `Authorization` is the caller's own affair with that host, unless it holds a key of this hub.
 * `Accept-Encoding` is left out: the hub asks for bodies as they are.
 * @throws EgressError `validation_failed` for a name that the caller may not set, a name or value
 * that HTTP cannot carry (line breaks), a name given twice, a hub key, or too much of it all
 */
export function forwardableHeaders(headers: Readonly<Record<string, unknown>>) {
  const out: Record<string, string> = {}
  let bytes = 0
  for (const [given, value] of Object.entries(headers)) {
    if (!NAME.test(given)) throw invalid('headers: contains a name that is not one')
    const name = given.toLowerCase()
    if (typeof value !== 'string') throw invalid(`headers.${name}: must be a string`)
    if (!VALUE.test(value)) throw invalid(`headers.${name}: contains a control character`)
    if (isDenied(name)) throw invalid(`headers.${name}: may not be set`)
    if (OWN_KEY.test(value) || OWN_KEY.test(name)) {
      throw invalid(`headers.${name}: contains a key of this hub`)
    }
    if (Object.hasOwn(out, name)) throw invalid(`headers.${name}: given twice`)
    bytes += name.length + value.length
    if (name !== 'accept-encoding') out[name] = value
  }
  if (Object.keys(headers).length > COUNT_MAX || bytes > BYTES_MAX) {
    throw invalid(`headers: more than ${COUNT_MAX}, or than ${BYTES_MAX} bytes together`)
  }
  return out
}

const isDenied = (name: string): boolean =>
  DENIED.has(name) || DENIED_PREFIXES.some((prefix) => name.startsWith(prefix))

/**
 * What of an agent's own request goes on to the provider of a native service: a short list, so
 * that Authorization, Cookie, addresses and payments stay here (security case A018).
 */
export const relayableHeaders = (
  headers: HeaderValues,
  also: readonly string[] = [],
): Record<string, string> =>
  pick(headers, (name) => RELAYED.has(name) || (also.includes(name) && isRelayable(name)))

/** Whether a provider may ask for a header of callers: not for keys, payments or addresses. */
export const isRelayable = (name: string): boolean =>
  NAME.test(name) && name === name.toLowerCase() && !isDenied(name) && !TO_THE_HUB.test(name)

/** What callers tell the hub itself. */
const TO_THE_HUB = new RegExp(
  '^(?:authorization|idempotency-key|crawler-.*|' +
    'x-(?:api-key|max-price|quote-id|dry-run|request-id))$',
)

/** What of a foreign host's answer goes back to the caller. */
export const answerableHeaders = (headers: HeaderValues): Record<string, string> =>
  pick(headers, (name) => ANSWERED.has(name))

function pick(headers: HeaderValues, isAllowed: (name: string) => boolean) {
  const hopByHop = named(headers['connection'])
  const out: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const values = isAllowed(name) ? headers[name] : undefined
    if (values === undefined || hopByHop.includes(name)) continue
    const value = typeof values === 'string' ? values : values.join(', ')
    if (VALUE.test(value) && !OWN_KEY.test(value)) out[name] = value
  }
  return out
}

/** `Connection` names further headers that end with the connection (RFC 9110 §7.6.1). */
function named(connection: string | string[] | undefined): readonly string[] {
  if (connection === undefined) return []
  const list = [connection].flat().join(',')
  return list.split(',').map((name) => name.trim().toLowerCase())
}
