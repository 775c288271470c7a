import type { FaultCode } from '../../../core/errors.ts'
import { PAGE_FAULTS, UPSTREAM_FAULTS } from '../../proxy/provided.ts'

/** Of every route. */
export const EVERY_ROUTE: readonly FaultCode[] = [
  'malformed_request',
  'duplicate_header',
  'request_timeout',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'service_unavailable',
]
export const KEYED: readonly FaultCode[] = [
  'duplicate_header',
  'invalid_api_key',
  'revoked_api_key',
  'frozen_key',
  'provider_key',
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
  'key_limit_reached',
  'service_not_allowed',
  'service_suspended',
  'quote_not_found',
  'quote_expired',
  'quote_mismatch',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'answer_expired',
  'caller_gone',
  'price_exceeds_max',
  'text_too_large',
  'not_found',
  'refused',
  'plugin_failed',
  'plugin_contract',
  'plugin_unavailable',
  'timeout',
  ...PAGE_FAULTS,
  ...UPSTREAM_FAULTS,
  'content_redirected',
  'render_failed',
  'render_unavailable',
  'render_limit_exceeded',
]
/** Of calls that x402 can pay. */
export const SOLD: readonly FaultCode[] = [
  ...CALLED,
  'payment_required',
  'payment_invalid',
  'payment_replayed',
  'payment_in_progress',
  'payment_pending',
  'facilitator_unavailable',
]
/** Of calls to sellers outside, which credits pay. */
export const BOUGHT: readonly FaultCode[] = [
  ...CALLED,
  'destination_not_allowed',
  'not_payable',
  'outflow_cap_reached',
  'payments_paused',
  'chain_unavailable',
  'upstream_error',
  'upstream_payment_rejected',
  'upstream_payment_terms',
  'upstream_redirect',
  'upstream_timeout',
  'upstream_tls',
  'upstream_too_large',
  'upstream_unreachable',
]
