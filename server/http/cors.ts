/**
 * Request headers that pages of other sites may send. Such pages may read two kinds of responses:
 * those that are the same for everybody, and calls through the proxy, which ignores cookies, so
 * that no browser can be made to pay: the caller needs a key or signs the payment. Everything else,
 * above all what a session may do, stays with the hub's own pages. Some paying clients send headers
 * that a hub ignores: Accept-Payment (mppx) and Access-Control-Expose-Headers (@x402/fetch).
 */
const ALLOWED_HEADERS = [
  'Accept-Payment',
  'Access-Control-Expose-Headers',
  'Authorization',
  'Content-Type',
  'crawler-max-price',
  'Idempotency-Key',
  'If-None-Match',
  'Payment-Authorization',
  'PAYMENT-SIGNATURE',
  'SIGN-IN-WITH-X',
  'traceparent',
  'X-Accept-Pay-To',
  'Accept-Receipt',
  'X-API-Key',
  'X-Dry-Run',
  'X-Max-Price',
  'X-PAYMENT',
  'X-Quote-Id',
  'X-Request-Id',
].join(', ')

const PREFLIGHT_MAX_AGE_SECONDS = 86_400

/** Lets pages of any site read a response with all headers, but not send the reader's cookies. */
export const PUBLIC_CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const

/** Builds the headers of a response to OPTIONS: allowed methods, and CORS if it is public. */
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
