import { isUtf8 } from 'node:buffer'
import { answerableHeaders } from '../../egress/headers.ts'
import type { EgressResponse } from '../../egress/http.ts'
import { json } from '../../money.ts'
import { Reply } from '../../plugin/index.ts'
import type { Hex } from '../chain/asset.ts'
import { dateOf, type Evidence } from '../chain/evidence.ts'
import type { PaidOutcome, SignedPayment } from './buying.ts'
import type { Terms } from './terms.ts'

/** Somebody may have taken the seller's place: it wants another address paid than the last time. */
const CAUTION = 'pay_to_changed'
/** Of a failed answer's body, in bytes. */
const BODY_SHOWN = 65_536

/** A whole answer of success, of which only the receipt is missing. */
export const isComplete = (outcome: PaidOutcome & { outcome: 'unresolved' }): boolean => {
  const { status = 0 } = outcome.response ?? {}
  return outcome.answered && status >= 200 && status < 300
}

/** What was paid for, as it came: its status, its headers, its body, which may be a stream. */
export function delivered(response: EgressResponse, terms: Terms, tx: Hex | undefined): Reply {
  const headers = answerableHeaders(response.headers)
  const receipt = headers['payment-response']
  return new Reply(response.stream ?? response.body, {
    status: response.status,
    headers: {
      ...headers,
      ...(receipt ? { 'X-Upstream-Payment-Response': receipt } : {}),
      ...(tx ? { 'X-Upstream-Transaction': tx } : {}),
      'X-Upstream-Pay-To': terms.payTo,
      ...(terms.payToChanged ? { 'X-Upstream-Caution': CAUTION } : {}),
    },
  })
}

/** What a failed call shows: the seller's answer, where the money is, and what happens next. */
export function told(
  call: string,
  terms: Terms,
  { to, value, nonce, validBefore }: SignedPayment,
  response: EgressResponse | undefined,
  seen: Evidence | undefined,
) {
  return {
    payment: {
      state: seen ? 'taken' : 'unresolved',
      amount_microdollars: json(value),
      pay_to: to,
      nonce,
      ...(terms.payToChanged ? { caution: CAUTION } : {}),
      ...(seen
        ? { transaction: seen.transaction, block: json(seen.block) }
        : { valid_before: dateOf(validBefore).toISOString(), next: nextOf(call) }),
    },
    upstream: response && upstreamOf(response),
  }
}

const nextOf = (call: string): string =>
  'Held until the chain shows whether the seller took it; then charged or given back. ' +
  `GET /v1/calls/${call} tells.`

function upstreamOf({ status, headers, body }: EgressResponse) {
  const shown = body.subarray(0, BODY_SHOWN)
  const encoding = isUtf8(shown) ? 'utf8' : 'base64'
  return {
    status,
    headers: answerableHeaders(headers),
    body: shown.toString(encoding),
    body_encoding: encoding,
    ...(body.length > BODY_SHOWN ? { body_truncated: true } : {}),
  }
}
