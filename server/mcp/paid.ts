import { randomUUID } from 'node:crypto'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { FAULTS, type Fault, type FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import {
  paymentHeaderOf,
  paymentRequiredResult,
  withReceipt,
} from '../../core/payments/receiving/mcp.ts'
import { problem } from '../http/problem.ts'
import { type CallRequest, call, type HttpResponse, type Steps } from '../proxy/call.ts'
import { idempotencyKeyOf } from '../proxy/idempotent.ts'
import { ResponseStream } from '../http/response-stream.ts'
import { bodyOf, parsed, type Slice } from './body.ts'
import { dollars, inDollars, readDollars } from './dollars.ts'
import { failed, problemResult, told } from './results.ts'
import type { ToolContext, ToolResult } from './tool.ts'

/** A paid call, as a tool was asked for it. */
export interface Order extends Slice {
  /** Name of the tool: what the x402 offer is for. */
  readonly tool: string
  readonly slug: string
  readonly method: string
  readonly path: string
  readonly query?: JsonObject
  readonly body?: unknown
  readonly max_price_usd?: string | undefined
  readonly idempotency_key?: string | undefined
  readonly dry_run?: boolean | undefined
}

/**
 * Makes a call by the same pipeline as the proxy; there is no other way to money. Its first two
 * steps, key and rate, are done once for each message, before it is read.
 *
 * Each call has a name, the agent's or one of ours, so that a long answer can be read on without
 * paying again.
 */
export async function pay(steps: Steps, order: Order, context: ToolContext): Promise<ToolResult> {
  const key = order.idempotency_key ?? `mcp-${randomUUID()}`
  try {
    const reply = await call(staged(steps, context), requestOf(order, key, context))
    return await show(reply, key, order)
  } catch (error) {
    if (context.signal.aborted) throw error
    return refused(context.reported(error), order, key, context)
  }
}

function requestOf(order: Order, key: string, context: ToolContext): CallRequest {
  const { tool, slug, method, path, max_price_usd: max } = order
  const { requestId, authorization, address, trace, meta, signal } = context
  return {
    requestId,
    slug,
    method,
    path,
    url: () => `mcp://tool/${tool}`,
    query: order.query ?? {},
    body: order.body,
    authorization,
    payment: paymentHeaderOf(meta),
    idempotencyKey: idempotencyKeyOf(key),
    maxPrice: max === undefined ? undefined : readDollars(max),
    dryRun: order.dry_run ?? false,
    isGone: () => signal.aborted,
    ip: address,
    trace,
  }
}

const STAGES = 4

/** The same steps, which tell how far they are. */
const staged = (steps: Steps, { caller, progress, trace }: ToolContext): Steps => ({
  ...steps,
  authenticate: async () => caller,
  limitRate: async () => {},
  quote: async (...given) => {
    const offer = await steps.quote(...given)
    if (!offer.complaint) progress(1, STAGES, `It costs ${dollars(offer.price)} USD.`)
    return offer
  },
  handle: async (...given) => {
    progress(2, STAGES, `The price is held (${given[2].source}); the call is made.`)
    return steps.handle(...given)
  },
  settle: async (...given) => {
    progress(3, STAGES, 'The answer is there.')
    const receipt = await steps.settle(...given)
    trace.charged = receipt.charged
    progress(4, STAGES, `Charged ${dollars(receipt.charged)} USD.`)
    return receipt
  },
})

/** What came, and what it cost. Anything but a 2xx is a failure that the model is told. */
async function show(reply: HttpResponse, key: string, order: Order): Promise<ToolResult> {
  const { status, body } = reply
  if (order.dry_run) return told(inDollars(body) as JsonObject)
  const ours = problemOf(reply)
  if (ours) return problemResult(ours, { idempotency_key: key })
  const shown = await bodyOf(reply, order)
  const headers: HttpResponse['headers'] = { ...reply.headers, ...atItsEnd(body) }
  const money = {
    ...costOf(headers),
    ...(headers['X-Balance-Microdollars'] !== undefined && {
      balance_usd: dollarsOf(headers['X-Balance-Microdollars']),
    }),
    paid_from: headers['X-Payment-Source'],
    call_id: headers['X-Call-Id'],
    idempotency_key: key,
    ...(headers['Idempotency-Replayed'] !== undefined && { replayed: true }),
    ...upstreamOf(headers),
  }
  const reason = headers['X-Refund-Reason']
  if (status >= 200 && status <= 299 && reason !== undefined) {
    const next = 'The answer broke off. You were not charged; call again.'
    return failed({ error: reason, status, next, ...money, ...shown })
  }
  if (status < 200 || status > 299) {
    const next = 'The service refused: see body. You were not charged.'
    return failed({ error: 'service_refused', status, next, ...money, ...shown })
  }
  const signed = headers['X-Receipt']
  const result = told({ status, ...money, ...shown }, signed && { [RECEIPT]: signed })
  const receipt = headers['PAYMENT-RESPONSE']
  return receipt === undefined ? result : withReceipt(result, receipt)
}

/** What a stream came to; nothing, if it was left before its end. */
const atItsEnd = (body: unknown): HttpResponse['headers'] =>
  body instanceof ResponseStream ? (body.trailers ?? {}) : {}

/** What was charged, or is held until the call is over. */
const costOf = (headers: HttpResponse['headers']): JsonObject => {
  const charged = headers['X-Charged-Microdollars']
  return charged === undefined
    ? { reserved_usd: dollarsOf(headers['X-Reserved-Microdollars']) }
    : { charged_usd: dollarsOf(charged) }
}

/** Our signed receipt (`POST /v1/receipts/verify`): for programs, and no reading for a model. */
const RECEIPT = 'agenthub/receipt'

/** The problem that the hub answers with, if it is one: services have problems of their own. */
function problemOf({ status, headers, body }: HttpResponse): JsonObject | undefined {
  if (headers['Content-Type'] !== PROBLEM_TYPE || !(body instanceof Uint8Array)) return
  const read = parsed(Buffer.from(body).toString('utf8'), PROBLEM_TYPE) as JsonObject | null
  const code = String(read?.['code'])
  if (!Object.hasOwn(FAULTS, code) || FAULTS[code as FaultCode][0] !== status) return
  return read?.['type'] === `/docs/problems/${code}` ? read : undefined
}
const PROBLEM_TYPE = 'application/problem+json'

/** What the seller outside got, and what to beware of. */
const upstreamOf = (headers: HttpResponse['headers']): JsonObject => ({
  ...(headers['X-Upstream-Transaction'] && { transaction: headers['X-Upstream-Transaction'] }),
  ...(headers['X-Upstream-Caution'] && { caution: headers['X-Upstream-Caution'] }),
})

const dollarsOf = (amount = '0'): string => dollars(BigInt(amount))

/** A fault; where x402 can pay, the offer in the form that MCP gives it. */
function refused(fault: Fault, order: Order, key: string, { requestId }: ToolContext): ToolResult {
  const { headers, body } = problem(fault, requestId, `/mcp/${order.tool}`)
  const told = problemResult(body as JsonObject, { idempotency_key: key })
  const offer = headers['PAYMENT-REQUIRED']
  if (offer === undefined) return told
  const offered = paymentRequiredResult(decodePaymentRequiredHeader(offer))
  return { ...offered, content: [...offered.content, ...told.content] }
}
