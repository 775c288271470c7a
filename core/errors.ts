import type { MoneyOutcome } from './money-outcome.ts'

/** Errors by code: status, title, advice, and true if a repeated request may succeed. */
export const FAULTS = {
  payment_pending: [202, 'Payment pending', 'Do not pay again: the outcome will be known soon.'],
  malformed_request: [400, 'Malformed request', 'Send valid HTTP/1.1 (RFC 9112).'],
  malformed_json: [400, 'Malformed JSON', 'Send a body that is valid JSON.'],
  duplicate_member: [400, 'Duplicate member in JSON', 'Send each member of an object once.'],
  malformed_path: [
    400,
    'Malformed path',
    'Send a path without dot segments, control characters or malformed percent escapes.',
  ],
  duplicate_header: [400, 'Duplicate header', 'Send the header once.'],
  json_too_deep: [400, 'JSON too deep', 'Nest the body at most 64 levels deep.'],
  api_keys_only: [400, 'API keys only', 'Register for a key: GET /v1/register/challenge.'],
  link_unknown: [400, 'Unknown link', 'Request a new email and open the complete link.'],
  nonce_unknown: [400, 'Unknown nonce', 'Get a new challenge and sign its message.'],
  invalid_api_key: [401, 'Invalid API key', 'Send Authorization: Bearer ahk_… with a valid key.'],
  revoked_api_key: [401, 'Revoked API key', 'Register again, or use another key.'],
  session_required: [
    401,
    'Not signed in',
    'Sign in: POST /v1/account/sign-in with your email address.',
  ],
  fresh_authentication_required: [
    401,
    'Sign in again',
    'Sign in again: POST /v1/account/sign-in, or /sign-in/again. With a key: POST /v1/register ' +
      'with its wallet, and use the new key.',
  ],
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
    'Use a main key or sign in, with the administrator role: see /v1/admin/roles.',
  ],
  finance_only: [
    403,
    'Finance access required',
    'Use a main key or sign in, with the finance role: an administrator grants it.',
  ],
  second_person_required: [
    403,
    'Second person required',
    'Ask another person to confirm your proposal.',
  ],
  own_account: [
    403,
    'Your own account',
    'Nobody decides about accounts, keys, providers or calls of their own. Ask somebody else.',
  ],
  root_key_required: [403, 'Main key required', 'Use a main key, or sign in.'],
  origin_not_allowed: [403, 'Origin not allowed', 'Send the request from a page of this hub.'],
  loopback_only: [
    403,
    'Local requests only',
    'Set HUB_METRICS_TOKEN and send it, to read metrics from elsewhere.',
  ],
  provider_key: [
    403,
    'Provider key',
    'A provider key manages services and cannot call them: use an agent key.',
  ],
  frozen_key: [
    403,
    'Frozen key',
    'Ask the creator of the key or the operator to unfreeze it. No credits are lost.',
  ],
  key_limit_reached: [403, 'Key limit reached', 'Use another key; scope names the limit.'],
  ownership_required: [
    403,
    'Ownership required',
    'Prove that you own the host: POST /v1/listings/ownership explains how.',
  ],
  domain_not_registered: [
    403,
    'Not a page of this service',
    'Request a page of the registered host.',
  ],
  page_denied: [
    403,
    'Page not for sale',
    'The owner does not sell this page: request another one.',
  ],
  response_needs_key: [
    403,
    'Response too large without a key',
    'Nothing was charged. Send an API key: free responses without one have at most limit_bytes.',
  ],
  robots_disallowed: [
    403,
    'Disallowed for robots',
    'You were not charged. Ask the owner of the page for permission.',
  ],
  service_not_allowed: [403, 'Service not allowed', 'This key may call only the listed services.'],
  destination_not_allowed: [403, 'Destination not allowed', 'Call a public address.'],
  not_found: [404, 'Not found', 'Check the path; /openapi.json lists every route.'],
  service_not_found: [404, 'Service not found', 'GET /v1/services lists all services.'],
  quote_not_found: [404, 'Quote not found', 'Get one: POST /v1/quotes with this key.'],
  page_not_for_sale: [
    404,
    'Page without a price',
    'Request a page that matches a rule of the owner.',
  ],
  domain_not_found: [404, 'Domain not found', 'GET /v1/domains lists your domains.'],
  listing_not_found: [404, 'Listing not found', 'GET /v1/external lists all listings.'],
  method_not_allowed: [405, 'Method not allowed', 'Use a method listed in the Allow header.'],
  not_acceptable: [406, 'Not acceptable', 'Accept application/json.'],
  request_timeout: [408, 'Request too slow', 'Send the whole request within 30 seconds.'],
  caller_gone: [408, 'Client disconnected', 'Nothing was done or charged. Send the request again.'],
  payment_in_progress: [
    409,
    'Payment in progress',
    'Send the same request again to get its response.',
    true,
  ],
  idempotency_in_progress: [
    409,
    'First request in progress',
    'Send the same request again to get the response of the first one.',
    true,
  ],
  pay_to_changed: [
    409,
    'Payee of the seller changed',
    'Nothing was signed or charged. Verify pay_to with the seller, then send X-Accept-Pay-To.',
  ],
  domain_not_proven: [
    409,
    'Domain not verified',
    'Publish the token in one of the ways in proof.ways, then verify again.',
  ],
  slug_taken: [409, 'Slug taken', 'Choose another slug.'],
  service_incomplete: [409, 'Service incomplete', 'See missing[] for what it still needs.'],
  service_state: [
    409,
    'Not possible in this state',
    'See state; detail names the possible next states.',
  ],
  owner_not_possible: [409, 'Owner not possible', 'See detail; nothing was changed.'],
  service_changed: [
    409,
    'Changed since you read it',
    'Read it again, and decide on its current version.',
  ],
  too_many_services: [409, 'Too many services', 'Retire some: the maximum is 50 per account.'],
  too_many_domains: [409, 'Too many domains', 'Delete some: the maximum is 200 per account.'],
  not_booked: [409, 'Not posted', 'See detail; nothing was changed.'],
  not_closable: [409, 'Not closed', 'See detail; nothing was changed.'],
  not_resolvable: [409, 'Not resolved', 'See detail; nothing was changed.'],
  last_administrator: [
    409,
    'Last administrator',
    'Grant another person the administrator role first.',
  ],
  export_not_ready: [409, 'Export not ready', 'Check state, and try again when it is done.', true],
  nonce_used: [409, 'Nonce already used', 'Get a new challenge and sign its message.'],
  export_dropped: [410, 'Export deleted', 'Start it again: the file will be identical.'],
  answer_expired: [
    410,
    'Response expired',
    'The request was paid and answered, but its response is no longer stored; see transaction.',
  ],
  listing_removed: [410, 'Listing removed', 'Its owner does not want it to be listed.'],
  nonce_expired: [410, 'Nonce expired', 'Get a new challenge and sign it in time.'],
  quote_expired: [410, 'Quote expired', 'Get a new quote: each is valid for five minutes.'],
  link_expired: [410, 'Link expired', 'Request a new email; its link is valid for 15 minutes.'],
  link_used: [410, 'Link already used', 'Request a new email: each link signs you in once.'],
  body_too_large: [413, 'Body too large', 'Send a smaller body.'],
  text_too_large: [413, 'Text too large', 'Send at most limit_bytes of UTF-8.'],
  unsupported_media_type: [415, 'Unsupported media type', 'Send Content-Type: application/json.'],
  unsupported_content_encoding: [415, 'Unsupported encoding', 'Send the body uncompressed.'],
  validation_failed: [422, 'Validation failed', 'See issues[].path and issues[].message.'],
  idempotency_key_reused: [
    422,
    'Idempotency key already used',
    'Use a new key, or repeat the first request unchanged.',
  ],
  quote_mismatch: [422, 'Quote for another request', 'Repeat exactly the request that was quoted.'],
  not_quotable: [
    422,
    'No price to quote',
    'The seller sets the price: use ?dry_run and X-Max-Price.',
  ],
  refused: [422, 'Refused by the service', 'See reason and detail.'],
  openapi_unreadable: [
    422,
    'Not an OpenAPI document',
    'Send OpenAPI 3 or Swagger 2, as JSON or YAML.',
  ],
  schema_not_allowed: [422, 'Schema not allowed', 'See issues[] for each place and its reason.'],
  listing_refused: [422, 'Not listed', 'See refused[].lines; nothing was listed.'],
  not_payable: [422, 'Not payable', 'The URL does not require payment: call it directly.'],
  outflow_cap_reached: [
    429,
    'Daily payment limit reached',
    'Nothing was paid. The limit resets at 00:00 UTC.',
  ],
  unresolved_cap_reached: [
    429,
    'Too many unresolved payments',
    'Nothing was paid. Try again when earlier payments are resolved, within two minutes.',
    true,
  ],
  rescan_too_soon: [429, 'Probed recently', 'Wait for the seconds given in Retry-After.', true],
  test_limit_reached: [
    429,
    'Too many test calls',
    'Wait a second; the maximum is 200 per day.',
    true,
  ],
  proof_too_soon: [429, 'Checked recently', 'Wait for the seconds given in Retry-After.', true],
  registration_rate_limited: [
    429,
    'Too many registrations from this address',
    'Wait for the seconds given in Retry-After.',
    true,
  ],
  concurrency_limited: [
    429,
    'Too many calls at once',
    'Nothing was charged. Wait for earlier calls to finish, or send an API key.',
    true,
  ],
  authentication_limited: [
    429,
    'Too many invalid credentials from this address',
    'Check the key or link, and wait for the seconds given in Retry-After.',
    true,
  ],
  rate_limited: [429, 'Rate limited', 'Wait for the seconds given in Retry-After.', true],
  headers_too_large: [431, 'Headers too large', 'Send at most 32 KiB of headers.'],
  internal_error: [500, 'Internal error', 'Check /v1/credits/history before you try again.', true],
  content_unavailable: [
    502,
    'Page unavailable',
    'The site did not deliver the page. You were not charged. See upstream.',
  ],
  content_empty: [502, 'Page without text', 'You were not charged.'],
  content_unreadable: [502, 'Page not readable', 'You were not charged.'],
  content_type_unsupported: [
    502,
    'Unsupported content type',
    'You were not charged. HTML, PDF and text are supported.',
  ],
  content_redirected: [
    502,
    'Page redirects to another host',
    'You were not charged. Request the target page instead.',
  ],
  render_failed: [502, 'The page could not be rendered', 'You were not charged. Try again.', true],
  plugin_failed: [502, 'Service failed', 'You were not charged. Try again later.', true],
  plugin_contract: [502, 'Invalid response of the service', 'You were not charged.'],
  upstream_error: [502, 'Seller returned an error', 'See upstream and payment.'],
  upstream_payment_rejected: [502, 'Seller rejected the payment', 'See upstream and payment.'],
  upstream_payment_terms: [502, 'Unacceptable payment terms', 'See detail; nothing was paid.'],
  upstream_redirect: [502, 'Seller redirects', 'Call the final URL; redirects are not followed.'],
  upstream_tls: [502, 'Invalid certificate of the seller', 'Nothing was paid.'],
  upstream_too_large: [502, 'Response too large', 'Request less data.'],
  upstream_unreachable: [502, 'Seller unreachable', 'Nothing was paid.', true],
  chain_unavailable: [503, 'Blockchain unavailable', 'Nothing was done. Try again later.', true],
  facilitator_unavailable: [503, 'Facilitator unavailable', 'Nothing was paid.', true],
  payments_paused: [
    503,
    'Payments to sellers are paused',
    'Nothing was paid. Try again later.',
    true,
  ],
  signer_unavailable: [
    503,
    'Payment could not be signed',
    'Nothing was paid. Try again later.',
    true,
  ],
  plugin_unavailable: [503, 'Service unavailable', 'You were not charged. Try again later.', true],
  render_unavailable: [503, 'No browser available', 'You were not charged. Try again later.', true],
  service_suspended: [
    503,
    'Service suspended by the operator',
    'You were not charged. Use another service, or ask the operator.',
  ],
  service_unavailable: [
    503,
    'Service unavailable',
    'Check /v1/credits/history before you try again.',
    true,
  ],
  render_limit_exceeded: [
    504,
    'Page too slow or too large to render',
    'You were not charged. Only the owner of the page can make it lighter.',
  ],
  timeout: [504, 'Service timed out', 'You were not charged. Try again later.', true],
  upstream_timeout: [504, 'Seller timed out', 'See payment.', true],
} as const satisfies Record<
  string,
  readonly [status: number, title: string, advice: string, retryable?: boolean]
>

export type FaultCode = keyof typeof FAULTS

/** Expected failure, safe to show to the caller. Any other thrown error becomes a 500. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly status: number
  /** Additional members of the problem body. */
  readonly extras: Readonly<Record<string, unknown>>
  /** Response headers, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>
  /** State of the money; default: the one that the code implies. */
  readonly money: MoneyOutcome | undefined

  /**
   * @param detail a sentence for the caller; default: the advice of the table
   * @param more `extras` and `headers` of the response, and the `cause` for the log
   */
  constructor(
    code: FaultCode,
    detail?: string,
    more: {
      readonly extras?: Readonly<Record<string, unknown>>
      readonly headers?: Readonly<Record<string, string>>
      readonly cause?: unknown
      readonly money?: MoneyOutcome | undefined
    } = {},
  ) {
    super(detail ?? FAULTS[code][2], { cause: more.cause })
    this.code = code
    this.status = FAULTS[code][0]
    this.extras = more.extras ?? {}
    this.headers = more.headers ?? {}
    this.money = more.money
  }
}
