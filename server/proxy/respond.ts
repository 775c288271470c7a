import { asBuffer } from '../../core/bytes.ts'
import { sha256, sha256InPieces } from '../../core/crypto/sha256.ts'
import { isJsonObject } from '../../core/json.ts'
import { deprecationHeaders } from '../../core/plugin/deprecation.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { BODILESS_STATUSES } from '../http/response-writer.ts'
import type { CallDeps } from './call-deps.ts'
import { endpointName, findReceipt, recordCall } from './call-record.ts'
import type {
  CallOutcome,
  Charge,
  PricedCall,
  ReplayableResponse,
  SettledCall,
} from './call-types.ts'
import { LARGE_BYTES } from './expected-lengths.ts'
import { isReservedHeader } from './reserved-headers.ts'

/** Returns the response of a settled call, with its charge, the remaining balance and a receipt. */
export async function respond(deps: CallDeps, settled: SettledCall): Promise<HttpResponse> {
  const { priced, outcome, charge } = settled
  const bytes = bytesOf(outcome)
  const hash = bytes.length > LARGE_BYTES ? await sha256InPieces(bytes) : sha256(bytes)
  const receipt = await signReceipt(deps, settled, hash)
  const headers = {
    ...responseHeaders(priced, outcome.headers),
    ...charge.headers,
    ...chargeHeaders(outcome, charge),
    'X-Receipt': receipt,
  }
  return { status: outcome.status, headers, body: outcome.body }
}

/** Returns an earlier attempt's response and receipt: free, and not recorded as a call. */
export async function replay(
  deps: CallDeps,
  priced: PricedCall,
  { response, source, headers: paymentHeaders }: ReplayableResponse,
): Promise<HttpResponse> {
  const { caller } = priced
  const hasBalance = source === 'none' && caller.keyId !== null
  const balance = hasBalance ? await deps.accountStatus.balance(caller.credits) : undefined
  const receipt = await findReceipt(deps, response.call)
  const headers = {
    ...responseHeaders(priced, response.headers),
    ...paymentHeaders,
    'X-Charged-Microdollars': String(chargedIn(response)),
    'X-Payment-Source': source,
    ...(balance === undefined ? {} : { 'X-Balance-Microdollars': String(balance) }),
    'X-Call-Id': response.call,
    ...(receipt !== undefined && { 'X-Receipt': receipt }),
  }
  return { status: response.status, headers, body: response.body }
}

/** Nothing is charged now, but a stored problem states its charge, which the header repeats. */
const chargedIn = ({ status, body }: ReplayableResponse['response']): number =>
  status >= 400 && isJsonObject(body) ? Number(body['charged_microdollars'] ?? 0) : 0

/** Records the call and signs its receipt. */
export const signReceipt = (
  deps: CallDeps,
  settled: SettledCall,
  responseHash: Buffer | null,
): Promise<string> => {
  const record = recordCall(deps, settled, responseHash)
  return deps.receipts.sign(record, endpointName(settled.priced.offering))
}

/** Headers of the handler that it may set, and those of every call. */
export const responseHeaders = (
  { call, offering }: PricedCall,
  headers: HttpResponse['headers'],
): HttpResponse['headers'] => ({
  ...(Object.keys(headers).some(isReservedHeader) ? withoutReserved(headers) : headers),
  ...deprecationHeaders(offering.service.deprecated),
  'Cache-Control': 'no-store',
  'X-Call-Id': call,
})

const withoutReserved = (headers: HttpResponse['headers']): HttpResponse['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isReservedHeader(name)))

/** Headers for the charge, its source, the remaining credits and the reason of a refund. */
export const chargeHeaders = (outcome: CallOutcome, { amount, source, balance }: Charge) => ({
  'X-Charged-Microdollars': String(amount),
  'X-Payment-Source': source,
  ...(balance === undefined ? {} : { 'X-Balance-Microdollars': String(balance) }),
  ...(outcome.kind === 'failed' ? { 'X-Refund-Reason': outcome.reason } : {}),
})

/** Body exactly as it is sent. */
function bytesOf({ status, body }: CallOutcome): Buffer {
  if (BODILESS_STATUSES.has(status)) return Buffer.alloc(0)
  return body instanceof Uint8Array ? asBuffer(body) : Buffer.from(JSON.stringify(body ?? null))
}
