/** Names of headers that a handler may not set: they are the hub's own, or belong to the hop. */
const OWN = new RegExp(
  `^(?:${[
    'x-(?:request-id|call-id|receipt|charged-.*|reserved-.*|balance-.*|payment-.*|refund-.*)',
    'x-ratelimit.*|payment-.*|ratelimit.*|access-control-.*|etag|set-cookie|date|server',
    'content-security-policy.*|x-content-type-options|x-frame-options|strict-transport-security',
    'cache-control|idempotency-replayed|crawler-.*',
    // A browser keeps these for the whole site: a provider must not be told who visits it.
    'clear-site-data|alt-svc|service-worker-allowed|refresh|nel|report-to|reporting-endpoints',
    'accept-ch|critical-ch|set-login|secure-session-.*|use-as-dictionary',
    'connection|keep-alive|transfer-encoding|content-length|trailer|upgrade',
  ].join('|')})$`,
  'i',
)

/** Whether callers are never sent a header of this name as a provider wrote it. */
export const isOwnHeader = (name: string): boolean => OWN.test(name)
