import { sha256 } from '../../core/crypto/sha256.ts'
import type { Log } from '../../core/log.ts'
import { deprecationHeaders } from '../../core/plugin/deprecation.ts'
import type { UnderWay } from '../../core/runtime/pending-tasks.ts'
import type { Receipts } from '../../core/usage/receipts.ts'
import { BODILESS } from '../http/answer.ts'
import { viewOf } from '../http/bytes.ts'
import type { Flowing, Funds, Made, Outcome, Receipt, Reply, Started, Steps } from './call.ts'
import { isOwnHeader } from './own-headers.ts'
import { nameOf, type Record } from './record.ts'
import { type Ending, Flow, passOn } from './stream.ts'

type Signing = Pick<Receipts, 'sign'>

/** The receipt of a call of before; undefined: nobody has noted it. */
export type ReceiptOf = (call: string) => Promise<string | undefined>

/** The answer of a call that was made, with what it cost, what is left, and a receipt. */
export const createRespond =
  (record: Record, receipts: Signing, receiptOf: ReceiptOf) =>
  async (made: Made): Promise<Reply> => {
    const { outcome, receipt } = made
    const body = bytesOf(outcome)
    const signed =
      outcome.repeats === undefined
        ? { 'X-Receipt': await sign(made, sha256(body), record, receipts) }
        : await signedBefore(outcome.repeats, receiptOf)
    const cost = costOf(outcome, receipt)
    const headers = { ...headersOf(made), ...receipt.headers, ...cost, ...signed }
    return { status: outcome.status, headers, body }
  }

/** An answer of before has the receipt of before, and is no call of its own. */
async function signedBefore(call: string, receiptOf: ReceiptOf) {
  const receipt = await receiptOf(call)
  return { 'X-Call-Id': call, ...(receipt !== undefined && { 'X-Receipt': receipt }) }
}

export interface StreamPorts {
  readonly record: Record
  readonly receipts: Signing
  readonly settle: Steps['settle']
  /** What is waited for before the hub ends: a stream whose caller has left has no connection. */
  readonly underWay: UnderWay
  readonly log: Log
}

/**
 * The answer of a call that sends a stream. What it comes to is known at its end: then it is
 * settled, before its caller sees that end, and the rest is told in trailers.
 */
export const createStream =
  (ports: StreamPorts): Steps['stream'] =>
  async (started, funds) => {
    await using scope = new AsyncDisposableStack()
    scope.use(funds)
    const { outcome, offer } = started
    const { isPaid } = outcome.flowing!
    const paid = isPaid ? await ports.settle(funds, started) : undefined
    const flow = new Flow()
    void ports.underWay.add(runToEnd(ports, { started, funds, paid, scope: scope.move(), flow }))
    const held = {
      ...funds.paid,
      'X-Payment-Source': funds.source,
      'X-Reserved-Microdollars': String(funds.source === 'free' ? 0n : offer.price),
    }
    const headers = {
      ...headersOf(started),
      ...(paid ? { ...paid.headers, ...costOf(outcome, paid) } : held),
      Trailer: 'X-Charged-Microdollars, X-Balance-Microdollars, X-Refund-Reason, X-Receipt',
    }
    return { status: outcome.status, headers, body: flow }
  }

/** Its end is seen when its money has come to rest: what broke off may be asked for at once. */
async function runToEnd(ports: StreamPorts, running: Running): Promise<void> {
  const { flow } = running
  const { call } = running.started.offer
  try {
    const failure = await settledAtEnd(ports, running)
    if (failure) ports.log.warn({ err: failure, call }, 'a stream broke off')
    flow.finish(failure)
  } catch (error) {
    ports.log.error({ err: error, call }, 'a stream was not settled')
    flow.finish(error as Error)
  }
}

interface Running {
  readonly started: Started
  readonly funds: Funds
  /** What was settled already. */
  readonly paid: Receipt | undefined
  /** Gives back what is not settled. */
  readonly scope: AsyncDisposable
  readonly flow: Flow
}

async function settledAtEnd(
  { record, receipts, settle }: StreamPorts,
  { started, funds, paid, scope, flow }: Running,
): Promise<Error | null> {
  await using _ = scope
  const { request } = started
  const flowing = started.outcome.flowing!
  const { source, deadline, isPaid } = flowing
  // Whether it comes whole bears on nothing that is paid: then nobody reads on for who has left.
  const until = isPaid ? AbortSignal.any([deadline, flow.gone]) : deadline
  const ending = await passOn(source, flow, until, funds.keeps ?? false)
  const outcome = ended(started.outcome, flowing, ending, flow)
  const receipt = paid ?? (await settle(funds, { ...started, outcome }))
  const made = { ...started, outcome, receipt }
  const signed = await sign(made, ending.hash, record, receipts)
  flow.trailers = { ...costOf(outcome, receipt), 'X-Receipt': signed }
  if (request.trace) request.trace.charged = receipt.charged
  return ending.failure?.cause ?? null
}

/** What came of it. A body that is not kept is no body that anybody could have again. */
function ended(begun: Outcome, flowing: Flowing, ending: Ending, flow: Flow): Outcome {
  const { failure, byCaller, bytes } = ending
  const { status, headers, latencyMs } = begun
  const common = { status, headers, latencyMs, body: bytes ?? flow }
  if (begun.kind !== 'delivered') return { ...begun, ...common }
  const charged = flowing.isPaid ? begun.charged : flowing.charged()
  if (!failure) return { ...common, kind: 'delivered', charged }
  if (flowing.isPaid && flow.destroyed) {
    return { ...common, kind: 'delivered', charged, reason: 'caller_left' }
  }
  if (byCaller) return { ...common, kind: 'delivered', charged, reason: 'caller_too_slow' }
  if (flowing.isPaid) return { ...common, kind: 'taken', charged, reason: failure.reason }
  return { ...common, kind: 'failed', reason: failure.reason }
}

/** Notes the call, and gives its receipt. */
const sign = (
  made: Made,
  hash: Buffer | null,
  record: Record,
  receipts: Signing,
): Promise<string> => receipts.sign(record.made(made, hash), nameOf(made.offer.offering))

function headersOf({ offer, outcome }: Started): Reply['headers'] {
  return {
    ...passedOn(outcome.headers),
    ...deprecationHeaders(offer.offering.service.deprecated),
    'Cache-Control': 'no-store',
    'X-Call-Id': offer.call,
    ...(outcome.kind === 'failed' ? { 'X-Refund-Reason': outcome.reason } : {}),
  }
}

/** Headers of a handler, without those that it may not set. */
const passedOn = (headers: Reply['headers']): Reply['headers'] =>
  Object.keys(headers).some(isOwnHeader)
    ? Object.fromEntries(Object.entries(headers).filter(([name]) => !isOwnHeader(name)))
    : headers

/** What it cost, who paid, and what is left. */
const costOf = (outcome: Outcome, { charged, source, balance }: Receipt) => ({
  'X-Charged-Microdollars': String(charged),
  'X-Payment-Source': source,
  ...(balance === undefined ? {} : { 'X-Balance-Microdollars': String(balance) }),
  ...(outcome.kind === 'failed' ? { 'X-Refund-Reason': outcome.reason } : {}),
})

/** Exactly what is sent. */
function bytesOf({ status, body }: Pick<Reply, 'status' | 'body'>): Buffer {
  if (BODILESS.has(status)) return Buffer.alloc(0)
  return body instanceof Uint8Array ? viewOf(body) : Buffer.from(JSON.stringify(body ?? null))
}
