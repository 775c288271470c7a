import { Readable } from 'node:stream'
import { elapsedMs } from '../../core/clock.ts'
import { relayableHeaders } from '../../core/egress/headers.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import { json, type Micros, micros } from '../../core/money.ts'
import type { ValueCheck } from '../../core/plugin/check-value.ts'
import { Reply, Taken, Unresolved } from '../../core/plugin/index.ts'
import type { Issue } from '../../core/plugin/validate.ts'
import { problem } from '../http/problem.ts'
import { discardBody } from '../http/response-stream.ts'
import type { CallDeps } from './call-deps.ts'
import { recordFailure } from './call-record.ts'
import type { CallOutcome, CallRequest, Funds, PricedCall } from './call-types.ts'
import { Charging } from './charging.ts'
import { providerFault, sendableBody, withDeadline } from './provider-code.ts'
import { withRefund } from './settle.ts'

/**
 * Runs the handler until its deadline and determines the outcome. Only privileged services
 * (`creditsOnly`) may park the price or charge without a delivered response.
 * @throws Fault for a handler that failed, unless it has parked the price: the outcome is then
 *   unresolved
 */
export async function handle(
  deps: CallDeps,
  priced: PricedCall,
  funds: Funds,
): Promise<CallOutcome> {
  if (priced.request.isGone?.()) throw new Fault('caller_gone') // before any work is done
  const start = elapsedMs()
  const latencyMs = (): number => Math.ceil(elapsedMs() - start)
  const { slug } = priced.offering.service
  try {
    const isPrivileged = deps.creditsOnly.has(slug)
    return { ...(await runHandler(priced, funds, isPrivileged)), latencyMs: latencyMs() }
  } catch (error) {
    const fault = providerFault(error, slug, deps.log)
    if (funds.parked) return { ...unresolvedOutcome(fault, priced), latencyMs: latencyMs() }
    const refunded = withRefund(funds.explainFailure?.(fault) ?? fault, priced, funds)
    recordFailure(deps, priced, funds, refunded, latencyMs())
    throw refunded
  }
}

/** A CallOutcome without the latency. */
type HandlerOutcome = CallOutcome extends infer O
  ? O extends unknown
    ? Omit<O, 'latencyMs'>
    : never
  : never

async function runHandler(
  priced: PricedCall,
  funds: Funds,
  isPrivileged: boolean,
): Promise<HandlerOutcome> {
  const { request } = priced
  const { endpoint } = priced.offering
  const charging = new Charging(priced)
  const handlerCall = {
    id: priced.call,
    input: priced.input,
    payer: funds.payer,
    // Not a getter: see the request literal in entry.ts.
    headers: relayableHeaders(request.headers ?? {}, endpoint.headers),
    terms: priced.terms,
    price: priced.price,
    ...(request.agent !== undefined && { agent: request.agent }),
    ...(isPrivileged && { park: (parked: boolean) => funds.park?.(parked) }),
    charge: (amount: Micros) => charging.lower(amount),
    meter: (unit: string, quantity: number | bigint) => charging.add(unit, quantity),
  }
  let deadline: AbortSignal | undefined
  let returned: unknown
  try {
    returned = await withDeadline(endpoint, (signal) =>
      endpoint.handle(Object.assign(handlerCall, { signal: (deadline = signal) })),
    )
  } catch (error) {
    throw charging.fault ?? error
  }
  if (charging.fault) throw charging.fault // even if the handler caught it
  if (returned instanceof Unresolved || returned instanceof Taken) {
    if (!isPrivileged) throw unprivilegedOutcome()
    return privilegedOutcome(returned, charging.charged, request)
  }
  const reply = returned instanceof Reply ? returned : new Reply(returned)
  try {
    const outcome = outcomeOf(reply, charging.charged)
    const { checkOutput } = priced.offering
    if (checkOutput && isSuccess(reply.status)) await assertOutput(checkOutput, reply, priced)
    if (!(reply.body instanceof Readable)) return { ...outcome, ...charging.usageOf(outcome.kind) }
    if (endpoint.streams !== true) throw undeclaredStream()
    const source = reply.body
    return {
      ...outcome,
      stream: { source, deadline: deadline!, charging, isPaid: isPrivileged },
    }
  } catch (error) {
    discardBody(reply.body)
    throw error
  }
}

function privilegedOutcome(
  returned: Unresolved | Taken,
  charged: Micros,
  request: CallRequest,
): HandlerOutcome {
  const code = returned.code as FaultCode
  const money = returned instanceof Taken ? 'taken' : 'unresolved'
  const fault = new Fault(code, returned.detail, { extras: returned.extras, money })
  const instance = pathOf(request)
  if (returned instanceof Unresolved) {
    return { kind: 'unresolved', ...problem(fault, request.requestId, instance) }
  }
  const body = problem(fault, request.requestId, instance, json(charged))
  return { kind: 'taken', charged, reason: code, ...body }
}

/** Outcome of a handler that failed after it had parked the price. */
function unresolvedOutcome({ code }: Fault, { call, price, request }: PricedCall): HandlerOutcome {
  const detail = `The outcome is not known yet and the price is held. See GET /v1/calls/${call}.`
  const payment = { state: 'unresolved', amount_microdollars: json(price) }
  const fault = new Fault(code, detail, { extras: { payment }, money: 'unresolved' })
  return { kind: 'unresolved', ...problem(fault, request.requestId, pathOf(request)) }
}

const pathOf = ({ url }: CallRequest): string => new URL(url()).pathname

/** Any status but 2xx, 304 and a charged 4xx is a failure. */
function outcomeOf(reply: Reply, charged: Micros): HandlerOutcome {
  const sent = sendableBody(reply)
  const { status, headers } = reply
  // The caller has the response already: nothing failed, and nothing is charged.
  if (status === 304) {
    return { kind: 'delivered', charged: micros(0n), status, headers, body: undefined }
  }
  if (reply.isCharged && status >= 400 && status <= 499) {
    return { kind: 'delivered', charged, status, headers, body: sent }
  }
  if (!isSuccess(status)) {
    return { kind: 'failed', reason: `status_${status}`, status, headers, body: sent }
  }
  return { kind: 'delivered', charged, status, headers, body: sent }
}

const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** @throws Fault `plugin_failed` for a response that does not match its declared schema */
async function assertOutput(
  check: ValueCheck,
  { body }: Reply,
  { offering }: PricedCall,
): Promise<void> {
  const issues = await findOutputIssues(check, body)
  if (issues.length === 0) return
  throw new Fault('plugin_failed', 'The response does not match its declared schema.', {
    extras: { reason: 'output_schema' },
    cause: new Error(`${offering.service.slug}: ${JSON.stringify(issues.slice(0, 3))}`),
  })
}

/** Validates a body; bytes are JSON text. @throws Fault `plugin_failed` if they are not */
async function findOutputIssues(check: ValueCheck, body: unknown): Promise<readonly Issue[]> {
  try {
    return await check(body)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Fault('plugin_failed', 'The response is not JSON.', {
      extras: { reason: 'output_schema' },
      cause: error,
    })
  }
}

const unprivilegedOutcome = (): Fault =>
  new Fault('plugin_contract', 'The service may not hold or keep the price without a response.')

const undeclaredStream = (): Fault =>
  new Fault('plugin_contract', 'The service returned a stream without declaring `streams`.', {
    extras: { reason: 'stream_not_declared' },
  })
