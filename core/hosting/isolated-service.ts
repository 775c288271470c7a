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
  unitPrice,
} from '../plugin/index.ts'
import type { IsolatedPlugin } from './isolated-plugin.ts'
import type { DeclaredService, Report, TaskResult, ThrownError } from './wire.ts'

const IS_LISTED_TIMEOUT_MS = 5_000

/** Creates the service of an isolated plugin from its declaration; its functions run there. */
export function serviceOf(declared: DeclaredService, plugin: IsolatedPlugin): AnyService {
  const { endpoints, schedules, hasIsListed, deprecated, ...rest } = declared
  const { freeCallsPerMonth, freeUnitsPerMonth, ...about } = rest
  return {
    ...about,
    ...(freeCallsPerMonth !== undefined && { freeCallsPerMonth }),
    ...(freeUnitsPerMonth && { freeUnitsPerMonth }),
    ...(deprecated && { deprecated: withoutUndefined(deprecated) }),
    endpoints: mapValues(endpoints, (endpoint, route) =>
      endpointOf(route, endpoint, plugin),
    ) as AnyService['endpoints'],
    schedules: mapValues(schedules, (schedule, name) => scheduleOf(name, schedule, plugin)),
    ...(hasIsListed && { isListed: () => isListed(plugin) }),
  }
}

function endpointOf(
  route: string,
  declared: DeclaredService['endpoints'][string],
  plugin: IsolatedPlugin,
): AnyEndpoint {
  const { summary, price, input, output, query, headers, deadlineSeconds } = declared
  const { styles, form, streams, prepaid } = declared
  const seconds = deadlineOf(declared)
  const of = async (input: unknown, agent?: string): Promise<Quote> => {
    const signal = AbortSignal.timeout(seconds * 1_000)
    const task = { do: 'price', route, input, ...(agent !== undefined && { agent }) } as const
    const result = await rethrowPluginError(plugin.run(task, signal))
    if (result.is !== 'priced') throw new Error('the plugin returned no price')
    return { amount: micros(BigInt(result.amount)), terms: result.terms }
  }
  return {
    summary,
    price: decodePrice(price, of),
    input: { json: input },
    ...(output && { output: { json: output } }),
    ...(query && { query }),
    ...(styles && { styles }),
    ...(form && { form }),
    ...(headers && { headers }),
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    ...(streams !== undefined && { streams }),
    ...(prepaid !== undefined && { prepaid }),
    handle: async ({ signal, charge, meter, price, headers: sent, agent, ...rest }) => {
      const { id, input, payer, terms } = rest
      const signed = agent === undefined ? {} : { agent }
      const call = { id, input, payer, terms, ...(sent && { headers: sent }), ...signed }
      const reserved = price === undefined ? {} : { reserved: String(price) }
      const onReport = (report: Report): void => {
        if (report.is === 'charge') charge(decodeAmount(report.amount))
        else meter(report.unit, decodeAmount(report.quantity))
      }
      const task = { do: 'handle', route, call, ...reserved } as const
      return decodeResult(await rethrowPluginError(plugin.run(task, signal, onReport)))
    },
  }
}

function decodePrice(
  declared: DeclaredService['endpoints'][string]['price'],
  of: (input: unknown, agent?: string) => Promise<Quote>,
): AnyEndpoint['price'] {
  if ('fixed' in declared) return micros(BigInt(declared.fixed))
  const max = micros(BigInt(declared.max))
  if (!('unit' in declared)) {
    const { min } = declared
    return { max, ...(min !== undefined && { min: micros(BigInt(min)) }), of }
  }
  const { unit, amount, per } = declared
  return { max, unit, of: unitPrice(micros(BigInt(amount)), BigInt(per)) }
}

/** Decodes a charge or quantity; an invalid one becomes undefined, which the receiver rejects. */
const decodeAmount = (amount: unknown): Parameters<Call<unknown>['charge']>[0] =>
  (typeof amount === 'string' && /^\d{1,19}$/.test(amount)
    ? BigInt(amount)
    : undefined) as Parameters<Call<unknown>['charge']>[0]

function decodeResult(result: TaskResult): unknown {
  if (result.is !== 'done') throw new Error('the plugin returned no response')
  const { answer, stream } = result
  if (answer.kind === 'value') return answer.value
  if (answer.kind === 'presumed') return new Unresolved('plugin_contract', 'Presumed.')
  const { status, headers, body, isCharged = false } = answer
  const sent =
    body.kind === 'json'
      ? body.value
      : body.kind === 'bytes'
        ? Buffer.from(body.base64, 'base64')
        : stream
  return new Reply(sent, { status, headers, isCharged })
}

function scheduleOf(
  name: string,
  declared: DeclaredService['schedules'][string],
  plugin: IsolatedPlugin,
): Schedule {
  const { everySeconds, deadlineSeconds } = declared
  return {
    everySeconds,
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    run: (signal) => rethrowPluginError(plugin.run({ do: 'run', schedule: name }, signal)),
  }
}

async function isListed(plugin: IsolatedPlugin): Promise<boolean> {
  const signal = AbortSignal.timeout(IS_LISTED_TIMEOUT_MS)
  const result = await rethrowPluginError(plugin.run({ do: 'listed' }, signal)).catch(
    () => undefined,
  )
  return result?.is === 'done' && result.answer.kind === 'value' && result.answer.value === true
}

/** Any other error of an isolated plugin. Its text says nothing about the hub. */
export class IsolatedError extends Error {}

/** Rethrows a serialized error of the plugin as the original class. */
async function rethrowPluginError(work: Promise<TaskResult>): Promise<TaskResult> {
  try {
    return await work
  } catch (error) {
    throw isThrownError(error) ? decodeThrown(error) : error
  }
}

const isThrownError = (error: unknown): error is ThrownError =>
  typeof error === 'object' && error !== null && 'kind' in error && !(error instanceof Error)

function decodeThrown(thrown: ThrownError): Error {
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
  const error = new IsolatedError(detail)
  if (thrown.stack !== undefined) error.stack = thrown.stack
  return error
}

const mapValues = <From, To>(
  record: Readonly<Record<string, From>>,
  each: (value: From, name: string) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, each(value, name)]))

/** Removes undefined members (exactOptionalPropertyTypes). */
function withoutUndefined({
  since,
  sunset,
  successor,
}: NonNullable<DeclaredService['deprecated']>) {
  return {
    since,
    ...(sunset !== undefined && { sunset }),
    ...(successor !== undefined && { successor }),
  }
}
