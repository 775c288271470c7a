import type { PoolClient } from 'pg'
import { z } from 'zod'
import { DEADLINE_SECONDS } from '../../../../core/catalog/services/deadline.ts'
import { HUB_STATUSES } from '../../../../core/catalog/services/hub-statuses.ts'
import { PATH_MAX, parameterNames, pathIssue } from '../../../../core/catalog/services/paths.ts'
import { checkSchemas } from '../../../../core/catalog/upstreams/check-schemas.ts'
import { assertDeclared } from '../../../../core/catalog/upstreams/completeness.ts'
import { setPrice } from '../../../../core/catalog/upstreams/prices.ts'
import {
  type EndpointInfo,
  findUpstream,
  isOffered,
  type UpstreamInfo,
  writeEndpoints,
} from '../../../../core/catalog/upstreams/store.ts'
import { recordUpstreamVersion } from '../../../../core/catalog/upstreams/versions.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { Fault } from '../../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../../core/json.ts'
import { micros } from '../../../../core/money.ts'
import type { RequestEncoding } from '../../../../core/plugin/upstreams.ts'
import type { Issue } from '../../../../core/plugin/validate.ts'
import { visibleJson } from '../../../../core/text.ts'
import { plainText } from '../../fields.ts'
import { inputFault } from '../../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { type ServiceDeps, serviceReviewRules } from './deps.ts'
import { EncodingField } from './encoding-field.ts'
import { assertMeterable, MeteredField, toMeter } from './metered-field.ts'
import { assertPriced, assertReadable } from './metered-prices.ts'
import { priceRoutes } from './price-routes.ts'
import { refreshAndShow, ServiceView } from './view.ts'

const path = z
  .string()
  .max(PATH_MAX)
  .superRefine((text, context) => {
    const message = pathIssue(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
const status = (from: number, to: number) => z.int().min(from).max(to)
const passedStatus = status(400, 599).refine((code) => !HUB_STATUSES.has(code), {
  error: 'is not passed on: callers would take it for a response of the hub itself',
})
const PRICE_MAX_MICROS = 1_000_000_000

/** Limits of an endpoint, which an import sets for all of them. */
export const endpointLimits = {
  deadline_seconds: z.int().min(1).max(299).meta({
    description: 'Seconds until a call fails with 504. Default: 30.',
  }),
  max_bytes: z.int().min(1_024).max(33_554_432).meta({
    description: 'Maximum size of a response in bytes. Default: 1,048,576.',
  }),
}

const EndpointField = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: path.meta({ description: 'Path below the slug. {name} is a member of the input.' }),
  upstream_path: path.optional().meta({ description: 'Path below base_url. Default: path.' }),
  summary: plainText(500),
  price_microdollars: z
    .int()
    .min(0)
    .max(PRICE_MAX_MICROS)
    .optional()
    .meta({
      description:
        'Price per call, or the maximum of a metered one. Decreases apply immediately, increases ' +
        'after the notice period.',
    }),
  metered: MeteredField.nullish().meta({
    description: 'Charges the usage that responses report, up to price_microdollars.',
  }),
  input_schema: z.record(z.string(), z.unknown()).optional().meta({
    description:
      'JSON Schema of an object with all query, path and body members. $ref only to #/$defs.',
  }),
  output_schema: z.record(z.string(), z.unknown()).nullish().meta({
    description: 'JSON Schema of responses. Responses that violate it are refunded.',
  }),
  query: z.array(z.string().max(200)).max(100).default([]).meta({
    description: 'With a body: members of the input that are sent in the query.',
  }),
  body: z.enum(['none', 'json', 'form', 'multipart', 'text', 'binary']).optional(),
  encoding: EncodingField.nullish().meta({
    description:
      'Serialization in terms of OpenAPI: style and explode of parameters, the member that is ' +
      'the whole body, its media type, and the parts of a form.',
  }),
  success: z.array(status(200, 299)).min(1).max(20).optional().meta({
    description: 'Statuses that are delivered and charged. Default: 200 to 204.',
  }),
  passes: z.array(passedStatus).max(20).default([]).meta({
    description:
      'Error statuses passed to callers as the response of the API; not 401, 402 and 407.',
  }),
  charges: z.array(status(400, 499)).max(20).default([]).meta({
    description: 'Client errors among passes that are charged, such as 404. Default: none.',
  }),
  deadline_seconds: endpointLimits.deadline_seconds.default(DEADLINE_SECONDS),
  max_bytes: endpointLimits.max_bytes.default(1_048_576),
  streams: z.boolean().default(false).meta({ description: 'Streams the response: SSE, files.' }),
  idempotent: z.boolean().optional().meta({
    description: 'True if repeating a request has no further effect. Default: not POST and PATCH.',
  }),
  retries: z.int().min(0).max(3).optional().meta({
    description: 'Retries of idempotent requests on connection errors. Default: 1 for GET, else 0.',
  }),
})
type EndpointInput = z.infer<typeof EndpointField>

export const serviceEndpointRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  ...endpointRoutes(deps),
  ...priceRoutes(deps),
]

const endpointRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('PUT /v1/provider/services/{slug}/endpoints', {
    summary: 'Replaces all endpoints of a service; effective within a second.',
    auth: 'provider',
    body: z.strictObject({ endpoints: z.array(EndpointField).min(1).max(100) }),
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
    response: { status: 200, schema: ServiceView },
    faults: [
      'root_key_required',
      'service_not_found',
      'service_incomplete',
      'service_state',
      'schema_not_allowed',
    ],
    handle: async (request) => {
      const { slug } = request.params
      const { endpoints } = request.body
      const manager = ownerOf(request)
      assertNotRetired(await findUpstream(deps.pool, manager, slug))
      const read = await parseEndpoints(endpoints)
      const info = await inTransaction(deps.pool, async (client) => {
        const before = await findUpstream(client, manager, slug, true)
        assertNotRetired(before)
        await writeEndpoints(client, slug, read)
        await assertPriced(client, slug, endpoints)
        for (const order of endpoints) await writePrice(client, slug, order, deps)
        await assertReadable(client, slug, endpoints)
        if (isOffered(before)) await assertDeclared(client, slug)
        await recordUpstreamVersion(client, before, serviceReviewRules(deps))
        return findUpstream(client, manager, slug)
      })
      return refreshAndShow(deps, info)
    },
  }),
]

/** Sets the price that an endpoint names. One that names none keeps its price. */
async function writePrice(
  client: PoolClient,
  slug: string,
  { method, path: at, price_microdollars: price, metered }: EndpointInput,
  { listing }: ServiceDeps,
): Promise<void> {
  if (price === undefined && !metered) return
  const amount = price === undefined ? undefined : micros(BigInt(price))
  const terms = { amount, metered: metered ? toMeter(metered) : null }
  await setPrice(client, slug, { method, path: at, ...terms }, listing.noticeDays)
}

/**
 * Checks endpoints and applies defaults.
 * @throws Fault `validation_failed`, `schema_not_allowed`
 */
async function parseEndpoints(orders: readonly EndpointInput[]): Promise<readonly EndpointInfo[]> {
  const read = orders.map((order, i) => parseEndpoint(visibleJson(order), i))
  const shapes = new Set<string>()
  for (const [i, { method, path: text }] of read.entries()) {
    const shape = `${method} ${text.replaceAll(/\{[^{}]+\}/g, '{}')}`
    if (shapes.has(shape)) throw invalid(i, 'path', 'is the same as another path')
    shapes.add(shape)
  }
  const schemas = read.flatMap(({ input, output }, i) => [
    { at: `/endpoints/${i}/input_schema`, schema: input },
    ...(output ? [{ at: `/endpoints/${i}/output_schema`, schema: output }] : []),
  ])
  const issues = await checkSchemas(schemas)
  if (issues.length > 0) throw schemaFault(issues)
  return read
}

const assertNotRetired = ({ state }: UpstreamInfo): void => {
  if (state === 'retired') throw new Fault('service_state', 'The service is retired.')
}

function parseEndpoint(order: EndpointInput, i: number): EndpointInfo {
  const isGet = order.method === 'GET'
  const body = isGet ? 'none' : (order.body ?? (order.method === 'DELETE' ? 'none' : 'json'))
  const inQuery = body === 'none' && (isGet || order.method === 'DELETE')
  const idempotent = order.idempotent ?? !/^(?:POST|PATCH)$/.test(order.method)
  const input = inputSchemaOf(order, i)
  const names = isJsonObject(input['properties']) ? input['properties'] : {}
  const unknown = order.query.find((name) => !Object.hasOwn(names, name))
  if (unknown !== undefined) throw invalid(i, 'query', `"${unknown}" is not in input_schema`)
  const { bodyMember } = order.encoding ?? {}
  if (bodyMember !== undefined && !Object.hasOwn(names, bodyMember))
    throw invalid(i, 'encoding', `bodyMember: "${bodyMember}" is not in input_schema`)
  if ((body === 'text' || body === 'binary') && bodyMember === undefined)
    throw invalid(i, 'encoding', `bodyMember is required for a ${body} body`)
  const upstreamPath = order.upstream_path ?? order.path
  const [declared, sent] = [order.path, upstreamPath].map((each) => parameterNames(each))
  if (new Set(declared).size < declared!.length) throw invalid(i, 'path', 'has duplicates')
  if (new Set(sent).size < sent!.length) throw invalid(i, 'upstream_path', 'has duplicates')
  const undeclared = sent!.find((name) => !Object.hasOwn(names, name))
  if (undeclared !== undefined)
    throw invalid(i, 'upstream_path', `{${undeclared}} is not a member of the input`)
  const unused = declared!.find((name) => !sent!.includes(name))
  if (unused !== undefined) throw invalid(i, 'upstream_path', `{${unused}} of path is missing`)
  const retries = order.retries ?? (order.method === 'GET' && idempotent ? 1 : 0)
  if (retries > 0 && !idempotent) throw invalid(i, 'retries', 'require an idempotent endpoint')
  const unpassed = order.charges.find((each) => !order.passes.includes(each))
  if (unpassed !== undefined) throw invalid(i, 'charges', `${unpassed} is not in passes`)
  assertMeterable(order, `/endpoints/${i}`)
  const output = order.output_schema ?? null
  if (output && order.streams) throw invalid(i, 'output_schema', 'is not supported for streams')
  return {
    method: order.method,
    path: order.path,
    upstreamPath,
    summary: order.summary,
    input,
    output,
    query: inQuery ? [] : order.query,
    body,
    encoding: order.encoding ? (order.encoding as RequestEncoding) : null,
    success: order.success ?? [200, 201, 202, 203, 204],
    passes: order.passes,
    charges: order.charges,
    deadlineSeconds: order.deadline_seconds,
    maxBytes: order.max_bytes,
    streams: order.streams,
    idempotent,
    retries,
  }
}

const SCALARS: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean', undefined])

/** Input schema in which all path parameters are required, and scalars unless they have a style. */
function inputSchemaOf(
  { path: text, input_schema: given, encoding }: EndpointInput,
  i: number,
): JsonObject {
  const at = `/endpoints/${i}/input_schema`
  const names = parameterNames(text)
  const schema = given ?? { type: 'object', additionalProperties: true }
  if (schema['type'] !== 'object')
    throw schemaFault([{ path: at, message: 'must have type "object"' }])
  const properties = isJsonObject(schema['properties']) ? { ...schema['properties'] } : {}
  for (const name of names) {
    const property = (properties[name] ??= { type: 'string' })
    const isStyled = encoding?.parameters?.[name] !== undefined
    if (!isJsonObject(property) || (!isStyled && !SCALARS.has(property['type']))) {
      throw invalid(i, 'input_schema', `${name} is in the path: string, number or boolean only`)
    }
  }
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  return { ...schema, properties, required: [...new Set([...required, ...names])] }
}

const schemaFault = (issues: readonly Issue[]): Fault =>
  new Fault('schema_not_allowed', `${issues[0]?.path}: ${issues[0]?.message}.`, {
    extras: { issues },
  })

const invalid = (i: number, field: string, message: string): Fault =>
  inputFault(`/endpoints/${i}/${field}`, message)
