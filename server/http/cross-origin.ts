import type { Context } from 'koa'

/**
 * Who may read an answer of the hub on a page of another site. Two kinds of answers only: what is
 * alike for everybody, and calls through the proxy, which know no cookies, so that nobody's browser
 * can be made to pay: whoever calls must have the key, or sign the payment. All else, and above all
 * what a session may do, stays with the hub's own pages.
 */
const EXPOSED = [
  'Deprecation',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Server-Timing',
  'Sunset',
  'WWW-Authenticate',
  'X-Balance-Microdollars',
  'X-Call-Id',
  'X-Charged-Microdollars',
  'X-Payment-Source',
  'X-Receipt',
  'X-Refund-Reason',
  'X-Request-Id',
  'X-Reserved-Microdollars',
].join(', ')

const SENT = [
  'Authorization',
  'Content-Type',
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

const DAY_SECONDS = 86_400

/** Lets pages of any site read this answer, without the cookies of whoever looks at them. */
export function openToAll(ctx: Context): void {
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Access-Control-Expose-Headers', EXPOSED)
  ctx.set('Cross-Origin-Resource-Policy', 'cross-origin')
}

/** Answers OPTIONS: what a resource can do, and to a browser, what another site may ask of it. */
export function tellMethods(ctx: Context, methods: readonly string[], isOpen: boolean): void {
  const allow = [...new Set([...methods, 'OPTIONS'])].join(', ')
  ctx.status = 204
  ctx.set('Allow', allow)
  if (!isOpen) return
  openToAll(ctx)
  ctx.vary('Access-Control-Request-Method')
  ctx.set('Access-Control-Allow-Methods', allow)
  ctx.set('Access-Control-Allow-Headers', SENT)
  ctx.set('Access-Control-Max-Age', String(DAY_SECONDS))
}
