import { Readable } from 'node:stream'
import { elapsedMs } from '../../core/clock.ts'
import { relayableHeaders } from '../../core/egress/headers.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { Log } from '../../core/log.ts'
import { json, type Micros, micros } from '../../core/money.ts'
import { Reply, Taken, Unresolved } from '../../core/plugin/index.ts'
import type { KeptAnswer } from '../../core/usage/kept-answers.ts'
import { viewOf } from '../http/bytes.ts'
import { problem } from '../http/problem.ts'
import type { CallRequest, Funds, Keyless, Offer, Outcome } from './call.ts'
import { discard } from './discard.ts'
import { assertSendable, faultOf, untilDeadline } from './provided.ts'
import type { Record } from './record.ts'
import { refunded } from './refunded.ts'

/** Runs the handler until its deadline and judges the answer by the charge policy (design §5). */
export const createHandle =
  (log: Log, record: Record, privileged: ReadonlySet<string>) =>
  async (
    caller: Caller | Keyless,
    offer: Offer,
    funds: Funds,
    request: CallRequest,
  ): Promise<Outcome> => {
    if (funds.kept) return repeated(funds.kept)
    if (request.isGone?.()) throw new Fault('caller_gone') // nothing was done for it yet
    const start = elapsedMs()
    const took = (): number => Math.ceil(elapsedMs() - start)
    try {
      const trusted = privileged.has(offer.offering.service.slug)
      return { ...(await run(offer, funds, request, trusted)), latencyMs: took() }
    } catch (error) {
      const failed = faultOf(error, offer.offering.service.slug, log)
      if (funds.parked) return { ...stillOpen(failed, offer, request), latencyMs: took() }
      const fault = refunded(funds.told?.(failed) ?? failed, offer, funds)
      const { payer, source } = funds
      record.failed({ caller, offer, payer, source, request, fault, latencyMs: took() })
      throw fault
    }
  }

/** An answer of before costs nothing, and is no call of its own. */
const repeated = ({ call: repeats, ...kept }: KeptAnswer): Outcome => ({
  ...kept,
  kind: 'delivered',
  charged: 0n as Micros,
  latencyMs: 0,
  repeats,
})

type Judged = Outcome extends infer O ? (O extends unknown ? Omit<O, 'latencyMs'> : never) : never

async function run(
  offer: Offer,
  funds: Funds,
  request: CallRequest,
  trusted: boolean,
): Promise<Judged> {
  const { endpoint } = offer.offering
  let charged: Micros = offer.price
  let breach: Fault | undefined
  const call = {
    id: offer.call,
    input: offer.input,
    payer: funds.payer,
    // No getter, though few look: see the request in door.ts.
    headers: relayableHeaders(request.headers ?? {}, endpoint.headers),
    terms: offer.terms,
    ...(trusted && { park: (parked: boolean) => funds.park?.(parked) }),
    charge: (amount: Micros) => {
      if (isLowered(amount, offer.price)) charged = micros(amount)
      else throw (breach = tooMuch())
    },
  }
  let deadline: AbortSignal | undefined
  const answer = await untilDeadline(endpoint, (signal) =>
    endpoint.handle(Object.assign(call, { signal: (deadline = signal) })),
  )
  if (breach) throw breach // also when the handler caught it
  if (!trusted && (answer instanceof Unresolved || answer instanceof Taken)) throw presumed()
  if (answer instanceof Unresolved) {
    const fault = new Fault(answer.code as FaultCode, answer.detail, { extras: answer.extras })
    return { kind: 'unresolved', ...problem(fault, request.requestId, instanceOf(request)) }
  }
  if (answer instanceof Taken) {
    const reason = answer.code as FaultCode
    const fault = new Fault(reason, answer.detail, { extras: answer.extras })
    const told = problem(fault, request.requestId, instanceOf(request), json(charged))
    return { kind: 'taken', charged, reason, ...told }
  }
  const reply = answer instanceof Reply ? answer : new Reply(answer)
  try {
    const judged = judge(reply, charged, offer)
    if (!(reply.body instanceof Readable)) return judged
    if (endpoint.streams !== true) throw undeclared()
    return {
      ...judged,
      flowing: {
        source: reply.body,
        deadline: deadline!,
        charged: () => charged,
        isPaid: trusted,
      },
    }
  } catch (error) {
    discard(reply.body)
    throw error
  }
}

/** The handler is over, and what it parked is not: its outcome comes later. */
function stillOpen({ code }: Fault, offer: Offer, request: CallRequest): Judged {
  const detail = `The outcome is open, and the price is held. GET /v1/calls/${offer.call} tells.`
  const payment = { state: 'unresolved', amount_microdollars: json(offer.price) }
  const fault = new Fault(code, detail, { extras: { payment } })
  return { kind: 'unresolved', ...problem(fault, request.requestId, instanceOf(request)) }
}

/** The path that was asked, whatever stands before it inside the hub. */
const instanceOf = ({ url }: CallRequest): string => new URL(url()).pathname

function judge(reply: Reply, charged: Micros, { offering }: Offer): Judged {
  assertSendable(reply)
  if (reply.status < 200 || reply.status > 299) {
    return { kind: 'failed', reason: `status_${reply.status}`, ...parts(reply) }
  }
  const issues = offering.checkOutput?.(valueOf(reply)) ?? []
  if (issues.length > 0) {
    throw new Fault('plugin_failed', 'The answer does not satisfy its declared schema.', {
      extras: { reason: 'output_schema' },
      cause: new Error(`${offering.service.slug}: ${JSON.stringify(issues.slice(0, 3))}`),
    })
  }
  return { kind: 'delivered', charged, ...parts(reply) }
}

/** What the schema speaks of: of bytes, the JSON that they are. */
function valueOf({ body }: Reply): unknown {
  if (!(body instanceof Uint8Array)) return body
  try {
    return JSON.parse(viewOf(body).toString('utf8'))
  } catch (error) {
    throw new Fault('plugin_failed', 'The answer is no JSON.', {
      extras: { reason: 'output_schema' },
      cause: error,
    })
  }
}

const parts = ({ status, headers, body }: Reply) => ({ status, headers, body })

const isLowered = (amount: unknown, price: Micros): boolean =>
  typeof amount === 'bigint' && amount >= 0n && amount <= price

const presumed = (): Fault =>
  new Fault('plugin_contract', 'The service kept the price without an answer.')

const undeclared = (): Fault =>
  new Fault(
    'plugin_contract',
    'The service answered a stream, and does not declare that it does.',
    {
      extras: { reason: 'stream_not_declared' },
    },
  )

const tooMuch = (): Fault =>
  new Fault('plugin_contract', 'The service tried to charge more than it offered.')
