import { validateService } from '../catalog/services/declaration.ts'
import { type Answer, type HubClient, HubError } from '../client/index.ts'
import { elapsedMs, unrefSleep } from '../clock.ts'
import type { AnyEndpoint, AnyService, Route } from '../plugin/index.ts'
import { compile } from '../plugin/validate.ts'
import { exampleOf, nearMisses } from './example.ts'

export { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.ts'

/** One thing that is demanded of every service; `meet` rejects with what is wrong. */
export interface Requirement {
  readonly name: string
  readonly meet: () => Promise<void>
}

export interface ConformanceOptions {
  /**
   * A key with credits, on a hub that sells the service and its `troubled` twins. It is asked for
   * when a demand is met, so that a hub may start late.
   */
  readonly client: () => HubClient
  /** Inputs by route, where the plainest one that the schema describes is not served. */
  readonly examples?: Readonly<Partial<Record<Route, unknown>>>
}

const STOP_TIMEOUT_MS = 2_000
const HANG_SECONDS = 1

/**
 * What every service must do, as a list for any test runner: it is declared well, refuses bad
 * input before any charge, charges exactly what it declares, stops when it is told to, and costs
 * nothing when it throws or never ends.
 *
 * @example
 * for (const { name, meet } of conformance(echo, { client })) it(name, meet)
 */
export function conformance(
  service: AnyService,
  trial: ConformanceOptions,
): readonly Requirement[] {
  const endpoints = Object.entries(service.endpoints) as [Route, AnyEndpoint][]
  return [
    { name: 'is declared as a catalogue takes it', meet: async () => void declared(service) },
    ...endpoints.flatMap(([route, endpoint]) => {
      const input = trial.examples?.[route] ?? exampleOf(endpoint.input.json)
      const tried: EndpointTrial = { service, route, endpoint, input, client: trial.client }
      return [
        { name: `${route}: has schemas that hold`, meet: () => checkSchemas(tried) },
        { name: `${route}: refuses bad input, uncharged`, meet: () => checkBadInput(tried) },
        { name: `${route}: charges exactly its price`, meet: () => checkPrice(tried) },
        { name: `${route}: stops when it is told to`, meet: () => checkAbort(tried) },
        {
          name: `${route}: costs nothing when it throws`,
          meet: () => checkRefund(tried, 'throws'),
        },
        { name: `${route}: costs nothing when it hangs`, meet: () => checkRefund(tried, 'hangs') },
      ]
    }),
  ]
}

/** The same service twice more, once with handlers that throw and once with ones that never end. */
export function misbehavingVariants(service: AnyService): readonly AnyService[] {
  const twin = (kind: Misbehavior, change: Partial<AnyEndpoint>): AnyService => {
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
    twin('throws', { handle: fail }),
    twin('hangs', { handle: hang, deadlineSeconds: HANG_SECONDS }),
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

const declared = (service: AnyService): AnyService => validateService(service, true)

function assert(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

async function checkSchemas({ endpoint, input }: EndpointTrial): Promise<void> {
  const issues = compile(endpoint.input)(input)
  assert(issues.length === 0, `the example is not an input: ${JSON.stringify(issues)}`)
  if (endpoint.output) compile(endpoint.output)
}

async function checkBadInput(tried: EndpointTrial): Promise<void> {
  const { endpoint, input, route } = tried
  const check = compile(endpoint.input)
  const bad = nearMisses(input, endpoint.input.json).filter((near) => check(near).length > 0)
  const inQuery = /^(GET|DELETE) /.test(route)
  for (const near of bad.filter((value) => !inQuery || isFlat(value))) {
    const before = await balanceOf(tried)
    const got = await resultOf(callEndpoint(tried, tried.service.slug, near))
    const text = JSON.stringify(near)
    assert(got.status === 422 || got.status === 413, `${text} was answered ${got.status}`)
    assert((await balanceOf(tried)) === before, `${text} changed the balance`)
  }
}

const isFlat = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((inner) => typeof inner !== 'object')

async function checkPrice(tried: EndpointTrial): Promise<void> {
  const { price } = tried.endpoint
  const free = tried.service.freeCallsPerMonth ?? 0
  for (let calls = 0; calls <= free; calls++) {
    const before = await balanceOf(tried)
    const { charged, source } = await callEndpoint(tried, tried.service.slug, tried.input)
    const paid = before - (await balanceOf(tried))
    assert(paid === charged, `the answer says ${charged} and the balance fell by ${paid}`)
    if (source === 'free') {
      assert(charged === 0n, `a free call was charged ${charged}`)
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

async function checkRefund(tried: EndpointTrial, kind: Misbehavior): Promise<void> {
  const before = await balanceOf(tried)
  const start = elapsedMs()
  const got = await resultOf(callEndpoint(tried, slugOf(tried.service, kind), tried.input))
  const took = elapsedMs() - start
  const [status, code] = EXPECTED[kind]
  assert(got.status === status && got.code === code, `answered ${got.status} ${got.code}`)
  assert((await balanceOf(tried)) === before, 'the caller did not get everything back')
  assert(took < (HANG_SECONDS + 1) * 1_000, `answered after ${Math.round(took)} ms`)
}

function callEndpoint(
  { route, client }: EndpointTrial,
  slug: string,
  input: unknown,
): Promise<Answer> {
  const [method, path] = route.split(' ') as ['GET', string]
  return client().call(slug, path, input, { method })
}

async function resultOf(answer: Promise<Answer>) {
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
