import { FAULTS, type FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Issue } from '../../core/plugin/validate.ts'
import { visibleText } from '../../core/text.ts'
import { convertToDollars } from './dollars.ts'
import { asData } from './third-party.ts'
import type { ToolResult } from './tool.ts'

/** Returns a result as structured content, and as JSON text for clients that read text only. */
export const jsonResult = (value: JsonObject, meta?: JsonObject | ''): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
  ...(meta && { _meta: meta }),
})

/** Returns a failure that a model can act on: what to do next, and what was charged. */
export const failureResult = (value: JsonObject, meta?: JsonObject | ''): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  isError: true,
  ...(meta && { _meta: meta }),
})

/** Members of a problem body that only HTTP clients need. */
const HTTP_MEMBERS: ReadonlySet<string> = new Set(
  (
    'type title status detail instance code advice retryable request_id charged_microdollars ' +
    'next_steps x402Version resource accepts error'
  ).split(' '),
)

/** Converts a problem (RFC 9457) for agents: dollars, and tools instead of routes. */
export function problemResult(body: JsonObject, more: JsonObject = {}): ToolResult {
  const code = body['code'] as FaultCode
  const [, title, advice] = FAULTS[code]
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !HTTP_MEMBERS.has(name)))
  const extras = convertToDollars(rest) as JsonObject
  const charged = body['charged_microdollars'] ?? 0
  const facts = { ...extras, x402: body['accepts'] !== undefined }
  return failureResult({
    error: code,
    next: body['advice'] === advice ? (toolAdvice(code, facts) ?? advice) : body['advice'],
    ...(convertToDollars({ charged_microdollars: charged }) as JsonObject),
    retryable: body['retryable'],
    request_id: body['request_id'],
    ...more,
    ...asData({ message: body['detail'] === advice ? title : body['detail'], ...extras }),
  })
}

/** Reports arguments that do not match the tool's schema. */
export const invalidArgumentsResult = (tool: string, issues: readonly Issue[]): ToolResult =>
  failureResult({
    error: 'invalid_arguments',
    message: visibleText(
      issues.map(({ path, message }) => `${path.slice(1) || tool} ${message}`).join('; '),
    ),
    next: `Call ${tool} again with arguments that match its input schema.`,
    charged_usd: '0.00',
    ...(issues.some(({ allowed }) => allowed) ? { allowed: allowedOf(issues) } : {}),
  })

const allowedOf = (issues: readonly Issue[]): JsonObject =>
  Object.fromEntries(
    issues.filter(({ allowed }) => allowed).map(({ path, allowed }) => [path.slice(1), allowed]),
  )

type Advice = string | ((extras: JsonObject) => string)

const SAME_CALL = 'the same arguments and the same idempotency_key'
const AGAIN = `Call again with ${SAME_CALL}: it is charged at most once.`
const TOP_UP = 'hub_topup shows how to buy credits, hub_balance what is left.'
const PAY =
  `${TOP_UP} A wallet can pay the offer by _meta["x402/payment"] or, by MPP, ` +
  '_meta["org.paymentauth/credential"], or spend its credits by ' +
  'signing the challenge: _meta["x402/sign-in-with-x"].'
const WAIT = `Wait for retry_after_seconds, then call again with ${SAME_CALL}.`
const LOOK = 'hub_get_service shows the endpoints of a service, their input and price.'

/** Advice on a fault, in terms of tools instead of routes. */
const ADVICE: Partial<Record<FaultCode, Advice>> = {
  payment_pending: 'Do not pay again. Repeat the call with the same payment after a few seconds.',
  payment_required: ({ x402 }) => (x402 ? PAY : TOP_UP),
  insufficient_credits: ({ x402 }) => (x402 ? PAY : TOP_UP),
  payment_invalid: PAY,
  price_exceeds_max: ({ price_usd: price, limit }) =>
    limit === 'purchase_max'
      ? "The price exceeds the hub's maximum per call: search for a cheaper one."
      : `Call again with max_price_usd "${String(price)}" or more, or search for a cheaper one.`,
  key_limit_reached: 'This key may not spend more. Ask its owner; hub_balance shows the limits.',
  service_not_allowed: 'This key may call only the services listed.',
  not_found: LOOK,
  method_not_allowed: LOOK,
  service_not_found: 'hub_search and hub_list_services list the available services.',
  domain_not_registered: 'hub_search with category "content" lists sites that sell pages here.',
  page_not_for_sale: 'Fetch the page directly, or request another page of this site.',
  validation_failed: `Correct what the message names. ${LOOK}`,
  text_too_large: 'Send less text per call, at most limit_bytes.',
  idempotency_key_reused: 'Use a new idempotency_key, or repeat the first call unchanged.',
  idempotency_in_progress: WAIT,
  payment_in_progress: WAIT,
  answer_expired: 'The call was paid and delivered. Its response is no longer stored.',
  response_lost:
    'The response was lost and you were refunded. Call again with a new idempotency_key.',
  not_payable: 'Fetch the URL directly: it requires no payment. hub_search_external lists others.',
  rate_limited: 'Wait for retry_after_seconds, and call less often.',
  plugin_failed: `You were not charged. ${AGAIN}`,
  plugin_unavailable: `You were not charged. ${AGAIN}`,
  timeout: `You were not charged. ${AGAIN}`,
  internal_error: AGAIN,
  service_unavailable: AGAIN,
  facilitator_unavailable: AGAIN,
  upstream_unreachable: `Nothing was paid. ${AGAIN}`,
}

/** Returns undefined if the advice in FAULTS applies to tools too. */
function toolAdvice(code: FaultCode, extras: JsonObject): string | undefined {
  const advice = ADVICE[code]
  return typeof advice === 'function' ? advice(extras) : advice
}
