import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { CallLog, CallRecord } from '../../core/usage/calls.ts'
import type { CallRequest, Keyless, Made, Offer } from './call.ts'
import { payerOf } from './payer.ts'

interface Failure {
  readonly caller: Caller | Keyless
  readonly offer: Offer
  readonly request: CallRequest
  readonly fault: Fault
  readonly latencyMs: number
}

/** Keeps a record of every call whose handler ran. */
export interface Record {
  made(made: Made): void
  failed(failure: Failure): void
}

export function createRecord(calls: CallLog, clock: Clock): Record {
  const common = (caller: Caller | Keyless, offer: Offer, request: CallRequest) => ({
    id: offer.call,
    at: clock.now(),
    requestId: request.requestId,
    principal: caller.keyId === null ? payerOf(caller, request) : caller.principal,
    keyId: caller.keyId,
    service: offer.offering.service.slug,
    endpoint: offer.offering.endpointId,
    priceVersion: offer.offering.priceVersion,
  })
  return {
    made({ request, caller, offer, outcome, receipt }) {
      calls.add({
        ...common(caller, offer, request),
        source: receipt.source,
        charged: receipt.charged,
        outcome: outcome.kind,
        status: outcome.status,
        latencyMs: outcome.latencyMs,
        reason: outcome.kind === 'failed' ? outcome.reason : null,
      } satisfies CallRecord)
    },
    failed({ caller, offer, request, fault, latencyMs }) {
      calls.add({
        ...common(caller, offer, request),
        source: 'none',
        charged: 0n,
        outcome: 'failed',
        status: fault.status,
        latencyMs,
        reason: fault.code,
      })
    },
  }
}
