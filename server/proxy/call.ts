import type { Caller } from '../../core/identity/keys.ts'
import type { MoneyOutcome } from '../../core/money-outcome.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { toFault, withOutcome } from '../http/problem.ts'
import { identifyAgent } from './agent.ts'
import { beginAttempt } from './attempt.ts'
import { authenticate, limitRate } from './authenticate.ts'
import type { CallDeps } from './call-deps.ts'
import type { AnonymousCaller, CallRequest, Funds } from './call-types.ts'
import { dryRun } from './dry-run.ts'
import { fund } from './fund.ts'
import { handle } from './handle.ts'
import { countBody, expectBody } from './large-bodies.ts'
import { paymentRequired } from './payment-required.ts'
import { quote } from './quote.ts'
import { replay, respond } from './respond.ts'
import { release, settle } from './settle.ts'
import { stream } from './stream.ts'

/**
 * Makes one paid call, from the caller's key to the response. Every entry point calls this
 * function; no other code charges for a call. Each step throws a Fault to refuse the call.
 *
 * - A caller who cannot pay sees the 402 before any input error, so that indexers that probe with
 *   empty bodies find the price; a caller who can pay sees the 422 before anything is reserved.
 * - A dry run meets the same refusals as the call and moves no money.
 * - The same Idempotency-Key, or the same x402 payment, is charged once. A repetition returns the
 *   stored response and receipt: no handler runs, nothing is charged, no call is recorded.
 *   A key's stored response needs only the permission to call the service; a payment's needs a
 *   valid input and quote.
 * - Free calls pay first, then credits, then x402. A payment received for a failed attempt pays
 *   before all of them. An endpoint that costs nothing needs no funds.
 * - A call is charged only if it is delivered, or if an external seller has taken the money. The
 *   response is stored before the charge, so that the charged payer can obtain it.
 * - Every other failure releases the funds and the Idempotency-Key, and a caller who disconnected
 *   before the handler starts is not charged. An upfront x402 payment then pays for the next
 *   attempt. Parked funds and those of an unresolved call stay reserved until the outcome is known.
 * - A hold outlives the call's deadline: only a crash lets it expire. A response that comes after
 *   its hold was released is neither charged nor delivered.
 * - A stream settles at its end, before the caller sees that end; it then owns funds and attempt.
 */
export function call(deps: CallDeps, request: CallRequest): Promise<HttpResponse> {
  const state = { isCharging: false }
  return makeCall(deps, request, state).catch((error: unknown) => {
    throw withOutcome(toFault(error), outcomeOfFailure(request, state.isCharging))
  })
}

/** Money outcome of a call whose failure does not state it. */
function outcomeOfFailure(
  { dryRun, payment, idempotencyKey }: CallRequest,
  isCharging: boolean,
): MoneyOutcome {
  if (dryRun) return 'none'
  if (payment !== undefined) return 'pending'
  if (idempotencyKey !== undefined) return 'unknown' // an earlier attempt may have been charged
  return isCharging ? 'uncertain' : 'none'
}

/** Authenticates the caller and counts the request. @throws Fault 401, 429 */
async function admit(deps: CallDeps, sent: CallRequest): Promise<Caller | AnonymousCaller> {
  const { trace } = sent
  trace?.begin('authenticate')
  const caller = await authenticate(deps, sent)
  if (trace && caller.keyId !== null) trace.identify(caller)
  trace?.begin('limit')
  const { headers } = await limitRate(deps, caller)
  sent.addHeaders?.(headers)
  return caller
}

async function makeCall(
  deps: CallDeps,
  sent: CallRequest,
  state: { isCharging: boolean },
): Promise<HttpResponse> {
  const { trace, onProgress } = sent
  const caller = sent.caller ?? (await admit(deps, sent)) // 401, 429
  const { signedMessage } = sent
  const request = signedMessage ? await identifyAgent(deps, caller, sent, signedMessage) : sent
  trace?.begin('quote')
  const quoted = await quote(deps, caller, request) // 400, 404, 405, 402 price_exceeds_max
  if (trace) trace.service = quoted.offering.service.slug
  if (!quoted.inputError) onProgress?.({ stage: 'priced', price: quoted.price })
  if (request.dryRun) {
    trace?.begin('foresee') // value of the metric label `step`
    return await dryRun(deps, quoted)
  }
  trace?.begin('fund')
  const attempt = await beginAttempt(deps, quoted) // 402, 409, 410, 422
  const priced = attempt.resumed === undefined ? quoted : { ...quoted, call: attempt.resumed }
  if (attempt.replayable) {
    trace?.begin('respond')
    return await replay(deps, priced, attempt.replayable)
  }
  let funds: Funds | undefined
  let isStreaming = false
  try {
    funds = attempt.prepaid ?? (await fund(deps, priced)) // 403, 429
    if (!funds) throw await paymentRequired(deps, priced) // 402
    trace?.begin('handle')
    onProgress?.({ stage: 'funded', source: funds.source })
    const turn = expectBody(deps, priced, funds) // 429
    if (turn) await turn
    const outcome = await handle(deps, priced, funds) // 4xx, 502, 504
    countBody(deps, priced, funds, outcome) // 403, 429
    const handled = { priced, attempt, funds, outcome }
    isStreaming = outcome.stream !== undefined
    state.isCharging = true
    if (isStreaming) {
      trace?.begin('respond')
      return await stream(deps, handled)
    }
    trace?.begin('settle')
    onProgress?.({ stage: 'handled' })
    const charge = await settle(deps, handled) // 503
    if (trace) trace.charged = charge.amount
    onProgress?.({ stage: 'settled', charged: charge.amount })
    trace?.begin('respond')
    return await respond(deps, { ...handled, charge })
  } finally {
    if (!isStreaming) await release(deps, priced, attempt, funds)
  }
}
