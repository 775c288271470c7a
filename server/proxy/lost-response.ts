import { daysBefore } from '../../core/clock.ts'
import { sha256 } from '../../core/crypto/sha256.ts'
import { FAULTS, Fault } from '../../core/errors.ts'
import { instantOf } from '../../core/ids.ts'
import { json } from '../../core/money.ts'
import type { CallCharge } from '../../core/usage/call-charges.ts'
import {
  type CallRecord,
  RECORD_DAYS_MIN,
  type RecordedCall,
} from '../../core/usage/call-records.ts'
import type { StoredResponse } from '../../core/usage/stored-responses.ts'
import type { CallDeps } from './call-deps.ts'
import { bytesOf, endpointName } from './call-record.ts'
import type { PricedCall } from './call-types.ts'
import { type Refund, showRefund } from './refund-view.ts'

/** Advice about a call whose record is detached. */
const NO_RECEIPT = 'The call was paid and delivered. Its response is no longer stored.'
/** Reason of calls whose process died after the charge and before the response. */
const LOST = 'response_lost'

/**
 * Finds the record of the call that a stored response belongs to. If its process died before it
 * wrote one, writes it from the journal or the payment, so that the payer learns of the charge.
 */
export async function findRepeatedCall(
  deps: CallDeps,
  priced: PricedCall,
  { call, ...response }: StoredResponse,
): Promise<RecordedCall> {
  const known = await deps.calls.find(call)
  if (known) return known
  const { status } = response
  const isBought = deps.creditsOnly.has(priced.offering.service.slug)
  const outcome = isBought && status >= 300 ? 'taken' : 'delivered'
  const responseHash = sha256(bytesOf(response))
  const charge = await deps.charges.find(call)
  const record = recordOf(priced, call, charge, { outcome, status, reason: null, responseHash })
  deps.calls.add(record)
  return { record, name: endpointName(priced.offering) }
}

/**
 * Explains why a charged call has no stored response: it is no longer stored, or it was lost with
 * its process. A lost one is recorded first, because a call has one record: a process that is
 * still alive, and must record such a call before it delivers, then does not deliver it. The call
 * is refunded, unless an external seller has the money. The record of an old call may be detached:
 * it was not lost.
 * @returns undefined if a received payment pays for another attempt
 */
export async function explainMissingResponse(
  deps: CallDeps,
  priced: PricedCall,
  call: string,
): Promise<Fault | undefined> {
  const [known, charge] = await Promise.all([deps.calls.find(call), deps.charges.find(call)])
  const mayBeLost = instantOf(call) > daysBefore(deps.clock.now(), RECORD_DAYS_MIN)
  const found =
    known ?? (charge && mayBeLost ? await recordLost(deps, priced, call, charge) : undefined)
  const isLost = found?.record.reason === LOST
  if (isLost && charge && !charge.sale) {
    await deps.charges.refund(call, charge)
    if (charge.source === 'x402') return undefined
  }
  const isTaken = charge?.sale && found?.record.outcome === 'taken'
  const receipt = found && (await deps.receipts.sign(found.record, found.name))
  const headers = {
    'Idempotency-Replayed': 'true',
    'X-Call-Id': call,
    ...(receipt !== undefined && { 'X-Receipt': receipt }),
  }
  const extras = { call_id: call, ...(receipt !== undefined && { receipt }) }
  if (isTaken) {
    const detail = 'The seller took the payment, and its response was not delivered.'
    const payment = paymentOf(charge, 'taken')
    const more = { extras: { ...extras, ...payment }, headers, charged: charge.charged }
    return new Fault(LOST, detail, { ...more, money: 'taken' })
  }
  if (!isLost) {
    const charged = found?.record.charged ?? charge?.charged ?? 0n
    const payment = charge && paymentOf(charge, 'settled')
    const more = { extras: { ...extras, ...payment }, headers, charged, money: 'settled' } as const
    const advice = receipt === undefined ? NO_RECEIPT : undefined
    return new Fault('answer_expired', advice, { ...more, advice })
  }
  return new Fault(LOST, undefined, {
    extras: { ...extras, ...(charge && { refund: showRefund(priced, refundOf(charge), LOST) }) },
    headers: { ...headers, 'X-Refund-Reason': LOST },
  })
}

/** Records a call as lost. Returns the record that counts, which may be of its own process. */
async function recordLost(
  deps: CallDeps,
  priced: PricedCall,
  call: string,
  charge: CallCharge,
): Promise<RecordedCall> {
  const outcome = charge.sale ? 'taken' : 'failed'
  const [status] = FAULTS[LOST]
  const lost = recordOf(priced, call, charge, { outcome, status, reason: LOST, responseHash: null })
  return { record: await deps.calls.insert(lost), name: endpointName(priced.offering) }
}

/** Record of a call that its process did not write. */
function recordOf(
  { caller, offering, request, requestHash }: PricedCall,
  call: string,
  charge: CallCharge | undefined,
  result: Pick<CallRecord, 'outcome' | 'status' | 'reason' | 'responseHash'>,
): CallRecord {
  const isCharged = charge !== undefined && result.outcome !== 'failed'
  return {
    id: call,
    at: instantOf(call),
    requestId: request.requestId,
    principal: caller.keyId === null ? (charge?.payer ?? 'nobody') : caller.principal,
    keyId: caller.keyId,
    service: offering.service.slug,
    endpoint: charge?.endpoint || offering.endpointId,
    priceVersion: charge?.priceVersion || offering.priceVersion,
    source: isCharged ? charge.source : 'none',
    charged: isCharged ? charge.charged : 0n,
    latencyMs: 0,
    requestHash,
    entry: charge?.entry ?? null,
    usage: null,
    agent: request.agent ?? null,
    ...result,
  }
}

/** Payment of a call, to an external seller or from the caller; undefined for credits. */
function paymentOf({ charged, transaction, sale, source }: CallCharge, state: 'settled' | 'taken') {
  if (!sale && source !== 'x402') return undefined
  const payment = { state, amount_microdollars: json(charged), transaction, ...sale }
  return { transaction, payment }
}

const refundOf = ({ source, charged, freeUnits }: CallCharge): Refund => ({
  source,
  amount: charged,
  units: freeUnits ?? 1n,
})
