import type { FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'

type Remedy = string | ((extras: JsonObject) => string)

const SAME = 'the same arguments and the same idempotency_key'
const AGAIN = `Call again with ${SAME}: what was charged is not charged twice.`
const TOP_UP = 'hub_topup tells how to buy credits; hub_balance what there is.'
const PAY = `${TOP_UP} A wallet may pay the offer, if there is one, by _meta["x402/payment"].`
const WAIT = `Wait a few seconds, then call again with ${SAME}.`
const LOOK = 'hub_get_service shows the endpoints of a service, their input and price.'

/** What to do about a fault, for who has tools instead of routes. */
const REMEDIES: Partial<Record<FaultCode, Remedy>> = {
  payment_pending: 'Do not pay again: the outcome will be known soon. hub_balance shows it.',
  payment_required: PAY,
  insufficient_credits: PAY,
  payment_invalid: PAY,
  price_exceeds_max: ({ price_usd: price }) =>
    `Call again with max_price_usd "${String(price)}" or more, or search for a cheaper one.`,
  key_limit_reached: 'This key may not spend more. Ask whoever made it; hub_balance shows limits.',
  service_not_allowed: 'This key may call only the services listed.',
  not_found: LOOK,
  method_not_allowed: LOOK,
  service_not_found: 'hub_search and hub_list_services name the services that there are.',
  domain_not_registered: 'hub_search with category "content" lists whose pages are sold here.',
  page_not_for_sale: 'Fetch the page directly, or ask for another one of this site.',
  validation_failed: `Change what the message names. ${LOOK}`,
  text_too_large: 'Send less text in one call: limit_bytes tells how much.',
  idempotency_key_reused: 'Take a new idempotency_key, or repeat the first call unchanged.',
  idempotency_in_progress: WAIT,
  payment_in_progress: WAIT,
  answer_expired: 'It was paid and answered, and its answer is no longer kept.',
  not_payable: 'Fetch the URL directly: it asks for no payment. hub_search_external lists others.',
  rate_limited: 'Wait, and call less often.',
  plugin_failed: `You were not charged. ${AGAIN}`,
  plugin_unavailable: `You were not charged. ${AGAIN}`,
  timeout: `You were not charged. ${AGAIN}`,
  internal_error: AGAIN,
  service_unavailable: AGAIN,
  facilitator_unavailable: AGAIN,
  upstream_unreachable: `Nothing was paid. ${AGAIN}`,
}

/** Undefined: what the table of faults advises fits here too. */
export function remedyOf(code: FaultCode, extras: JsonObject): string | undefined {
  const remedy = REMEDIES[code]
  return typeof remedy === 'function' ? remedy(extras) : remedy
}
