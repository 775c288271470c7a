import { z } from 'zod'
import { DEADLINE_SECONDS } from '../../../core/catalog/services/deadline.ts'
import { ELSEWHERE, PATH, parametersOf } from '../../../core/catalog/services/routing.ts'
import { issuesOf } from '../../../core/catalog/upstreams/check-schemas.ts'
import { assertComplete, isOffered } from '../../../core/catalog/upstreams/completeness.ts'
import { listPrices, setPrice } from '../../../core/catalog/upstreams/prices.ts'
import {
  type EndpointInfo,
  findUpstream,
  type UpstreamInfo,
  writeEndpoints,
} from '../../../core/catalog/upstreams/store.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { Fault } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { json, type Micros, micros } from '../../../core/money.ts'
import type { Issue } from '../../../core/plugin/validate.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { changed, type ServicePorts } from './services-parts.ts'
import { ServiceView } from './services-view.ts'

const path = z
  .string()
  .max(300)
  .regex(PATH, 'a path: /cities/{city}/weather')
  .refine((text) => !ELSEWHERE.test(text), 'has no dot segments or empty ones')
const status = (from: number, to: number) => z.int().min(from).max(to)
const PRICE_MAX = 1_000_000_000

const Endpoint = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: path.meta({ description: 'Below the slug. {name} is a member of the input.' }),
  upstream_path: path.optional().meta({ description: 'Below base_url. Left out: as path.' }),
  summary: z.string().trim().min(1).max(500),
  price_microdollars: z.int().min(0).max(PRICE_MAX).optional().meta({
    description: 'A call. A lower one counts at once, a higher one after the notice.',
  }),
  input_schema: z.record(z.string(), z.unknown()).optional().meta({
    description: 'JSON Schema of an object: query, path and body in one. No $ref.',
  }),
  output_schema: z.record(z.string(), z.unknown()).nullish().meta({
    description: 'An answer that does not satisfy it is refunded.',
  }),
  query: z.array(z.string().max(64)).max(50).default([]).meta({
    description: 'Of a POST, PUT or PATCH: members of the input that are sent in the query.',
  }),
  body: z.enum(['none', 'json', 'form']).optional(),
  success: z.array(status(200, 299)).min(1).max(20).optional().meta({
    description: 'Statuses that are delivered and charged. Default 200 to 204.',
  }),
  passes: z.array(status(400, 599)).max(20).default([]).meta({
    description: 'Statuses that callers see as they are, for nothing. Any other is a 502.',
  }),
  deadline_seconds: z.int().min(1).max(299).default(DEADLINE_SECONDS),
  max_bytes: z.int().min(1_024).max(33_554_432).default(1_048_576),
  streams: z.boolean().default(false).meta({ description: 'Sent on as it comes: SSE, files.' }),
  idempotent: z.boolean().optional().meta({
    description: 'The same request twice does no more than once. Default: not of POST and PATCH.',
  }),
  retries: z.int().min(0).max(3).optional().meta({
    description: 'Of what is idempotent, when you cannot be reached. Default 1 of GET, else 0.',
  }),
})
type EndpointOrder = z.infer<typeof Endpoint>

const Price = z.object({
  method: z.string(),
  path: z.string(),
  price_microdollars: z.int(),
  set_at: z.iso.datetime(),
  effective_at: z.iso.datetime(),
  withdrawn_at: z.iso.datetime().nullable().meta({ description: 'Before it counted.' }),
  current: z.boolean(),
})

/** What of a service is sold, and at which prices. */
export const serviceEndpoints = (ports: ServicePorts): readonly AnyRoute[] => [
  ...setting(ports),
  ...pricing(ports),
]

const setting = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'PUT',
    path: '/v1/provider/services/{slug}/endpoints',
    summary: 'Sets the endpoints of a service, all at once. They count within a second.',
    auth: 'provider',
    body: z.strictObject({ endpoints: z.array(Endpoint).min(1).max(100) }),
    example: {
      endpoints: [
        {
          method: 'GET',
          path: '/cities/{city}/weather',
          summary: 'The weather of a city.',
          price_microdollars: 3_000,
        },
      ],
    },
    answer: { status: 200, schema: ServiceView },
    faults: [
      'root_key_required',
      'service_not_found',
      'service_incomplete',
      'service_state',
      'schema_not_allowed',
    ],
    handle: async (request) => {
      const { slug = '' } = request.params
      const { endpoints } = request.body
      const manager = ownerOf(request)
      assertLiving(await findUpstream(ports.pool, manager, slug))
      const read = await readEndpointOrders(endpoints)
      const info = await inTransaction(ports.pool, async (client) => {
        const before = await findUpstream(client, manager, slug, true)
        assertLiving(before)
        await writeEndpoints(client, slug, read)
        for (const { method, path: at, price_microdollars: price } of endpoints) {
          if (price === undefined) continue
          const amount: Micros = micros(BigInt(price))
          await setPrice(client, slug, { method, path: at, amount }, ports.listing.noticeDays)
        }
        if (isOffered(before)) await assertComplete(client, slug)
        return findUpstream(client, manager, slug)
      })
      return changed(ports, info)
    },
  }),
]

const pricing = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/services/{slug}/prices',
    summary: 'All prices of a service and from when they count, the newest first.',
    auth: 'provider',
    query: z.strictObject(paging),
    answer: { status: 200, schema: pageOf(Price) },
    faults: ['root_key_required', 'service_not_found', 'validation_failed'],
    handle: async (request) => {
      const { slug = '' } = request.params
      const { limit, cursor } = request.query
      await findUpstream(ports.pool, ownerOf(request), slug)
      const before = readCursor(cursor, z.tuple([z.string().regex(/^\d{1,18}$/)]))?.[0]
      const rows = await listPrices(ports.pool, slug, {
        limit: limit + 1,
        before: before === undefined ? undefined : BigInt(before),
      })
      const position = ({ id }: { readonly id: bigint }) => [String(id)]
      return page(rows, limit, request.url, position, (each) => ({
        method: each.method,
        path: each.path,
        price_microdollars: json(each.amount),
        set_at: each.setAt.toISOString(),
        effective_at: each.effectiveAt.toISOString(),
        withdrawn_at: each.withdrawnAt?.toISOString() ?? null,
        current: each.current,
      }))
    },
  }),
]

/**
 * What is meant, with the defaults.
 * @throws Fault `validation_failed`, `schema_not_allowed`
 */
async function readEndpointOrders(
  orders: readonly EndpointOrder[],
): Promise<readonly EndpointInfo[]> {
  const read = orders.map((order, i) => endpointOf(order, i))
  const shapes = new Set<string>()
  for (const [i, { method, path: text }] of read.entries()) {
    const shape = `${method} ${text.replaceAll(/\{\w+\}/g, '{}')}`
    if (shapes.has(shape)) throw bad(i, 'path', 'leads where another one does')
    shapes.add(shape)
  }
  const schemas = read.flatMap(({ input, output }, i) => [
    { at: `/endpoints/${i}/input_schema`, schema: input },
    ...(output ? [{ at: `/endpoints/${i}/output_schema`, schema: output }] : []),
  ])
  const issues = await issuesOf(schemas)
  if (issues.length > 0) throw refused(issues)
  return read
}

const assertLiving = ({ state }: UpstreamInfo): void => {
  if (state === 'retired') throw new Fault('service_state', 'It is retired.')
}

function endpointOf(order: EndpointOrder, i: number): EndpointInfo {
  const inQuery = order.method === 'GET' || order.method === 'DELETE'
  const idempotent = order.idempotent ?? !/^(?:POST|PATCH)$/.test(order.method)
  const input = inputOf(order, i)
  const names = isJsonObject(input['properties']) ? input['properties'] : {}
  const unknown = order.query.find((name) => !Object.hasOwn(names, name))
  if (unknown !== undefined) throw bad(i, 'query', `"${unknown}" is no member of input_schema`)
  const upstreamPath = order.upstream_path ?? order.path
  const [asked, sent] = [order.path, upstreamPath].map((each) => parametersOf(each))
  if (new Set(asked).size < asked!.length) throw bad(i, 'path', 'has a parameter twice')
  if (new Set(sent).size < sent!.length) throw bad(i, 'upstream_path', 'has a parameter twice')
  const strange = sent!.find((name) => !Object.hasOwn(names, name))
  if (strange !== undefined) throw bad(i, 'upstream_path', `{${strange}} is no member of the input`)
  const unused = asked!.find((name) => !sent!.includes(name))
  if (unused !== undefined) throw bad(i, 'upstream_path', `{${unused}} of path is not sent there`)
  const retries = order.retries ?? (order.method === 'GET' && idempotent ? 1 : 0)
  if (retries > 0 && !idempotent) throw bad(i, 'retries', 'are for what is idempotent')
  const output = order.output_schema ?? null
  if (output && order.streams) throw bad(i, 'output_schema', 'a stream is not checked')
  return {
    method: order.method,
    path: order.path,
    upstreamPath,
    summary: order.summary,
    input,
    output,
    query: inQuery ? [] : order.query,
    body: inQuery ? 'none' : (order.body ?? 'json'),
    success: order.success ?? [200, 201, 202, 203, 204],
    passes: order.passes,
    deadlineSeconds: order.deadline_seconds,
    maxBytes: order.max_bytes,
    streams: order.streams,
    idempotent,
    retries,
  }
}

const SCALAR: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean', undefined])

/** The schema of the input, in which parameters of the path are required, and no lists. */
function inputOf({ path: text, input_schema: given }: EndpointOrder, i: number): JsonObject {
  const at = `/endpoints/${i}/input_schema`
  const names = parametersOf(text)
  const schema = given ?? { type: 'object', additionalProperties: true }
  if (schema['type'] !== 'object') throw refused([{ path: at, message: 'has type "object"' }])
  const properties = isJsonObject(schema['properties']) ? { ...schema['properties'] } : {}
  for (const name of names) {
    const known = (properties[name] ??= { type: 'string' })
    if (!isJsonObject(known) || !SCALAR.has(known['type'])) {
      throw bad(i, 'input_schema', `${name} stands in the path: a text, a number or a boolean`)
    }
  }
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  return { ...schema, properties, required: [...new Set([...required, ...names])] }
}

const refused = (issues: readonly Issue[]): Fault =>
  new Fault('schema_not_allowed', `${issues[0]?.path}: ${issues[0]?.message}.`, {
    extras: { issues },
  })

const bad = (i: number, field: string, message: string): Fault => {
  const at = `/endpoints/${i}/${field}`
  const extras = { issues: [{ path: at, message }] }
  return new Fault('validation_failed', `${at}: ${message}.`, { extras })
}
