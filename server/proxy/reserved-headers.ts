/** Headers of the hub, and hop-by-hop headers. */
const RESERVED = new RegExp(
  `^(?:${[
    'x-(?:request-id|call-id|receipt|charged-.*|reserved-.*|balance-.*|payment-.*|refund-.*)',
    'x-ratelimit.*|payment-.*|ratelimit.*|access-control-.*|set-cookie|date|server',
    'content-security-policy.*|x-content-type-options|x-frame-options|strict-transport-security',
    'x-usage|x-agent|x-agent-problem|cache-control|idempotency-replayed|crawler-.*',
    // Only the hub asks callers for credentials and payments: clients pay whom a challenge names.
    'www-authenticate|proxy-authenticate|authentication-info',
    // Browsers apply these to the whole site, where they would report its visitors to a provider.
    'clear-site-data|alt-svc|service-worker-allowed|refresh|nel|report-to|reporting-endpoints',
    'accept-ch|critical-ch|set-login|secure-session-.*|use-as-dictionary',
    'connection|keep-alive|transfer-encoding|content-length|trailer|upgrade',
  ].join('|')})$`,
  'i',
)

/** Returns true for a header that a handler may not set. */
export const isReservedHeader = (name: string): boolean => RESERVED.test(name)
