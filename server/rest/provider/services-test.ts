import { Readable } from 'node:stream'
import { z } from 'zod'
import { routesOf } from '../../../core/catalog/services/publish.ts'
import { standingOf } from '../../../core/catalog/services/suspension.ts'
import { findUpstream, UPSTREAM, type UpstreamInfo } from '../../../core/catalog/upstreams/store.ts'
import { takeTest } from '../../../core/catalog/upstreams/tests.ts'
import { elapsedMs } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { type AnyEndpoint, Reply } from '../../../core/plugin/index.ts'
import { compile, type Issue } from '../../../core/plugin/validate.ts'
import { viewOf as bytesOf } from '../../http/bytes.ts'
import { faultOf, untilDeadline } from '../../proxy/provided.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import type { ServicePorts } from './services-parts.ts'

const Order = z.strictObject({
  endpoint: z
    .string()
    .max(310)
    .regex(/^(?:GET|POST|PUT|PATCH|DELETE) \//, 'METHOD /path, as it is listed')
    .meta({ description: 'As it is listed: GET /cities/{city}/weather.' }),
  input: z.record(z.string(), z.unknown()).default({}),
})

const Tried = z.object({
  delivered: z.boolean().meta({ description: 'Whether a caller would be charged for it.' }),
  reason: z.string().nullable().meta({ description: 'Why a caller would not be.' }),
  detail: z.string().nullable(),
  issues: z.array(z.unknown()).meta({ description: 'Where it breaks its output_schema.' }),
  latency_ms: z.int(),
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.unknown().meta({ description: 'Up to 64 KiB: JSON, or text.' }),
})

const SHOWN_BYTES = 65_536

/** One call of a service by its owner: unpaid, whatever its state. */
export const serviceTests = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/provider/services/{slug}/test',
    summary: 'Makes one call of your service, unpaid, and tells how it would have been charged.',
    auth: 'provider',
    body: Order,
    example: { endpoint: 'GET /cities/{city}/weather', input: { city: 'Oslo' } },
    answer: { status: 200, schema: Tried },
    faults: [
      'root_key_required',
      'service_not_found',
      'service_incomplete',
      'service_suspended',
      'not_found',
      'test_limit_reached',
    ],
    handle: async (request) => {
      const { slug = '' } = request.params
      const { endpoint: asked, input } = request.body
      await assertTestable(ports, await findUpstream(ports.pool, ownerOf(request), slug))
      const service = await ports.catalog.preview(UPSTREAM, slug)
      if (!service) throw new Fault('service_incomplete', 'It has no endpoint with a price.')
      const endpoint = routesOf(service).find(([name]) => name === asked)?.[1]
      if (!endpoint) {
        const endpoints = Object.keys(service.endpoints)
        throw new Fault('not_found', `It has no ${asked}.`, { extras: { endpoints } })
      }
      const issues = compile(endpoint.input)(input)
      if (issues.length > 0) {
        const [first] = issues
        throw new Fault('validation_failed', `/input${first?.path}: ${first?.message}.`, {
          extras: { issues: issues.map((each) => ({ ...each, path: `/input${each.path}` })) },
        })
      }
      await takeTest(ports.pool, slug)
      return { body: await tried(ports, slug, endpoint, input) }
    },
  }),
]

/** What the operator has stopped asks nobody, unpaid either. @throws Fault `service_suspended` */
async function assertTestable({ pool }: ServicePorts, { slug, state, provider }: UpstreamInfo) {
  if (state === 'suspended') throw new Fault('service_suspended')
  const [service, seller] = await Promise.all([
    standingOf(pool, 'service', slug),
    standingOf(pool, 'provider', provider),
  ])
  if (service.suspendedAt || seller.suspendedAt) throw new Fault('service_suspended')
}

async function tried(ports: ServicePorts, slug: string, endpoint: AnyEndpoint, input: unknown) {
  const start = elapsedMs()
  const id = uuidv7(ports.clock.now().getTime())
  const common = { id, input, payer: 'nobody', terms: undefined, charge: () => undefined }
  try {
    const answer = await untilDeadline(endpoint, (signal) => endpoint.handle({ ...common, signal }))
    const reply = answer instanceof Reply ? answer : new Reply(answer)
    const latency = Math.ceil(elapsedMs() - start)
    const { status, headers } = reply
    const told = judged(endpoint, reply, await shownOf(reply.body))
    return { ...told, latency_ms: latency, status, headers }
  } catch (error) {
    const fault = faultOf(error, slug, ports.log)
    const reason = typeof fault.extras['reason'] === 'string' ? fault.extras['reason'] : fault.code
    return {
      delivered: false,
      reason,
      detail: fault.message,
      issues: [],
      latency_ms: Math.ceil(elapsedMs() - start),
      status: fault.status,
      headers: {},
      body: fault.extras['upstream'] ?? null,
    }
  }
}

/** What the charge policy makes of it. */
function judged(endpoint: AnyEndpoint, { status }: Reply, body: unknown) {
  const isSuccess = status >= 200 && status <= 299
  const issues: readonly Issue[] =
    isSuccess && endpoint.output ? compile(endpoint.output)(body) : []
  const reason = isSuccess ? (issues.length > 0 ? 'output_schema' : null) : `status_${status}`
  return { delivered: reason === null, reason, detail: null, issues, body }
}

async function shownOf(body: unknown): Promise<unknown> {
  if (body instanceof Readable) return { stream: (await startOf(body)).toString('utf8') }
  if (!(body instanceof Uint8Array)) return body
  const text = bytesOf(body).toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, SHOWN_BYTES)
  }
}

/** The first bytes of a stream, which ends with them. */
async function startOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= SHOWN_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, SHOWN_BYTES)
}
