import { sha256, sha256InPieces } from '../../core/crypto/sha256.ts'
import { Fault } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { deprecationHeaders } from '../../core/plugin/deprecation.ts'
import type { Usage } from '../../core/plugin/metered.ts'
import type { CallRecord } from '../../core/usage/call-records.ts'
import type { ReceiptForm } from '../../core/usage/receipts.ts'
import { STORED_BYTES_MAX } from '../../core/usage/stored-responses.ts'
import type { HttpResponse } from '../http/http-response.ts'
import type { CallDeps } from './call-deps.ts'
import { bytesOf, endpointName, recordOf } from './call-record.ts'
import type {
  CallOutcome,
  CallRequest,
  Charge,
  PricedCall,
  ReplayableResponse,
  SettledCall,
} from './call-types.ts'
import { LARGE_BYTES } from './expected-lengths.ts'
import { findRepeatedCall } from './lost-response.ts'
import { isReservedHeader } from './reserved-headers.ts'
import { withRefund } from './settle.ts'

/** Returns the response of a settled call, with its charge, the remaining balance and a receipt. */
export async function respond(deps: CallDeps, settled: SettledCall): Promise<HttpResponse> {
  const { priced, outcome, charge } = settled
  const bytes = bytesOf(outcome)
  const hash = bytes.length > LARGE_BYTES ? await sha256InPieces(bytes) : sha256(bytes)
  const receipt = await signReceipt(deps, settled, hash, bytes.length <= STORED_BYTES_MAX)
  const headers = {
    ...responseHeaders(priced, outcome.headers),
    ...charge.headers,
    ...chargeHeaders(outcome, charge),
    'X-Receipt': receipt,
  }
  return { status: outcome.status, headers, body: outcome.body }
}

/** Returns an earlier attempt's response, receipt and cost: free, and not recorded as a call. */
export async function replay(
  deps: CallDeps,
  priced: PricedCall,
  { response, source, headers: paymentHeaders }: ReplayableResponse,
): Promise<HttpResponse> {
  const { caller } = priced
  const isBought = deps.creditsOnly.has(priced.offering.service.slug)
  const hasBalance = source === 'none' && caller.keyId !== null
  const balance = hasBalance
    ? await deps.accountStatus.spendable(caller, deps.clock.now())
    : undefined
  const { record, name } = await findRepeatedCall(deps, priced, response)
  const headers = {
    ...responseHeaders(priced, response.headers),
    ...paymentHeaders,
    'X-Charged-Microdollars': String(isBought ? chargedIn(response) : 0),
    'X-Charged-Earlier-Microdollars': String(record.charged),
    'X-Payment-Source': source,
    ...(balance === undefined ? {} : { 'X-Balance-Microdollars': String(balance) }),
    ...(record.usage && { 'X-Usage': usageHeader(record.usage) }),
    'X-Call-Id': response.call,
    'X-Receipt': await deps.receipts.sign(record, name, receiptForm(priced.request)),
  }
  return { status: response.status, headers, body: response.body }
}

/** Returns the charge that the stored problem of a purchase states; nothing is charged now. */
const chargedIn = ({ status, body }: ReplayableResponse['response']): number =>
  status >= 400 && isJsonObject(body) ? Number(body['charged_microdollars'] ?? 0) : 0

/**
 * Records the call and signs its receipt. A response that a repetition would get, but that is not
 * stored, is delivered only after its record is written: no record proves that it was lost.
 * @throws Fault `response_lost` if a repetition found no record and refunded the call, or
 *   `payment_in_progress` if its payment was taken over and pays for another attempt
 */
export function signReceipt(
  deps: CallDeps,
  settled: SettledCall,
  responseHash: Buffer | null,
  isStorable: boolean,
): Promise<string> {
  const { priced, attempt, funds } = settled
  const record = recordOf(deps, settled, responseHash)
  const isRepeatable = attempt.keyed !== undefined || funds.source === 'x402'
  const hasFailed = record.outcome === 'failed'
  const sign = () =>
    deps.receipts.sign(record, endpointName(priced.offering), receiptForm(priced.request))
  if (!isStorable && isRepeatable && !hasFailed)
    return recordDelivery(deps, settled, record).then(sign)
  deps.calls.add(record)
  return sign()
}

/** Writes the record of a response that is not stored, before it is delivered. */
async function recordDelivery(
  { calls }: CallDeps,
  { priced, funds }: SettledCall,
  record: CallRecord,
): Promise<void> {
  const { outcome } = await calls.insert(record)
  if (outcome === 'failed') throw withRefund(new Fault('response_lost'), priced, funds)
  if ((await funds.markDelivered?.()) !== false) return
  await calls.withdraw(record.id)
  throw withRefund(new Fault('payment_in_progress'), priced, funds)
}

/** A receipt shares its signature with those of other calls, unless the caller asks for a JWS. */
const receiptForm = ({ headers }: CallRequest): ReceiptForm =>
  headers?.['accept-receipt'] === 'jws' ? 'jws' : 'batch'

/** Headers of the handler that it may set, and those of every call. */
export const responseHeaders = (
  { call, offering }: PricedCall,
  headers: HttpResponse['headers'],
): HttpResponse['headers'] => ({
  ...(Object.keys(headers).some(isReservedHeader) ? withoutReserved(headers) : headers),
  ...deprecationHeaders(offering.service.deprecated),
  'Cache-Control': mayTransform(headers) ? 'no-store' : 'no-store, no-transform',
  'X-Call-Id': call,
})

/** Returns false if the handler forbids changing the body, as compression does (RFC 9111). */
const mayTransform = (headers: HttpResponse['headers']): boolean =>
  !Object.entries(headers).some(
    ([name, value]) => name.toLowerCase() === 'cache-control' && /\bno-transform\b/i.test(value),
  )

const withoutReserved = (headers: HttpResponse['headers']): HttpResponse['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isReservedHeader(name)))

/** Usage as a structured field (RFC 9651): `tokens;quantity=3;price_microdollars=20;per=1000`. */
const usageHeader = ({ unit, quantity, amount, per }: Usage): string =>
  `${unit};quantity=${quantity};price_microdollars=${amount};per=${per}`

/** Headers for usage, charge, its source, the remaining credits and the reason of a refund. */
export const chargeHeaders = (outcome: CallOutcome, { amount, source, balance }: Charge) => ({
  ...(outcome.usage && { 'X-Usage': usageHeader(outcome.usage) }),
  'X-Charged-Microdollars': String(amount),
  'X-Payment-Source': source,
  ...(balance === undefined ? {} : { 'X-Balance-Microdollars': String(balance) }),
  ...(outcome.kind === 'failed' ? { 'X-Refund-Reason': outcome.reason } : {}),
})
