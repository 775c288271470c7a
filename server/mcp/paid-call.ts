import { randomUUID } from 'node:crypto'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { FAULTS, type Fault, type FaultCode } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { dollars } from '../../core/money.ts'
import {
  paymentHeaderOf,
  paymentRequiredResult,
  signInHeaderOf,
  withChallenge,
  withReceipt,
} from '../../core/payments/receiving/mcp.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { problem } from '../http/problem.ts'
import { headersAndTrailers } from '../http/stream-start.ts'
import { parseIdempotencyKey } from '../proxy/attempt.ts'
import { call } from '../proxy/call.ts'
import type { CallDeps } from '../proxy/call-deps.ts'
import type { CallProgress, CallRequest } from '../proxy/call-types.ts'
import { type BodySlice, isObtainable, parseJsonText, readBody } from './body.ts'
import { convertToDollars, parseDollars } from './dollars.ts'
import { failureResult, jsonResult, problemResult } from './results.ts'
import type { ToolContext, ToolResult } from './tool.ts'

/** Arguments of a paid tool, as a call of a service. */
export interface ToolCall extends BodySlice {
  /** Name of the tool, which is the resource of the x402 offer. */
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

/** Makes a paid call, always with an idempotency key, so its rest can be read for free. */
export async function makePaidCall(
  deps: CallDeps,
  toolCall: ToolCall,
  context: ToolContext,
): Promise<ToolResult> {
  const key = toolCall.idempotency_key ?? `mcp-${randomUUID()}`
  try {
    const response = await call(deps, toCallRequest(toolCall, key, context))
    return await toToolResult(response, key, toolCall, context)
  } catch (error) {
    if (context.signal.aborted) throw error
    return faultResult(context.reportFault(error), toolCall, key, context)
  }
}

function toCallRequest(toolCall: ToolCall, key: string, context: ToolContext): CallRequest {
  const { tool, slug, method, path, max_price_usd: max } = toolCall
  const { requestId, address, trace, meta, signal, progress, reserveMemory } = context
  return {
    requestId,
    slug,
    method,
    path,
    url: () => `mcp://tool/${tool}`,
    query: toolCall.query ?? {},
    body: toolCall.body,
    ...payerOf(context),
    signInUrl: context.endpointUrl,
    signedMessage: context.signedMessage,
    addHeaders: context.addHeaders,
    payment: paymentHeaderOf(meta),
    idempotencyKey: parseIdempotencyKey(key),
    maxPrice: max === undefined ? undefined : parseDollars(max),
    maxPriceName: 'max_price_usd',
    dryRun: toolCall.dry_run ?? false,
    isGone: () => signal.aborted,
    onProgress: (event) => reportProgress(event, progress),
    reserveMemory,
    isObtainable,
    ip: address,
    trace,
  }
}

/**
 * Returns who pays: the key of the message, which was authenticated and rate-limited; or the wallet
 * that signed a challenge, whose key pays instead; or nobody, if the sign-in is refused.
 */
function payerOf({ caller, authorization, meta }: ToolContext) {
  const signIn = signInHeaderOf(meta)
  return signIn === undefined ? { caller, authorization } : { authorization: undefined, signIn }
}

const STAGES = 4

function reportProgress(event: CallProgress, report: ToolContext['progress']): void {
  switch (event.stage) {
    case 'priced':
      return report(1, STAGES, `The price is ${dollars(event.price)} USD.`)
    case 'funded':
      return report(2, STAGES, `The price is reserved (${event.source}); calling the service.`)
    case 'handled':
      return report(3, STAGES, 'The service has responded.')
    case 'settled':
      return report(4, STAGES, `Charged ${dollars(event.charged)} USD.`)
  }
}

/** Converts a response, with its charge. Any status but 2xx is a failure. */
async function toToolResult(
  response: HttpResponse,
  key: string,
  toolCall: ToolCall,
  { meta }: ToolContext,
): Promise<ToolResult> {
  const { status } = response
  if (toolCall.dry_run) return jsonResult(convertToDollars(response.body) as JsonObject)
  const hubProblem = hubProblemOf(response)
  if (hubProblem) return problemResult(hubProblem, { idempotency_key: key })
  const body = await readBody(response, toolCall)
  const headers = headersAndTrailers(response)
  const money = {
    ...costOf(headers),
    ...(headers['X-Balance-Microdollars'] !== undefined && {
      balance_usd: dollarsOf(headers['X-Balance-Microdollars']),
    }),
    paid_from: headers['X-Payment-Source'],
    call_id: headers['X-Call-Id'],
    idempotency_key: key,
    ...(headers['Idempotency-Replayed'] !== undefined && { replayed: true }),
    ...sellerDetailsOf(headers),
  }
  const failure = failureOf(status, headers)
  const receipt = headers['X-Receipt']
  const toResult = failure ? failureResult : jsonResult
  const value = { ...failure, status, ...money, ...body }
  const result = toResult(value, receipt && { [RECEIPT_META]: receipt })
  const payment = headers['PAYMENT-RESPONSE']
  return payment === undefined ? result : withReceipt(result, payment, meta)
}

/** Reason of a response that is refused or incomplete, and what to do next. */
function failureOf(status: number, headers: HttpResponse['headers']): JsonObject | undefined {
  const reason = headers['X-Refund-Reason']
  if (status < 200 || status > 299) {
    const next = `The service refused: see body. ${chargeAdvice(headers)}`
    return { error: 'service_refused', next }
  }
  if (reason === undefined) return undefined
  if (reason === 'response_needs_http') return { error: reason, next: needsHttpAdvice(headers) }
  return { error: reason, next: `The response was interrupted. ${chargeAdvice(headers)}` }
}

/** Advice on a stream that nobody can get here. Its payment, if it was taken, is refunded. */
const needsHttpAdvice = (headers: HttpResponse['headers']): string =>
  headers['PAYMENT-RESPONSE'] === undefined
    ? FAULTS.response_needs_http[2]
    : 'It is longer than 1 MiB and no text: call it over HTTP, by the proxy, and pay anew. The ' +
      'payment that was taken becomes credits of your wallet within a day.'

/** States the charge of a failure. An x402 payment that was taken before it stays with the hub. */
function chargeAdvice(headers: HttpResponse['headers']): string {
  const charges = [headers['X-Charged-Microdollars'], headers['X-Charged-Earlier-Microdollars']]
  if (charges.some((charge = '0') => charge !== '0')) return 'You were charged for this response.'
  if (headers['PAYMENT-RESPONSE'] === undefined) return 'You were not charged.'
  return (
    'Your payment was taken and pays for another attempt: call again with the same payment, ' +
    'arguments and idempotency_key. Unused for a day, it becomes credits of your wallet.'
  )
}

/** The charge, or the amount reserved until the call ends. */
const costOf = (headers: HttpResponse['headers']): JsonObject => {
  const charged = headers['X-Charged-Microdollars']
  return charged === undefined
    ? { reserved_usd: dollarsOf(headers['X-Reserved-Microdollars']) }
    : { charged_usd: dollarsOf(charged) }
}

/** `_meta` member of the hub's signed receipt (`POST /v1/receipts/verify`), for programs. */
const RECEIPT_META = 'agenthub/receipt'

/**
 * Body of the hub's own problem response, an object, or bytes if it was stored. Services may return
 * problems of their own.
 */
function hubProblemOf({ status, headers, body }: HttpResponse): JsonObject | undefined {
  if (headers['Content-Type'] !== PROBLEM_TYPE) return
  const isStored = body instanceof Uint8Array
  const problem = isStored ? parseJsonText(Buffer.from(body).toString('utf8'), PROBLEM_TYPE) : body
  if (!isJsonObject(problem)) return
  const code = String(problem['code'])
  if (!Object.hasOwn(FAULTS, code) || FAULTS[code as FaultCode][0] !== status) return
  return problem['type'] === `/docs/problems/${code}` ? problem : undefined
}
const PROBLEM_TYPE = 'application/problem+json'

/** Transaction of the payment to an external seller, and a warning about its outcome. */
const sellerDetailsOf = (headers: HttpResponse['headers']): JsonObject => ({
  ...(headers['X-Upstream-Transaction'] && { transaction: headers['X-Upstream-Transaction'] }),
  ...(headers['X-Upstream-Caution'] && { caution: headers['X-Upstream-Caution'] }),
})

const dollarsOf = (amount = '0'): string => dollars(BigInt(amount))

/** Converts a fault. An offer of x402, or a challenge to sign, is included in MCP's form. */
function faultResult(
  fault: Fault,
  { tool }: ToolCall,
  key: string,
  { requestId }: ToolContext,
): ToolResult {
  const { headers, body } = problem(fault.with({ advice: undefined }), requestId, `/mcp/${tool}`)
  const retryAfter = headers['Retry-After']
  const result = problemResult(body as JsonObject, {
    idempotency_key: key,
    ...(retryAfter !== undefined && { retry_after_seconds: Number(retryAfter) }),
  })
  const offer = headers['PAYMENT-REQUIRED']
  if (offer === undefined) return result
  const offered = paymentRequiredResult(decodePaymentRequiredHeader(offer))
  const both = { ...offered, content: [...offered.content, ...result.content] }
  const challenge = headers['WWW-Authenticate']
  return challenge === undefined ? both : withChallenge(both, challenge)
}
