import { validateService } from '../catalog/services/declaration.ts'
import { type HubClient, HubError, type HubResponse } from '../client/index.ts'
import { elapsedMs, unrefSleep } from '../clock.ts'
import type { AnyEndpoint, AnyService, Route } from '../plugin/index.ts'
import { compile, findSchemaError } from '../plugin/validate.ts'
import { exampleOf, nearMisses } from './example.ts'

export { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.ts'

/** One requirement of every service; `meet` rejects with the violation. */
export interface Requirement {
  readonly name: string
  readonly meet: () => Promise<void>
}

export interface ConformanceOptions {
  /** Returns, when needed, a client with credits on a hub that sells service and variants. */
  readonly client: () => HubClient
  /** Inputs by route, if the handler rejects the simplest input that the schema describes. */
  readonly examples?: Readonly<Partial<Record<Route, unknown>>>
}

const STOP_TIMEOUT_MS = 2_000
const HANG_SECONDS = 1

/**
 * Returns the requirements of every service, for any test runner: a valid declaration, no charge
 * for invalid input, the declared price, a prompt stop on abort, and no charge for handlers that
 * throw or hang.
 *
 * @example
 * for (const { name, meet } of conformance(echo, { client })) it(name, meet)
 */
export function conformance(
  service: AnyService,
  options: ConformanceOptions,
): readonly Requirement[] {
  const endpoints = Object.entries(service.endpoints) as [Route, AnyEndpoint][]
  return [
    { name: 'has a valid declaration', meet: async () => void validateService(service, true) },
    ...endpoints.flatMap(([route, endpoint]) => {
      const input = options.examples?.[route] ?? exampleOf(endpoint.input.json)
      const trial: EndpointTrial = { service, route, endpoint, input, client: options.client }
      return [
        { name: `${route}: has valid schemas`, meet: () => checkSchemas(trial) },
        {
          name: `${route}: refuses invalid input without a charge`,
          meet: () => checkBadInput(trial),
        },
        { name: `${route}: charges exactly its price`, meet: () => checkPrice(trial) },
        { name: `${route}: stops when the call is aborted`, meet: () => checkAbort(trial) },
        {
          name: `${route}: costs nothing when it throws`,
          meet: () => checkRefund(trial, 'throws'),
        },
        { name: `${route}: costs nothing when it hangs`, meet: () => checkRefund(trial, 'hangs') },
      ]
    }),
  ]
}

/** Returns two variants of the service: one whose handlers throw and one whose handlers hang. */
export function misbehavingVariants(service: AnyService): readonly AnyService[] {
  const variant = (kind: Misbehavior, change: Partial<AnyEndpoint>): AnyService => {
    const endpoints = Object.entries(service.endpoints).map(([route, endpoint]) => [
      route,
      { ...(endpoint as AnyEndpoint), ...change },
    ])
    const { schedules: _, isListed: __, ...sold } = service
    return { ...sold, slug: slugOf(service, kind), endpoints: Object.fromEntries(endpoints) }
  }
  const fail = (): never => {
    throw new Error('as asked')
  }
  const hang = (): Promise<never> => new Promise(() => {})
  return [
    variant('throws', { handle: fail }),
    variant('hangs', { handle: hang, deadlineSeconds: HANG_SECONDS }),
  ]
}

type Misbehavior = 'throws' | 'hangs'

const SLUG_MAX = 33
const slugOf = ({ slug }: AnyService, kind: Misbehavior): string =>
  `${slug.slice(0, SLUG_MAX)}-${kind}`

interface EndpointTrial {
  readonly service: AnyService
  readonly route: Route
  readonly endpoint: AnyEndpoint
  readonly input: unknown
  readonly client: () => HubClient
}

function assert(condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

async function checkSchemas({ endpoint, input }: EndpointTrial): Promise<void> {
  for (const schema of [endpoint.input, endpoint.output]) {
    const wrong = schema && findSchemaError(schema.json)
    assert(wrong === undefined, `a schema is invalid: ${wrong}`)
    if (schema) compile(schema)
  }
  const issues = compile(endpoint.input)(input)
  assert(issues.length === 0, `the example is not a valid input: ${JSON.stringify(issues)}`)
}

async function checkBadInput(trial: EndpointTrial): Promise<void> {
  const { endpoint, input, route } = trial
  const check = compile(endpoint.input)
  const bad = nearMisses(input, endpoint.input.json).filter((near) => check(near).length > 0)
  const inQuery = /^(GET|DELETE) /.test(route)
  for (const near of bad.filter((value) => !inQuery || isFlat(value))) {
    const before = await balanceOf(trial)
    const result = await resultOf(callEndpoint(trial, trial.service.slug, near))
    const text = JSON.stringify(near)
    assert(
      result.status === 422 || result.status === 413,
      `${text} got the status ${result.status}`,
    )
    assert((await balanceOf(trial)) === before, `${text} changed the balance`)
  }
}

const isFlat = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((inner) => typeof inner !== 'object')

async function checkPrice(trial: EndpointTrial): Promise<void> {
  const { price } = trial.endpoint
  const free = trial.service.freeCallsPerMonth ?? 0
  const { freeUnitsPerMonth = {} } = trial.service
  const hasFreeUnits =
    typeof price !== 'bigint' && 'unit' in price && price.unit in freeUnitsPerMonth
  for (let calls = 0; calls <= free; calls++) {
    const before = await balanceOf(trial)
    const { charged, source } = await callEndpoint(trial, trial.service.slug, trial.input)
    const paid = before - (await balanceOf(trial))
    assert(
      paid === charged,
      `the response reports a charge of ${charged}, but the balance fell by ${paid}`,
    )
    if (source === 'free') {
      assert(charged === 0n, `a free call was charged ${charged}`)
      if (hasFreeUnits) return // they may last for any number of calls
      continue
    }
    const declared = typeof price === 'bigint' ? price : price.max
    const right = typeof price === 'bigint' ? charged === price : charged <= declared
    return assert(right, `charged ${charged}, declared ${declared}`)
  }
  throw new Error(`more than ${free} calls were free`)
}

async function checkAbort({ endpoint, input }: EndpointTrial): Promise<void> {
  const call = {
    id: '01900000-0000-7000-8000-000000000000',
    input,
    payer: 'nobody',
    terms: undefined,
    signal: AbortSignal.abort(),
    charge: () => undefined,
    meter: () => true,
  }
  const ended = (async () => endpoint.handle(call))().then(
    () => true,
    () => true,
  )
  const waited = unrefSleep(STOP_TIMEOUT_MS).then(() => false)
  assert(await Promise.race([ended, waited]), `it still runs ${STOP_TIMEOUT_MS} ms after the abort`)
}

const EXPECTED = {
  throws: [502, 'plugin_failed'],
  hangs: [504, 'timeout'],
} as const

async function checkRefund(trial: EndpointTrial, kind: Misbehavior): Promise<void> {
  const before = await balanceOf(trial)
  const start = elapsedMs()
  const result = await resultOf(callEndpoint(trial, slugOf(trial.service, kind), trial.input))
  const took = elapsedMs() - start
  const [status, code] = EXPECTED[kind]
  assert(result.status === status && result.code === code, `got ${result.status} ${result.code}`)
  assert((await balanceOf(trial)) === before, 'the caller was not refunded in full')
  assert(took < (HANG_SECONDS + 1) * 1_000, `responded after ${Math.round(took)} ms`)
}

function callEndpoint(
  { route, client }: EndpointTrial,
  slug: string,
  input: unknown,
): Promise<HubResponse> {
  const [method, path] = route.split(' ') as ['GET', string]
  return client().call(slug, path, input, { method })
}

async function resultOf(answer: Promise<HubResponse>) {
  try {
    return { status: (await answer).status, code: 'none' }
  } catch (error) {
    if (error instanceof HubError) return error
    throw error
  }
}

async function balanceOf({ client }: EndpointTrial): Promise<bigint> {
  const { body } = await client().send('/v1/credits/balance')
  return BigInt(String(body['balance_microdollars']))
}
