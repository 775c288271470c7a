import type { Fault } from '../../core/errors.ts'
import type { CallRecord } from '../../core/usage/call-records.ts'
import type { CallDeps } from './call-deps.ts'
import type { Funds, PricedCall, SettledCall } from './call-types.ts'

/** Endpoint as receipts and callers name it: `POST /echo/say`. */
export const endpointName = ({ service, method, path }: PricedCall['offering']): string =>
  `${method} /${service.slug}${path}`

/** Records a settled call. `responseHash` is null if the body was not sent completely. */
export function recordCall(
  { calls, clock }: CallDeps,
  { priced, funds, outcome, charge }: SettledCall,
  responseHash: Buffer | null,
): CallRecord {
  const record: CallRecord = {
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
  }
  calls.add(record)
  return record
}

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
})

/** Signs the receipt of a recorded call again; undefined if the call was not recorded. */
export async function findReceipt(
  { calls, receipts }: CallDeps,
  call: string,
): Promise<string | undefined> {
  const found = await calls.find(call)
  return found && receipts.sign(found.record, found.name)
}
