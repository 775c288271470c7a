/**
 * Every way in which a request can fail: status, title, what to do about it, and whether the same
 * request may succeed later. The one place; OpenAPI and the documents follow from it.
 */
export const FAULTS = {
  payment_pending: [202, 'Payment pending', 'Do not pay again: the outcome will be known soon.'],
  malformed_request: [400, 'Malformed request', 'Send HTTP/1.1 as RFC 9112 has it.'],
  malformed_json: [400, 'Malformed JSON', 'Send a body that is valid JSON.'],
  malformed_path: [
    400,
    'Malformed path',
    'Send a path without dot segments or control characters.',
  ],
  duplicate_header: [400, 'Duplicate header', 'Send the header once.'],
  json_too_deep: [400, 'JSON too deep', 'Nest the body at most 64 levels deep.'],
  api_keys_only: [400, 'API keys alone', 'Register for a key: GET /v1/register/challenge.'],
  link_unknown: [400, 'Unknown link', 'Ask for a new mail and use the whole link.'],
  nonce_unknown: [400, 'Unknown nonce', 'Get a new challenge and sign its message.'],
  invalid_api_key: [401, 'Invalid API key', 'Send Authorization: Bearer ahk_… with a valid key.'],
  revoked_api_key: [401, 'Revoked API key', 'Register again, or use another key.'],
  session_required: [401, 'Not signed in', 'Sign in: POST /v1/account/sign-in with your address.'],
  metrics_token_required: [401, 'Token required', 'Send Authorization: Bearer HUB_METRICS_TOKEN.'],
  invalid_signature: [401, 'Invalid signature', 'Sign the exact message of the challenge.'],
  payment_required: [402, 'Payment required', 'Pay this request via x402, or buy credits.'],
  insufficient_credits: [402, 'Insufficient credits', 'Buy credits, or pay this request via x402.'],
  payment_invalid: [402, 'Payment invalid', 'Sign a new payment for the terms of this offer.'],
  payment_replayed: [402, 'Payment already used', 'Sign a new payment: each one pays once.'],
  price_exceeds_max: [402, 'Price exceeds your maximum', 'Raise X-Max-Price, or do not call.'],
  admin_only: [
    403,
    'Administrators only',
    'Use a key that no other key made, or sign in, as an administrator: see /v1/admin/roles.',
  ],
  finance_only: [
    403,
    'For finance alone',
    'Use a key that no other key made, or sign in, with the role: an administrator grants it.',
  ],
  second_person_required: [
    403,
    'A second person is needed',
    'Let somebody else confirm what you proposed.',
  ],
  root_key_required: [403, 'A root is needed', 'Use a key that no other key made, or sign in.'],
  origin_not_allowed: [403, 'Not from this site', 'Ask from a page of the hub itself.'],
  loopback_only: [403, 'For this machine alone', 'Set HUB_METRICS_TOKEN, and send it.'],
  provider_key: [
    403,
    'The key of a provider',
    'It manages what is sold, and calls nothing: use a key of an agent.',
  ],
  frozen_key: [403, 'Frozen key', 'Ask whoever made it, or the operator; nothing is lost.'],
  key_limit_reached: [403, 'Limit of the key reached', 'Use another key; see scope.'],
  ownership_required: [
    403,
    'Ownership required',
    'Prove that the host is yours: POST /v1/listings/ownership tells how.',
  ],
  domain_not_registered: [
    403,
    'Not a page of this service',
    'Ask for a page of the very host that its owner registered.',
  ],
  page_denied: [403, 'The owner does not sell this page', 'Ask for another page.'],
  robots_disallowed: [
    403,
    'Robots are kept away from this page',
    'You were not charged. Ask its owner.',
  ],
  service_not_allowed: [403, 'Service not allowed', 'This key may call the services listed.'],
  destination_not_allowed: [403, 'Destination not allowed', 'Call a public address.'],
  not_found: [404, 'Not found', 'Check the path; /openapi.json lists every route.'],
  service_not_found: [404, 'Service not found', 'GET /v1/services lists what there is.'],
  quote_not_found: [404, 'No such quote', 'Get one: POST /v1/quotes with this key.'],
  page_not_for_sale: [
    404,
    'The page has no price',
    'Ask for a page that a rule of its owner names.',
  ],
  domain_not_found: [404, 'No such domain', 'GET /v1/domains lists those of yours.'],
  listing_not_found: [404, 'Listing not found', 'GET /v1/external lists what there is.'],
  method_not_allowed: [405, 'Method not allowed', 'Use a method of the Allow header.'],
  not_acceptable: [406, 'Not acceptable', 'Accept application/json.'],
  request_timeout: [408, 'Request too slow', 'Send the whole request within 30 seconds.'],
  caller_gone: [408, 'Nobody waits for the answer', 'Nothing was done or charged. Send it again.'],
  payment_in_progress: [
    409,
    'Payment in progress',
    'Send the same request again: it gets the answer.',
    true,
  ],
  idempotency_in_progress: [
    409,
    'The first request is under way',
    'Send the same request again: it gets the answer of the first.',
    true,
  ],
  domain_not_proven: [
    409,
    'Not proven',
    'Show the token in one of the ways of proof.ways, then ask again.',
  ],
  slug_taken: [409, 'Slug taken', 'Choose another slug.'],
  service_incomplete: [409, 'Not ready to be sold', 'See missing[]: what it still needs.'],
  service_state: [409, 'Not in this state', 'See state, and what may follow it in detail.'],
  owner_not_possible: [409, 'Cannot be its owner', 'See detail; nothing was changed.'],
  service_changed: [
    409,
    'Changed since you looked',
    'Look at it again, and decide with its revision of now.',
  ],
  too_many_services: [409, 'Too many services', 'Retire some: an account has 50 at most.'],
  too_many_domains: [409, 'Too many domains', 'Delete some: an account has 200 at most.'],
  not_booked: [409, 'Not booked', 'See detail; nothing was changed.'],
  not_closable: [409, 'Not closed', 'See detail; nothing was changed.'],
  not_resolvable: [409, 'Not resolved', 'See detail; nothing was changed.'],
  last_administrator: [409, 'The last administrator', 'Make somebody else an administrator first.'],
  export_not_ready: [409, 'Not written yet', 'Ask again: state tells when it is done.', true],
  nonce_used: [409, 'Nonce already used', 'Get a new challenge and sign its message.'],
  export_dropped: [410, 'No longer kept', 'Start it again: it will have the same bytes.'],
  answer_expired: [410, 'Answer no longer kept', 'It was paid and answered; see transaction.'],
  listing_removed: [410, 'Listing removed', 'Its owner does not want it to be listed.'],
  nonce_expired: [410, 'Nonce expired', 'Get a new challenge and sign it in time.'],
  quote_expired: [410, 'Quote expired', 'Get a new quote: each counts for five minutes.'],
  link_expired: [410, 'Link expired', 'Ask for a new mail; its link works for 15 minutes.'],
  link_used: [410, 'Link already used', 'Ask for a new mail: each link signs in once.'],
  body_too_large: [413, 'Body too large', 'Send a smaller body.'],
  text_too_large: [413, 'Text too large', 'Send at most limit_bytes of UTF-8.'],
  unsupported_media_type: [415, 'Unsupported media type', 'Send Content-Type: application/json.'],
  unsupported_content_encoding: [415, 'Unsupported encoding', 'Send the body uncompressed.'],
  validation_failed: [422, 'Validation failed', 'See issues[].path and issues[].message.'],
  idempotency_key_reused: [
    422,
    'Name used for another request',
    'Take a new one, or repeat the first request unchanged.',
  ],
  quote_mismatch: [422, 'Quote for another request', 'Repeat exactly what was quoted.'],
  not_quotable: [422, 'No price to hold', 'The seller sets it: use ?dry_run, and X-Max-Price.'],
  refused: [422, 'Refused by the service', 'See reason and detail.'],
  openapi_unreadable: [
    422,
    'Not an OpenAPI document',
    'Send OpenAPI 3 or Swagger 2, JSON or YAML.',
  ],
  schema_not_allowed: [422, 'Schema not allowed', 'See issues[]: where it is, and why.'],
  listing_refused: [422, 'Not listed', 'See refused[].lines; nothing was listed.'],
  not_payable: [422, 'Not payable', 'The URL asks for no payment: call it directly.'],
  outflow_cap_reached: [
    429,
    'Daily limit of payments reached',
    'Nothing was paid. It ends at 0:00 UTC.',
  ],
  rescan_too_soon: [429, 'Probed just now', 'Wait for the seconds given in Retry-After.', true],
  test_limit_reached: [429, 'Too many test calls', 'Wait a second; a day has 200.', true],
  proof_too_soon: [429, 'Looked just now', 'Wait for the seconds given in Retry-After.', true],
  registration_rate_limited: [
    429,
    'Too many registrations from here',
    'Wait for the seconds given in Retry-After.',
    true,
  ],
  rate_limited: [429, 'Rate limited', 'Wait for the seconds given in Retry-After.', true],
  headers_too_large: [431, 'Headers too large', 'Send at most 32 KiB of headers.'],
  internal_error: [500, 'Internal error', 'See /v1/credits/history before you try again.', true],
  content_unavailable: [
    502,
    'The site did not give the page',
    'You were not charged. See upstream.',
  ],
  content_empty: [502, 'The page has no text', 'You were not charged.'],
  content_unreadable: [502, 'The page cannot be read', 'You were not charged.'],
  content_type_unsupported: [502, 'Not a page', 'You were not charged. HTML, PDF and text are.'],
  content_redirected: [
    502,
    'The page leads elsewhere',
    'You were not charged. Ask for the page that it leads to.',
  ],
  render_failed: [502, 'The page could not be rendered', 'You were not charged. Try again.', true],
  plugin_failed: [502, 'The service failed', 'Nothing was charged for it. Try again later.', true],
  plugin_contract: [502, 'The service broke its contract', 'You were not charged.'],
  upstream_error: [502, 'The seller answered an error', 'See upstream and payment.'],
  upstream_payment_rejected: [502, 'The seller refused the payment', 'See upstream and payment.'],
  upstream_payment_terms: [502, 'Unacceptable payment terms', 'See detail; nothing was paid.'],
  upstream_redirect: [
    502,
    'The seller redirects',
    'Call the final URL; redirects are not followed.',
  ],
  upstream_tls: [502, 'The seller has no valid certificate', 'Nothing was paid.'],
  upstream_too_large: [502, 'The answer is too large', 'Ask for less.'],
  upstream_unreachable: [502, 'The seller cannot be reached', 'Nothing was paid.', true],
  chain_unavailable: [503, 'The chain cannot be asked', 'Nothing was done. Try again later.', true],
  facilitator_unavailable: [503, 'Facilitator unavailable', 'Nothing was paid.', true],
  payments_paused: [503, 'Payments to sellers are paused', 'Nothing was paid. Try later.', true],
  plugin_unavailable: [
    503,
    'The service is not available',
    'You were not charged. Try later.',
    true,
  ],
  render_unavailable: [503, 'No browser is free', 'You were not charged. Try again later.', true],
  service_suspended: [
    503,
    'The operator has suspended the service',
    'You were not charged. Use another one, or ask the operator.',
  ],
  service_unavailable: [
    503,
    'Service unavailable',
    'See /v1/credits/history before you try again.',
    true,
  ],
  render_limit_exceeded: [
    504,
    'The page takes too much time or memory',
    'You were not charged. Its owner has to make it lighter.',
  ],
  timeout: [504, 'The service took too long', 'You were not charged. Try again later.', true],
  upstream_timeout: [504, 'The seller took too long', 'See payment.', true],
} as const satisfies Record<
  string,
  readonly [status: number, title: string, advice: string, retryable?: boolean]
>

export type FaultCode = keyof typeof FAULTS

/** An expected failure, safe to show to the caller. Whatever else is thrown is a bug: a 500. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly status: number
  /** Members that the problem body shows beside the usual ones. */
  readonly extras: Readonly<Record<string, unknown>>
  /** Headers of the answer, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>

  /**
   * @param detail a sentence for the caller; left out: the advice of the table
   * @param more `extras` and `headers` of the answer, and the `cause` for the log
   */
  constructor(
    code: FaultCode,
    detail?: string,
    more: {
      readonly extras?: Readonly<Record<string, unknown>>
      readonly headers?: Readonly<Record<string, string>>
      readonly cause?: unknown
    } = {},
  ) {
    super(detail ?? FAULTS[code][2], { cause: more.cause })
    this.code = code
    this.status = FAULTS[code][0]
    this.extras = more.extras ?? {}
    this.headers = more.headers ?? {}
  }
}
