import type { FaultCode } from '../../../core/errors.ts'
import { PAGE_FAULTS, UPSTREAM_FAULTS } from '../../proxy/provider-code.ts'

export const COMMON_FAULTS: readonly FaultCode[] = [
  'malformed_request',
  'duplicate_header',
  'request_timeout',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'service_unavailable',
]
export const KEY_FAULTS: readonly FaultCode[] = [
  'duplicate_header',
  'invalid_api_key',
  'revoked_api_key',
  'frozen_key',
  'provider_key',
  'rate_limited',
]
export const SESSION_FAULTS: readonly FaultCode[] = [
  'duplicate_header',
  'session_required',
  'origin_not_allowed',
  'rate_limited',
]
export const BODY_FAULTS: readonly FaultCode[] = [
  'malformed_json',
  'json_too_deep',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'validation_failed',
]
const CALL_FAULTS: readonly FaultCode[] = [
  ...KEY_FAULTS,
  ...BODY_FAULTS,
  ...COMMON_FAULTS,
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
/** Faults of calls payable by x402. */
export const X402_CALL_FAULTS: readonly FaultCode[] = [
  ...CALL_FAULTS,
  'payment_required',
  'payment_invalid',
  'payment_replayed',
  'payment_in_progress',
  'payment_pending',
  'facilitator_unavailable',
]
/** Faults of calls to external sellers, which only credits pay. */
export const EXTERNAL_CALL_FAULTS: readonly FaultCode[] = [
  ...CALL_FAULTS,
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
