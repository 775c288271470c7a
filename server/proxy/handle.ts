import { elapsedMs } from '../../core/clock.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import type { Log } from '../../core/log.ts'
import { type Micros, micros } from '../../core/money.ts'
import { type AnyEndpoint, Refusal, Reply, Unresolved } from '../../core/plugin.ts'
import { problem } from '../problem.ts'
import type { CallRequest, Keyless, Offer, Outcome } from './call.ts'
import type { Record } from './record.ts'

const DEADLINE_SECONDS = 30

/** Seconds until a call of this endpoint is given up. */
export const deadlineOf = (endpoint: AnyEndpoint): number =>
  endpoint.deadlineSeconds ?? DEADLINE_SECONDS

/** Runs the handler until its deadline and judges the answer by the charge policy (design §5). */
export const createHandle =
  (log: Log, record: Record) =>
  async (caller: Caller | Keyless, offer: Offer, request: CallRequest): Promise<Outcome> => {
    const start = elapsedMs()
    const took = (): number => Math.ceil(elapsedMs() - start)
    try {
      return { ...(await run(caller, offer, request)), latencyMs: took() }
    } catch (error) {
      const fault = faultOf(error, offer.offering.service.slug, log)
      record.failed({ caller, offer, request, fault, latencyMs: took() })
      throw fault
    }
  }

type Judged = Outcome extends infer O ? (O extends unknown ? Omit<O, 'latencyMs'> : never) : never

async function run(caller: Caller | Keyless, offer: Offer, request: CallRequest): Promise<Judged> {
  const { endpoint } = offer.offering
  const signal = AbortSignal.timeout(deadlineOf(endpoint) * 1_000)
  let charged: Micros = offer.price
  const call = {
    id: offer.call,
    input: offer.input,
    payer: caller.keyId ?? `x402:${caller.ip}`,
    terms: offer.terms,
    signal,
    charge: (amount: Micros) => {
      charged = lowered(amount, offer.price)
    },
  }
  const answer = await beforeAbort(signal, async () => await endpoint.handle(call))
  if (answer instanceof Unresolved) {
    const fault = new Fault(answer.code as FaultCode, answer.detail, { extras: answer.extras })
    return { kind: 'unresolved', ...problem(fault, request.requestId, request.path) }
  }
  const reply = answer instanceof Reply ? answer : new Reply(answer)
  return judge(reply, charged, offer)
}

function judge(reply: Reply, charged: Micros, { offering }: Offer): Judged {
  if (reply.status < 200 || reply.status > 299) {
    return { kind: 'failed', reason: `status_${reply.status}`, ...parts(reply) }
  }
  const issues = offering.checkOutput?.(reply.body) ?? []
  if (issues.length > 0) {
    throw new Fault('plugin_failed', 'The answer does not satisfy its declared schema.', {
      extras: { reason: 'output_schema' },
      cause: new Error(`${offering.service.slug}: ${JSON.stringify(issues.slice(0, 3))}`),
    })
  }
  return { kind: 'delivered', charged, ...parts(reply) }
}

const parts = ({ status, headers, body }: Reply) => ({ status, headers, body })

function lowered(amount: Micros, price: Micros): Micros {
  if (typeof amount !== 'bigint' || amount < 0n || amount > price) {
    throw new Fault('plugin_contract', 'The service tried to charge more than it offered.')
  }
  return micros(amount)
}

/** Settles as `work` does, but rejects at the abort even if `work` takes no notice of it. */
async function beforeAbort<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work(), aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** What the caller learns of an error in a handler: a refusal in full, anything else by its kind. */
function faultOf(error: unknown, slug: string, log: Log): Fault {
  if (error instanceof Fault) return error
  if (error instanceof Refusal) {
    const { code, status, message, extras } = error
    const known = code === 'text_too_large' ? code : status === 404 ? 'not_found' : 'refused'
    return new Fault(known, message, { extras: { reason: code, ...extras } })
  }
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new Fault('timeout', undefined, { extras: { reason: 'deadline' }, cause: error })
  }
  log.warn({ err: error, service: slug }, 'a handler threw')
  return new Fault('plugin_failed', undefined, {
    extras: { reason: 'handler_threw' },
    cause: error,
  })
}
