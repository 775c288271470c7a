import { Readable } from 'node:stream'
import { z } from 'zod'
import { asBuffer as bytesOf } from '../../../../core/bytes.ts'
import { routesOf } from '../../../../core/catalog/services/publish.ts'
import { readSuspension } from '../../../../core/catalog/services/suspension.ts'
import {
  type PassedTest,
  readEndpointDigest,
  recordPassedTest,
} from '../../../../core/catalog/upstreams/endpoint-tests.ts'
import {
  findUpstream,
  UPSTREAM_FAMILY,
  type UpstreamInfo,
} from '../../../../core/catalog/upstreams/store.ts'
import { countTestCall } from '../../../../core/catalog/upstreams/test-limit.ts'
import { recordUpstreamVersion } from '../../../../core/catalog/upstreams/versions.ts'
import { elapsedMs } from '../../../../core/clock.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { Fault } from '../../../../core/errors.ts'
import type { KeyManager } from '../../../../core/identity/sub-keys.ts'
import { uuidv7 } from '../../../../core/ids.ts'
import { isJsonObject } from '../../../../core/json.ts'
import { checkValue } from '../../../../core/plugin/check-value.ts'
import { type AnyEndpoint, Reply } from '../../../../core/plugin/index.ts'
import type { Issue } from '../../../../core/plugin/validate.ts'
import { isPlaceholder } from '../../../../core/testing/example.ts'
import { providerFault, withDeadline } from '../../../proxy/provider-code.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { type ServiceDeps, serviceReviewRules } from './deps.ts'

const TestOrder = z.strictObject({
  endpoint: z
    .string()
    .max(310)
    .regex(/^(?:GET|POST|PUT|PATCH|DELETE) \//, 'must be METHOD /path of a listed endpoint')
    .meta({ description: 'Listed endpoint, such as GET /cities/{city}/weather.' }),
  input: z.record(z.string(), z.unknown()).default({}).meta({
    description: 'If the call passes, buyers see this input as the sample of the endpoint.',
  }),
})

const TestResult = z.object({
  delivered: z.boolean().meta({ description: 'True if a caller would be charged.' }),
  reason: z.string().nullable().meta({ description: 'Reason why a caller would not be charged.' }),
  detail: z.string().nullable(),
  issues: z.array(z.unknown()).meta({ description: 'Violations of the output_schema.' }),
  usage: z.int().nullable().meta({ description: 'Reported units of a metered endpoint.' }),
  latency_ms: z.int(),
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.unknown().meta({ description: 'JSON or text, up to 64 KiB.' }),
})

const SHOWN_BYTES_MAX = 65_536

/** Unpaid test call of a service by its owner, in any state except suspended. */
export const serviceTestRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('POST /v1/provider/services/{slug}/test', {
    summary: 'Makes an unpaid test call of your service and returns how it would be charged.',
    auth: 'provider',
    body: TestOrder,
    example: { endpoint: 'GET /cities/{city}/weather', input: { city: 'Oslo' } },
    response: { status: 200, schema: TestResult },
    faults: [
      'root_key_required',
      'service_not_found',
      'service_incomplete',
      'service_suspended',
      'not_found',
      'test_limit_reached',
    ],
    handle: async (request) => {
      const { slug } = request.params
      const { endpoint: endpointName, input } = request.body
      await assertTestable(deps, await findUpstream(deps.pool, ownerOf(request), slug))
      const service = await deps.catalog.preview(UPSTREAM_FAMILY, slug)
      if (!service) throw new Fault('service_incomplete', 'No endpoint has a price.')
      const endpoint = routesOf(service).find(([name]) => name === endpointName)?.[1]
      if (!endpoint) {
        const endpoints = Object.keys(service.endpoints)
        throw new Fault('not_found', `The service has no endpoint ${endpointName}.`, {
          extras: { endpoints },
        })
      }
      const issues = [...findPlaceholders(input), ...(await checkValue(endpoint.input)(input))]
      if (issues.length > 0) {
        const [first] = issues
        throw new Fault('validation_failed', `/input${first?.path}: ${first?.message}.`, {
          extras: { issues: issues.map((each) => ({ ...each, path: `/input${each.path}` })) },
        })
      }
      await countTestCall(deps.pool, slug)
      const [method = '', path = ''] = endpointName.split(' ')
      const digest = await readEndpointDigest(deps.pool, slug, method, path)
      const result = await runTest(deps, slug, endpoint, input)
      if (result.delivered && digest) {
        const latencyMs = result.latency_ms
        const passed = { service: slug, method, path, digest, latencyMs, input }
        await savePassedTest(deps, ownerOf(request), passed)
      }
      return { body: result }
    },
  }),
]

/** Finds texts in place of samples that a schema lacks, at any depth: see `exampleInput`. */
function findPlaceholders(value: unknown, path = '', name = ''): readonly Issue[] {
  if (typeof value === 'string') {
    const message = 'must be a real value, not a placeholder'
    return isPlaceholder(value, name) ? [{ path, message }] : []
  }
  if (Array.isArray(value))
    return value.flatMap((item, i) => findPlaceholders(item, `${path}/${i}`, name))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, member]) =>
    findPlaceholders(member, `${path}/${key}`, key),
  )
}

/** @throws Fault `service_suspended` if the service or its provider is suspended */
async function assertTestable({ pool }: ServiceDeps, { slug, state, provider }: UpstreamInfo) {
  if (state === 'suspended') throw new Fault('service_suspended')
  const suspensions = await Promise.all([
    readSuspension(pool, 'service', slug),
    readSuspension(pool, 'provider', provider),
  ])
  if (suspensions.some(({ suspendedAt }) => suspendedAt)) throw new Fault('service_suspended')
}

/** Stores a passed test. A version that waited only for this test is then put on sale. */
async function savePassedTest(
  deps: ServiceDeps,
  owner: KeyManager,
  test: PassedTest,
): Promise<void> {
  await inTransaction(deps.pool, async (client) => {
    const info = await findUpstream(client, owner, test.service, true)
    await recordPassedTest(client, test)
    await recordUpstreamVersion(client, info, serviceReviewRules(deps))
  })
  await deps.catalog.refresh(test.service)
}

async function runTest(deps: ServiceDeps, slug: string, endpoint: AnyEndpoint, input: unknown) {
  const start = elapsedMs()
  const id = uuidv7(deps.clock.now().getTime())
  let usage: number | null = null
  const common = {
    id,
    input,
    payer: 'nobody',
    terms: undefined,
    charge: () => undefined,
    meter: (_: string, quantity: number | bigint) => {
      usage = Number(quantity)
      return true
    },
  }
  try {
    const result = await withDeadline(endpoint, (signal) => endpoint.handle({ ...common, signal }))
    const reply = result instanceof Reply ? result : new Reply(result)
    const latency = Math.ceil(elapsedMs() - start)
    const { status, headers } = reply
    const verdict = await judge(endpoint, reply, await showBody(reply.body))
    return { ...verdict, usage, latency_ms: latency, status, headers }
  } catch (error) {
    const fault = providerFault(error, slug, deps.log)
    const reason = typeof fault.extras['reason'] === 'string' ? fault.extras['reason'] : fault.code
    return {
      delivered: false,
      reason,
      detail: fault.message,
      issues: [],
      usage,
      latency_ms: Math.ceil(elapsedMs() - start),
      status: fault.status,
      headers: {},
      body: fault.extras['upstream'] ?? null,
    }
  }
}

/** Applies the charge policy of calls to a reply. */
async function judge(endpoint: AnyEndpoint, { status, isCharged }: Reply, body: unknown) {
  if (isCharged && status >= 400 && status <= 499)
    return { delivered: true, reason: null, detail: null, issues: [], body }
  const isSuccess = status >= 200 && status <= 299
  const issues: readonly Issue[] =
    isSuccess && endpoint.output ? await checkValue(endpoint.output)(body) : []
  const reason = isSuccess ? (issues.length > 0 ? 'output_schema' : null) : `status_${status}`
  return { delivered: reason === null, reason, detail: null, issues, body }
}

async function showBody(body: unknown): Promise<unknown> {
  if (body instanceof Readable) return { stream: (await readStart(body)).toString('utf8') }
  if (!(body instanceof Uint8Array)) return body
  const text = bytesOf(body).toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, SHOWN_BYTES_MAX)
  }
}

/** Reads the first bytes of a stream, then closes it. */
async function readStart(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= SHOWN_BYTES_MAX) break
  }
  return Buffer.concat(chunks).subarray(0, SHOWN_BYTES_MAX)
}
