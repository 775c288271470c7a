import type { FaultRow } from './fault-row.ts'

/** Errors by code whose cause is the hub or a service (status 500 and above). */
export const SERVER_FAULTS = {
  internal_error: [500, 'Internal error', 'Check /v1/credits/history before you try again.', 5],
  content_unavailable: [
    502,
    'Page unavailable',
    'You were not charged. Only the owner of the site can make it deliver the page.',
  ],
  content_empty: [502, 'Page without text', 'You were not charged.'],
  content_unreadable: [502, 'Page not readable', 'You were not charged.'],
  content_type_unsupported: [
    502,
    'Unsupported content type',
    'You were not charged. HTML, PDF, JSON and text are supported.',
  ],
  content_redirected: [
    502,
    'Page redirects',
    'You were not charged. Request the target page instead, if it is sold.',
  ],
  render_failed: [502, 'The page could not be rendered', 'You were not charged. Try again.', 5],
  plugin_failed: [502, 'Service failed', 'You were not charged. Try again later.', 5],
  plugin_contract: [502, 'Invalid response of the service', 'You were not charged.'],
  upstream_error: [
    502,
    'Destination returned an error',
    'You were not charged. See upstream, if present.',
  ],
  upstream_payment_rejected: [502, 'Seller rejected the payment', 'See upstream and payment.'],
  upstream_payment_terms: [502, 'Unacceptable payment terms', 'See detail; nothing was paid.'],
  upstream_redirect: [
    502,
    'Destination redirects',
    'Call the final URL; redirects are not followed.',
  ],
  upstream_tls: [502, 'Invalid certificate of the destination', 'You were not charged.'],
  upstream_too_large: [502, 'Response too large', 'Request less data.'],
  upstream_unreachable: [
    502,
    'Destination unreachable',
    'You were not charged. Try again later.',
    10,
  ],
  chain_unavailable: [503, 'Blockchain unavailable', 'Nothing was done. Try again later.', 10],
  facilitator_unavailable: [503, 'Facilitator unavailable', 'Nothing was paid.', 2],
  price_feed_unavailable: [
    502,
    'No price from the feed',
    'Nothing was posted. Enter the price with its source yourself.',
  ],
  price_implausible: [
    502,
    'Implausible price',
    'Nothing was posted. Enter the price yourself; if it is right, correct HUB_ETH_PRICE.',
  ],
  documents_not_configured: [
    503,
    'No documents issued',
    'Nothing was issued. The operator must set HUB_LEGAL_NAME; ask for it.',
  ],
  payments_paused: [
    503,
    'Payments to sellers are paused',
    'Nothing was paid. Try again later.',
    10,
  ],
  signer_unavailable: [
    503,
    'Payment could not be signed',
    'Nothing was paid. Try again later.',
    10,
  ],
  plugin_unavailable: [503, 'Service unavailable', 'You were not charged. Try again later.', 5],
  render_unavailable: [503, 'No browser available', 'You were not charged. Try again later.', 5],
  service_suspended: [
    503,
    'Service suspended by the operator',
    'You were not charged. Use another service, or ask the operator.',
  ],
  service_unavailable: [
    503,
    'Service unavailable',
    'Check /v1/credits/history before you try again.',
    2,
  ],
  render_limit_exceeded: [
    504,
    'Page too slow or too large to render',
    'You were not charged. Only the owner of the page can make it lighter.',
  ],
  timeout: [504, 'Service timed out', 'You were not charged. Try again later.', 5],
  upstream_timeout: [504, 'Destination timed out', 'You were not charged. Try again later.', 10],
} as const satisfies Readonly<Record<string, FaultRow>>
