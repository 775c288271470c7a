import { deadlineOf } from '../catalog/services/deadline.ts'
import {
  type AnyEndpoint,
  type AnyService,
  type Call,
  Failure,
  micros,
  type Quote,
  Refusal,
  Reply,
  type Schedule,
  Unresolved,
} from '../plugin/index.ts'
import type { Apart, Outcome } from './isolated-plugin.ts'
import type { Declared, Thrown } from './wire.ts'

type DeclaredEndpoint = Declared['endpoints'][string]

const LISTED_MS = 5_000

/** The service of a plugin that runs apart: as it was declared, and run there. */
export function serviceOf(declared: Declared, apart: Apart): AnyService {
  const { endpoints, schedules, asksListed, deprecated, freeCallsPerMonth, ...about } = declared
  return {
    ...about,
    ...(freeCallsPerMonth !== undefined && { freeCallsPerMonth }),
    ...(deprecated && { deprecated: defined(deprecated) }),
    endpoints: mapped(endpoints, (endpoint, route) =>
      endpointOf(route, endpoint, apart),
    ) as AnyService['endpoints'],
    schedules: mapped(schedules, (schedule, name) => scheduleOf(name, schedule, apart)),
    ...(asksListed && { isListed: () => isListed(apart) }),
  }
}

function endpointOf(route: string, declared: DeclaredEndpoint, apart: Apart): AnyEndpoint {
  const { summary, price, input, output, query, headers, deadlineSeconds, streams } = declared
  const seconds = deadlineOf(declared)
  const of = async (asked: unknown): Promise<Quote> => {
    const signal = AbortSignal.timeout(seconds * 1_000)
    const outcome = await rethrowing(apart.do({ do: 'price', route, input: asked }, signal))
    if (outcome.is !== 'priced') throw new Error('the price is none')
    return { amount: micros(BigInt(outcome.amount)), terms: outcome.terms }
  }
  return {
    summary,
    price: 'fixed' in price ? micros(BigInt(price.fixed)) : { max: micros(BigInt(price.max)), of },
    input: { json: input },
    ...(output && { output: { json: output } }),
    ...(query && { query }),
    ...(headers && { headers }),
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    ...(streams !== undefined && { streams }),
    handle: async ({ signal, charge, id, input: asked, payer, headers: sent, terms }) => {
      const call = { id, input: asked, payer, terms, ...(sent && { headers: sent }) }
      const outcome = await rethrowing(
        apart.do({ do: 'handle', route, call }, signal, (amount) => charge(amountOf(amount))),
      )
      return answerOf(outcome)
    },
  }
}

/** What is no amount is judged by the one who takes it. */
const amountOf = (amount: unknown): Parameters<Call<unknown>['charge']>[0] =>
  (typeof amount === 'string' && /^\d{1,19}$/.test(amount)
    ? BigInt(amount)
    : undefined) as Parameters<Call<unknown>['charge']>[0]

function answerOf(outcome: Outcome): unknown {
  if (outcome.is !== 'done') throw new Error('the answer is none')
  const { answer, stream } = outcome
  if (answer.kind === 'value') return answer.value
  if (answer.kind === 'presumed') return new Unresolved('plugin_contract', 'Presumed.')
  const { status, headers, body } = answer
  const sent =
    body.kind === 'json'
      ? body.value
      : body.kind === 'bytes'
        ? Buffer.from(body.base64, 'base64')
        : stream
  return new Reply(sent, { status, headers })
}

function scheduleOf(name: string, declared: Declared['schedules'][string], apart: Apart): Schedule {
  const { everySeconds, deadlineSeconds } = declared
  return {
    everySeconds,
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    run: (signal) => rethrowing(apart.do({ do: 'run', schedule: name }, signal)),
  }
}

async function isListed(apart: Apart): Promise<boolean> {
  const signal = AbortSignal.timeout(LISTED_MS)
  const outcome = await rethrowing(apart.do({ do: 'listed' }, signal)).catch(() => undefined)
  return outcome?.is === 'done' && outcome.answer.kind === 'value' && outcome.answer.value === true
}

/** What a plugin threw, as it would have been thrown here. */
async function rethrowing(work: Promise<Outcome>): Promise<Outcome> {
  try {
    return await work
  } catch (error) {
    throw isThrown(error) ? errorOf(error) : error
  }
}

const isThrown = (error: unknown): error is Thrown =>
  typeof error === 'object' && error !== null && 'kind' in error && !(error instanceof Error)

function errorOf(thrown: Thrown): Error {
  const { detail } = thrown
  if (thrown.kind === 'refusal') {
    const { status, code, extras } = thrown
    return new Refusal(code, detail, { ...extras, status })
  }
  if (thrown.kind === 'failure') {
    const { status, code, extras, after } = thrown
    const details = after === undefined ? extras : { ...extras, retryAfterSeconds: after }
    return new Failure(status, code, detail, details)
  }
  const error = new Error(detail)
  if (thrown.stack !== undefined) error.stack = thrown.stack
  return error
}

const mapped = <From, To>(
  record: Readonly<Record<string, From>>,
  each: (value: From, name: string) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, each(value, name)]))

/** Without what is undefined, which these types tell from what is left out. */
function defined({ since, sunset, successor }: NonNullable<Declared['deprecated']>) {
  return {
    since,
    ...(sunset !== undefined && { sunset }),
    ...(successor !== undefined && { successor }),
  }
}
