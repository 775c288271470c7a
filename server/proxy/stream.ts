import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { asBuffer } from '../../core/bytes.ts'
import { elapsedMs } from '../../core/clock.ts'
import { logFailure } from '../../core/outages.ts'
import { Failure } from '../../core/plugin/index.ts'
import { StoppableStream } from '../../core/runtime/stoppable-stream.ts'
import { STORED_BYTES_MAX } from '../../core/usage/stored-responses.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { ResponseStream } from '../http/response-stream.ts'
import type { CallDeps } from './call-deps.ts'
import type { CallOutcome, CallRequest, Charge, HandledCall, HandlerStream } from './call-types.ts'
import { chargeHeaders, responseHeaders, signReceipt } from './respond.ts'
import { release, settle } from './settle.ts'

/** Maximum length of a stream; the same as that of a response from an external host. */
const STREAM_BYTES_MAX = 256 * 1_048_576

/**
 * Begins the response of a call whose body is a stream. The call is settled at the end of the
 * stream, before the caller sees that end; charge and receipt follow in trailers. A call that an
 * external seller was paid for is settled before it is sent.
 */
export async function stream(deps: CallDeps, handled: HandledCall): Promise<HttpResponse> {
  const { outcome, priced, attempt, funds } = handled
  await using scope = new AsyncDisposableStack()
  scope.defer(() => release(deps, priced, attempt, funds))
  const { isPaid } = outcome.stream!
  const charge = isPaid ? await settle(deps, handled) : undefined
  const target = new ResponseStream()
  void deps.pendingTasks.add(sendStream(deps, { handled, charge, scope: scope.move(), target }))
  const moneyHeaders = charge
    ? { ...charge.headers, ...chargeHeaders(outcome, charge) }
    : {
        ...funds.paymentHeaders,
        'X-Payment-Source': funds.source,
        'X-Reserved-Microdollars': String(funds.source === 'free' ? 0n : priced.price),
        ...(outcome.kind === 'failed' ? { 'X-Refund-Reason': outcome.reason } : {}),
      }
  const headers = {
    ...responseHeaders(priced, outcome.headers),
    ...moneyHeaders,
    Trailer:
      'X-Charged-Microdollars, X-Balance-Microdollars, X-Refund-Reason, X-Receipt, ' +
      'PAYMENT-RESPONSE',
  }
  return { status: outcome.status, headers, body: target }
}

interface OpenStream {
  readonly handled: HandledCall
  /** Set if the call was settled before it is sent. */
  readonly charge: Charge | undefined
  /** Releases the funds and the attempt if they were not settled. */
  readonly scope: AsyncDisposable
  readonly target: ResponseStream
}

/** Ends the response only after settlement, so that an interrupted call can be repeated at once. */
async function sendStream(deps: CallDeps, open: OpenStream): Promise<void> {
  const { target, handled } = open
  const { call } = handled.priced
  try {
    const failure = await sendAndSettle(deps, open)
    if (failure) deps.log.warn({ err: failure, call }, 'a stream was interrupted')
    target.finish(failure)
  } catch (error) {
    logFailure(deps.log, 'error', { err: error, call }, 'a stream was not settled')
    target.finish(error as Error)
  }
}

async function sendAndSettle(
  deps: CallDeps,
  { handled, charge: paid, scope, target }: OpenStream,
): Promise<Error | null> {
  await using _ = scope
  const { priced, attempt, funds } = handled
  const handlerStream = handled.outcome.stream!
  const { deadline, isPaid, charging } = handlerStream
  const isStored = attempt.keyed !== undefined || (funds.storesResponse ?? false)
  // A call that is paid already costs the same whether it is read to its end or not; a metered one
  // that nobody can read later costs what was used until its reader left.
  const endsWithReader = isPaid || (charging.isMetered && !isStored)
  const abandoned = new AbortController()
  const left = endsWithReader ? target.closeSignal : abandoned.signal
  const { isObtainable } = priced.request
  const onTooLong = (start: readonly Buffer[]): void => {
    if (!isPaid && start.length > 0 && isObtainable) assertText(start, isObtainable)
    if (charging.isMetered && target.closeSignal.aborted) abandoned.abort()
  }
  const until = AbortSignal.any([deadline, left])
  const end = await relay(handlerStream, target, until, isStored ? onTooLong : undefined)
  if (end.failure?.reason === NEEDS_HTTP) funds.withhold?.()
  const outcome = outcomeAtEnd(handled.outcome, handlerStream, end, target)
  const charge = paid ?? (await settle(deps, { ...handled, outcome }))
  const isStorable = isPaid || end.bytes !== undefined // a paid one is charged whatever happens
  const receipt = await signReceipt(deps, { ...handled, outcome, charge }, end.hash, isStorable)
  const payment = paid ? undefined : charge.headers
  target.trailers = { ...payment, ...chargeHeaders(outcome, charge), 'X-Receipt': receipt }
  const { trace } = priced.request
  if (trace) trace.charged = charge.amount
  return end.failure?.cause ?? null
}

/** Reason of a stream that is too long to store, and that its caller cannot get otherwise. */
const NEEDS_HTTP = 'response_needs_http'

class NeedsHttp extends Error {
  override readonly name = 'NeedsHttp'
}

/** @throws NeedsHttp if the caller can get nothing of a stream that is too long to be stored */
function assertText(
  start: readonly Buffer[],
  isObtainable: NonNullable<CallRequest['isObtainable']>,
): void {
  const bytes = Buffer.concat(start).subarray(0, STORED_BYTES_MAX)
  if (!isObtainable(bytes, false)) throw new NeedsHttp('the stream is too long, and no text')
}

/** Outcome of a call by the end of its stream. A body that is not stored cannot be repeated. */
function outcomeAtEnd(
  begun: CallOutcome,
  { isPaid, charging }: HandlerStream,
  { failure, isCallerTooSlow, bytes }: StreamEnd,
  target: ResponseStream,
): CallOutcome {
  const { status, headers, latencyMs } = begun
  const common = { status, headers, latencyMs, body: bytes ?? target }
  if (begun.kind !== 'delivered') return { ...begun, ...common }
  if (charging.fault && !isPaid) return { ...common, kind: 'failed', reason: charging.fault.code }
  const charged = isPaid ? begun.charged : charging.charged
  const delivered = {
    ...common,
    kind: 'delivered',
    charged,
    ...charging.usageOf('delivered'),
  } as const
  if (!failure) {
    return charging.isExhausted ? { ...delivered, reason: 'max_price_reached' } : delivered
  }
  const hasLeft = isPaid || (charging.isMetered && failure.reason === 'caller_left')
  if (hasLeft && target.destroyed) return { ...delivered, reason: 'caller_left' }
  if (isCallerTooSlow) return { ...delivered, reason: 'caller_too_slow' }
  if (isPaid) return { ...common, kind: 'taken', charged, reason: failure.reason }
  return { ...common, kind: 'failed', reason: failure.reason }
}

/** End of a stream: complete, or interrupted by a failure. */
interface StreamEnd {
  /** Undefined: the stream was complete. */
  readonly failure?: { readonly reason: string; readonly cause: Error } | undefined
  /** True if the deadline passed because the caller read too slowly. */
  readonly isCallerTooSlow: boolean
  /** sha256 of the whole stream; null if it was interrupted. */
  readonly hash: Buffer | null
  /** The whole stream, if it is to be stored and short enough. */
  readonly bytes?: Buffer | undefined
}

/**
 * Relays a stream to its end, until the signal aborts, or until more usage is reported than is
 * covered, whether its reader stays or leaves. At the deadline, the side that kept the other
 * waiting longer is at fault.
 * @param onTooLong called for each chunk that makes the stream too long to store, the first time
 *   with all chunks until then; omitted if it is not to be stored
 */
async function relay(
  { source, charging, deadline }: HandlerStream,
  target: ResponseStream,
  until: AbortSignal,
  onTooLong: ((start: readonly Buffer[]) => void) | undefined,
): Promise<StreamEnd> {
  const hash = createHash('sha256')
  const waitedMs = { source: 0, caller: 0 }
  const stop = AbortSignal.any([until, target.closeSignal])
  const stored: Buffer[] = []
  let size = 0
  let lapStart = elapsedMs()
  const endLap = (side: keyof typeof waitedMs): void => {
    waitedMs[side] -= lapStart
    waitedMs[side] += lapStart = elapsedMs()
  }
  try {
    const chunks = new StoppableStream(source, until)
    charging.onExhausted = () => chunks.stop()
    for await (const chunk of chunks) {
      endLap('source')
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : asBuffer(chunk)
      size += bytes.length
      if (size > STREAM_BYTES_MAX) throw new Error('the stream is too long')
      hash.update(bytes)
      if (onTooLong && size <= STORED_BYTES_MAX) stored.push(bytes)
      else onTooLong?.(size - bytes.length <= STORED_BYTES_MAX ? [...stored.splice(0), bytes] : [])
      if (!target.destroyed && !target.write(bytes)) await drained(target, stop)
      endLap('caller')
    }
  } catch (cause) {
    charging.close()
    endLap('source')
    const hasLeft = until.aborted && !deadline.aborted
    const isLate = until.aborted
    const isUnreadable = cause instanceof NeedsHttp
    const code = cause instanceof Failure ? cause.code : isUnreadable ? NEEDS_HTTP : 'stream_broken'
    const lateReason = hasLeft ? 'caller_left' : 'deadline'
    const reason = isLate ? lateReason : size > STREAM_BYTES_MAX ? 'stream_too_large' : code
    const isCallerTooSlow = isLate && waitedMs.caller > waitedMs.source
    return { failure: { reason, cause: cause as Error }, isCallerTooSlow, hash: null }
  }
  const bytes = onTooLong && size <= STORED_BYTES_MAX ? Buffer.concat(stored) : undefined
  return { isCallerTooSlow: false, hash: hash.digest(), bytes }
}

/** Resolves when the target accepts more, or when the signal aborts. */
const drained = (target: ResponseStream, signal: AbortSignal): Promise<unknown> =>
  once(target, 'drain', { signal }).catch(() => undefined)
