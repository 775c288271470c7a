import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { CallLog, CallRecord } from '../../core/usage/calls.ts'
import type { CallRequest, FundingSource, Keyless, Made, Offer } from './call.ts'

interface Failure {
  readonly caller: Caller | Keyless
  readonly offer: Offer
  readonly payer: string
  readonly source: FundingSource
  readonly request: CallRequest
  readonly fault: Fault
  readonly latencyMs: number
}

type Common = Pick<Failure, 'caller' | 'offer' | 'payer' | 'request'>

/** Keeps a record of calls: those that were answered, and those whose handler failed. */
export interface Record {
  /** @param responseHash null: the body was not sent whole */
  made(made: Made, responseHash: Buffer | null): CallRecord
  failed(failure: Failure): void
}

/** The endpoint as receipts and callers name it: `POST /echo/say`. */
export const nameOf = ({ service, method, path }: Offer['offering']): string =>
  `${method} /${service.slug}${path}`

export function createRecord(calls: Pick<CallLog, 'add'>, clock: Clock): Record {
  const common = ({ caller, offer, payer, request }: Common) => ({
    id: offer.call,
    at: clock.now(),
    requestId: request.requestId,
    principal: caller.keyId === null ? payer : caller.principal,
    keyId: caller.keyId,
    service: offer.offering.service.slug,
    endpoint: offer.offering.endpointId,
    priceVersion: offer.offering.priceVersion,
    requestHash: offer.requestHash,
  })
  return {
    made(call, responseHash) {
      const { outcome, receipt } = call
      const made: CallRecord = {
        ...common(call),
        source: receipt.source,
        charged: receipt.charged,
        outcome: outcome.kind,
        status: outcome.status,
        latencyMs: outcome.latencyMs,
        reason: 'reason' in outcome ? outcome.reason : null,
        responseHash,
        entry: receipt.entry ?? null,
      }
      calls.add(made)
      return made
    },
    failed(call) {
      const { fault, latencyMs, source } = call
      calls.add({
        ...common(call),
        source: 'none',
        charged: 0n,
        outcome: 'failed',
        status: fault.status,
        latencyMs,
        reason: fault.code,
        responseHash: null,
        entry: source === 'credits' || source === 'free' ? call.offer.call : null,
      })
    },
  }
}
