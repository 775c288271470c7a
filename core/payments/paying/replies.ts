import { isUtf8 } from 'node:buffer'
import { returnableHeaders } from '../../egress/headers.ts'
import type { EgressResponse } from '../../egress/http.ts'
import { json } from '../../money.ts'
import { Reply } from '../../plugin/index.ts'
import type { Hex } from '../chain/asset.ts'
import type { PaidVerdict } from '../chain/verdict.ts'
import type { Terms } from './terms.ts'
import { expiryOf, type PaymentOutcome, type SignedPayment } from './x402-client.ts'

/** The payee differs from the last time; an attacker may impersonate the seller. */
const CAUTION = 'pay_to_changed'
/** Maximum size of a failed response's body in the problem. */
const BODY_SHOWN_BYTES = 65_536

/** Outcome of a payment that an interrupted attempt may have sent, and that is not sent again. */
export const LOST_PAYMENT: PaymentOutcome = {
  outcome: 'unresolved',
  reason: 'upstream_error',
  note: 'The attempt that made the payment was interrupted.',
  sent: true,
  answered: false,
  tx: undefined,
  response: undefined,
}

/** Returns true for a complete 2xx response, with or without a receipt. */
export const isComplete = (outcome: PaymentOutcome): boolean => {
  const { status = 0 } = outcome.response ?? {}
  return (outcome.outcome === 'paid' || outcome.answered) && status >= 200 && status < 300
}

/** Builds the reply from a paid response: status, headers and body, which may be a stream. */
export function deliveredReply(response: EgressResponse, terms: Terms, tx: Hex | undefined): Reply {
  const headers = returnableHeaders(response.headers)
  const receipt = headers['payment-response'] ?? headers['x-payment-response']
  const mpp = response.headers['payment-receipt']
  return new Reply(response.stream ?? response.body, {
    status: response.status,
    headers: {
      ...headers,
      ...(receipt ? { 'X-Upstream-Payment-Response': receipt } : {}),
      ...(typeof mpp === 'string' ? { 'X-Upstream-Payment-Receipt': mpp } : {}),
      ...(tx ? { 'X-Upstream-Transaction': tx } : {}),
      'X-Upstream-Pay-To': terms.payTo,
      ...cautionHeader(terms),
    },
  })
}

/** Codes of warnings; a payee that the caller accepted is one. */
function cautionHeader({ payToChanged, cautions = [] }: Terms): Readonly<Record<string, string>> {
  const codes = new Set([...(payToChanged ? [CAUTION] : []), ...cautions])
  return codes.size === 0 ? {} : { 'X-Upstream-Caution': [...codes].join(', ') }
}

/** Problem members of a failed call: state of the payment, next step and seller's response. */
export function failureExtras(
  call: string,
  terms: Terms,
  signed: SignedPayment,
  response: EgressResponse | undefined,
  transfer: PaidVerdict | undefined,
) {
  const { to, nonce } = signed
  const value = transfer?.value ?? signed.value
  return {
    payment: {
      state: transfer ? 'taken' : 'unresolved',
      amount_microdollars: json(value),
      pay_to: to,
      nonce,
      ...(terms.payToChanged ? { caution: CAUTION } : {}),
      ...(transfer
        ? { transaction: transfer.tx, block: json(transfer.block) }
        : { valid_before: expiryOf(signed).toISOString(), next: nextStepFor(call) }),
    },
    upstream: response && describeResponse(response),
  }
}

const nextStepFor = (call: string): string =>
  'Held until the chain shows whether the seller took it; then charged or released. ' +
  `See GET /v1/calls/${call} for the outcome.`

function describeResponse({ status, headers, body }: EgressResponse) {
  const shown = body.subarray(0, BODY_SHOWN_BYTES)
  const encoding = isUtf8(shown) ? 'utf8' : 'base64'
  return {
    status,
    headers: returnableHeaders(headers),
    body: shown.toString(encoding),
    body_encoding: encoding,
    ...(body.length > BODY_SHOWN_BYTES ? { body_truncated: true } : {}),
  }
}
