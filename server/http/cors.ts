/**
 * Who may read an answer of the hub on a page of another site. Two kinds of answers only: what is
 * alike for everybody, and calls through the proxy, which know no cookies, so that nobody's browser
 * can be made to pay: whoever calls must have the key, or sign the payment. All else, and above all
 * what a session may do, stays with the hub's own pages.
 */
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'crawler-max-price',
  'Idempotency-Key',
  'If-None-Match',
  'PAYMENT-SIGNATURE',
  'traceparent',
  'X-API-Key',
  'X-Dry-Run',
  'X-Max-Price',
  'X-Quote-Id',
  'X-Request-Id',
].join(', ')

const PREFLIGHT_MAX_AGE_SECONDS = 86_400

/**
 * By which pages of any site may read an answer with all of its headers, also those that a provider
 * adds, without the cookies of whoever looks at them.
 */
export const PUBLIC_CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const

/** What OPTIONS is told: what a resource can do, and a browser, what another site may ask of it. */
export function optionsHeaders(
  methods: readonly string[],
  isPublic: boolean,
): Record<string, string> {
  const allow = [...new Set([...methods, 'OPTIONS'])].join(', ')
  if (!isPublic) return { Allow: allow }
  return {
    ...PUBLIC_CORS_HEADERS,
    Allow: allow,
    Vary: 'Access-Control-Request-Method',
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_SECONDS),
  }
}
