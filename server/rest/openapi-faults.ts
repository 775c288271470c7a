import type { FaultCode } from '../../core/errors.ts'

/** Of every route. */
export const EVERY_ROUTE: readonly FaultCode[] = ['internal_error', 'service_unavailable']
export const KEYED: readonly FaultCode[] = [
  'duplicate_header',
  'invalid_api_key',
  'revoked_api_key',
  'frozen_key',
  'rate_limited',
]
export const SIGNED_IN: readonly FaultCode[] = [
  'duplicate_header',
  'session_required',
  'origin_not_allowed',
  'rate_limited',
]
export const WITH_BODY: readonly FaultCode[] = [
  'malformed_json',
  'json_too_deep',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'validation_failed',
]
/** Of every call, whoever pays it. */
const CALLED: readonly FaultCode[] = [
  ...KEYED,
  ...WITH_BODY,
  ...EVERY_ROUTE,
  'malformed_path',
  'insufficient_credits',
  'price_exceeds_max',
  'text_too_large',
  'not_found',
  'refused',
  'plugin_failed',
  'plugin_contract',
  'timeout',
]
/** Of calls that x402 can pay. */
export const SOLD: readonly FaultCode[] = [
  ...CALLED,
  'payment_required',
  'payment_invalid',
  'payment_replayed',
  'payment_pending',
  'facilitator_unavailable',
]
/** Of calls to sellers outside, which credits pay. */
export const BOUGHT: readonly FaultCode[] = [
  ...CALLED,
  'destination_not_allowed',
  'not_payable',
  'upstream_error',
  'upstream_payment_rejected',
  'upstream_payment_terms',
  'upstream_redirect',
  'upstream_timeout',
  'upstream_tls',
  'upstream_too_large',
  'upstream_unreachable',
]
