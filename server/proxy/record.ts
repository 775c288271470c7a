import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { CallLog, CallRecord } from '../../core/usage/calls.ts'
import type { CallRequest, Keyless, Made, Offer } from './call.ts'

interface Failure {
  readonly caller: Caller | Keyless
  readonly offer: Offer
  readonly payer: string
  readonly request: CallRequest
  readonly fault: Fault
  readonly latencyMs: number
}

type Common = Pick<Failure, 'caller' | 'offer' | 'payer' | 'request'>

/** Keeps a record of calls: those that were answered, and those whose handler failed. */
export interface Record {
  made(made: Made): void
  failed(failure: Failure): void
}

export function createRecord(calls: CallLog, clock: Clock): Record {
  const common = ({ caller, offer, payer, request }: Common) => ({
    id: offer.call,
    at: clock.now(),
    requestId: request.requestId,
    principal: caller.keyId === null ? payer : caller.principal,
    keyId: caller.keyId,
    service: offer.offering.service.slug,
    endpoint: offer.offering.endpointId,
    priceVersion: offer.offering.priceVersion,
  })
  return {
    made({ outcome, receipt, ...call }) {
      calls.add({
        ...common(call),
        source: receipt.source,
        charged: receipt.charged,
        outcome: outcome.kind,
        status: outcome.status,
        latencyMs: outcome.latencyMs,
        reason: 'reason' in outcome ? outcome.reason : null,
      } satisfies CallRecord)
    },
    failed({ fault, latencyMs, ...call }) {
      calls.add({
        ...common(call),
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
