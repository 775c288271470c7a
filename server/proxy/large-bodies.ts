import { Fault } from '../../core/errors.ts'
import type { CallDeps } from './call-deps.ts'
import type { CallOutcome, CallRequest, Funds, PricedCall } from './call-types.ts'
import { type ExpectedLengths, LARGE_BYTES } from './expected-lengths.ts'
import { withRefund } from './settle.ts'

/** Maximum length of a free response without a key. */
export const KEYLESS_BYTES_MAX = 4 * 1_048_576

/**
 * Reserves memory for the large response that an unpaid call is expected to have, before its
 * handler runs, and lets other requests run first.
 * @returns undefined, without delay, for a paid call and if a small response is expected
 * @throws Fault `concurrency_limited`
 */
export function expectBody(
  { expectedLengths }: Pick<CallDeps, 'expectedLengths'>,
  { request, offering: { endpointId }, price }: PricedCall,
  funds: Funds,
): Promise<void> | undefined {
  if (isPaying(funds)) {
    if (request.trace) request.trace.reserved = price
    return undefined
  }
  const expected = expectedLengths.find(endpointId)
  if (expected !== undefined && expected <= LARGE_BYTES) return undefined
  return reserveInTurn(expectedLengths, request, endpointId)
}

/** Waits for its turn, after which the length of the endpoint may have become known. */
async function reserveInTurn(
  lengths: ExpectedLengths,
  request: CallRequest,
  endpointId: number,
): Promise<void> {
  const expected = lengths.find(endpointId)
  if (expected !== undefined) reserve(request, expected)
  await lengths.turn()
  if (expected === undefined) reserve(request, lengths.find(endpointId) ?? 0)
}

/**
 * Reserves memory for a large body that a handler has returned, before anything is charged for it.
 * @throws Fault `response_needs_key`, `response_needs_http` or `concurrency_limited`, unless a
 *   seller has been paid
 */
export function countBody(
  { expectedLengths, creditsOnly }: Pick<CallDeps, 'expectedLengths' | 'creditsOnly'>,
  priced: PricedCall,
  funds: Funds,
  { body }: CallOutcome,
): void {
  const { request, offering, caller } = priced
  const bytes = body instanceof Uint8Array ? body.length : 0
  if (bytes <= LARGE_BYTES) {
    if (isPaying(funds)) return
    const expected = expectedLengths.find(offering.endpointId)
    if (expected !== undefined && expected <= LARGE_BYTES) return
  }
  expectedLengths.record(offering.endpointId, bytes)
  const isKeyless = funds.source === 'none' && caller.keyId === null
  if (isKeyless && bytes > KEYLESS_BYTES_MAX) throw needsKey(bytes)
  if (creditsOnly.has(request.slug)) return void hasMemory(request, bytes)
  const isObtainable = request.isObtainable?.(body) !== false
  if (isObtainable && hasMemory(request, bytes)) return
  if (!isObtainable) funds.withhold?.()
  const fault = isObtainable ? noMemory() : new Fault('response_needs_http')
  throw withRefund(funds.explainFailure?.(fault) ?? fault, priced, funds)
}

const isPaying = ({ source }: Funds): boolean => source === 'credits' || source === 'x402'

/** Reserves memory for a body; returns false if there is none left. */
const hasMemory = ({ reserveMemory }: CallRequest, bytes: number): boolean =>
  reserveMemory?.(bytes) !== false

/** @throws Fault `concurrency_limited` */
function reserve(request: CallRequest, bytes: number): void {
  if (!hasMemory(request, bytes)) throw noMemory()
}

const noMemory = (): Fault =>
  new Fault('concurrency_limited', 'Too many large responses are being sent.')

const needsKey = (bytes: number): Fault =>
  new Fault('response_needs_key', undefined, {
    extras: { limit_bytes: KEYLESS_BYTES_MAX, actual_bytes: bytes },
  })
