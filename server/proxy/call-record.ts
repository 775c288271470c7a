import { asBuffer } from '../../core/bytes.ts'
import type { Fault } from '../../core/errors.ts'
import type { CallRecord } from '../../core/usage/call-records.ts'
import { BODILESS_STATUSES } from '../http/response-writer.ts'
import type { CallDeps } from './call-deps.ts'
import type { CallOutcome, Funds, PricedCall, SettledCall } from './call-types.ts'

/** Endpoint as receipts and callers name it: `POST /echo/say`. */
export const endpointName = ({ service, method, path }: PricedCall['offering']): string =>
  `${method} /${service.slug}${path}`

/** Record of a settled call. `responseHash` is null if the body was not sent completely. */
export const recordOf = (
  { clock }: CallDeps,
  { priced, funds, outcome, charge }: SettledCall,
  responseHash: Buffer | null,
): CallRecord => ({
  ...identityOf(priced, funds.payer),
  at: clock.now(),
  source: charge.source,
  charged: charge.amount,
  outcome: outcome.kind,
  status: outcome.status,
  latencyMs: outcome.latencyMs,
  reason: 'reason' in outcome ? outcome.reason : null,
  responseHash,
  entry: charge.entry ?? null,
  usage: outcome.usage ?? null,
})

/** Records a call whose handler failed. */
export function recordFailure(
  { calls, clock }: CallDeps,
  priced: PricedCall,
  { payer, source }: Funds,
  fault: Fault,
  latencyMs: number,
): void {
  calls.add({
    ...identityOf(priced, payer),
    at: clock.now(),
    source: 'none',
    charged: 0n,
    outcome: 'failed',
    status: fault.status,
    latencyMs,
    reason: fault.code,
    responseHash: null,
    entry: source === 'credits' || source === 'free' ? priced.call : null,
    usage: null,
  })
}

const identityOf = (
  { request, caller, call, offering, requestHash }: PricedCall,
  payer: string,
) => ({
  id: call,
  requestId: request.requestId,
  principal: caller.keyId === null ? payer : caller.principal,
  keyId: caller.keyId,
  service: offering.service.slug,
  endpoint: offering.endpointId,
  priceVersion: offering.priceVersion,
  requestHash,
  agent: request.agent ?? null,
})

/** Body exactly as it is sent. */
export function bytesOf({ status, body }: Pick<CallOutcome, 'status' | 'body'>): Buffer {
  if (BODILESS_STATUSES.has(status)) return Buffer.alloc(0)
  return body instanceof Uint8Array ? asBuffer(body) : Buffer.from(JSON.stringify(body ?? null))
}
