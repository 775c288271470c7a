import { z } from 'zod'
import { type Catalog, maxPrice, type Offering } from '../../core/catalog/services.ts'
import { FAULTS, type FaultCode } from '../../core/errors.ts'
import { EXTERNAL_SELLERS } from '../../core/ledger/postings.ts'
import { decimal, type Micros } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/asset.ts'
import { BOUGHT, EVERY_ROUTE, KEYED, SIGNED_IN, SOLD, WITH_BODY } from './openapi-faults.ts'
import { PAYMENT_REQUIRED, PROBLEM, SECURITY, SECURITY_SCHEMES } from './openapi-schemas.ts'
import type { AnyRoute } from './route.ts'

/** The OpenAPI 3.1 document: REST routes from their schemas, paid ones from the catalogue. */
export function openapi(
  routes: readonly AnyRoute[],
  catalog: Catalog,
  site: { readonly baseUrl: string; readonly proxyPath: string },
): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    ;(paths[route.path] ??= {})[route.method.toLowerCase()] = restOperation(route)
  }
  for (const offering of catalog.all()) {
    const path = pathOf(offering, site.proxyPath)
    ;(paths[path] ??= {})[offering.method.toLowerCase()] = paidOperation(offering)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'AgentHub',
      version: '1.0.0',
      description: 'Find APIs, pay for them per request, call them.',
      'x-guidance':
        'Register a wallet (GET /v1/register/challenge, POST /v1/register), then call paid ' +
        'operations with the key: free calls first, then credits. Without a key, pay the 402.',
    },
    servers: [{ url: site.baseUrl }],
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { Problem: PROBLEM, PaymentRequired: PAYMENT_REQUIRED },
    },
  }
}

/** `/external` is a service of a single endpoint, without a path below its slug. */
const pathOf = ({ service, path }: Offering, proxyPath: string): string =>
  `${proxyPath}/${service.slug}${path === '/' ? '' : path}`

function restOperation(route: AnyRoute): Record<string, unknown> {
  const faults = [
    ...EVERY_ROUTE,
    ...(route.auth === 'none' || route.auth === 'session' ? [] : KEYED),
    ...(route.auth === 'session' || route.auth === 'owner' ? SIGNED_IN : []),
    ...(route.auth === 'admin' ? (['admin_only'] as const) : []),
    ...(route.body ? WITH_BODY : []),
    ...(route.query ? (['validation_failed'] as const) : []),
    ...(route.path.includes('{') ? (['malformed_path'] as const) : []),
    ...(route.faults ?? []),
  ]
  const { status, or, type, schema } = route.answer
  return {
    summary: route.summary,
    security: SECURITY[route.auth],
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body ? { requestBody: jsonBody(jsonSchema(route.body)) } : {}),
    ...(route.price ? { 'x-payment-info': { price: range(route.price), ...BY_X402 } } : {}),
    responses: {
      [status]: { description: 'Success', ...content(jsonSchema(schema, 'output'), type) },
      ...(or === undefined
        ? {}
        : { [or]: { description: 'Not settled yet', ...content(jsonSchema(schema, 'output')) } }),
      ...problems(faults),
    },
  }
}

function paidOperation(offering: Offering): Record<string, unknown> {
  const { endpoint, method } = offering
  const input = endpoint.input.json
  const max = maxPrice(endpoint)
  const isFixed = typeof endpoint.price === 'bigint'
  const outside = offering.payee.code === EXTERNAL_SELLERS
  return {
    summary: endpoint.summary,
    tags: [offering.service.slug],
    security: outside ? [{ apiKey: [] }] : [{ credits: [] }, {}],
    ...(method === 'GET' || method === 'DELETE'
      ? { parameters: parametersOf(input) }
      : { requestBody: jsonBody(input) }),
    'x-payment-info': {
      price: isFixed
        ? { mode: 'fixed', currency: 'USD', amount: decimal(max) }
        : range({ min: 0n as Micros, max }),
      ...(outside ? BY_CREDITS : BY_X402),
    },
    responses: {
      200: { description: 'Charged and delivered', ...content(endpoint.output?.json ?? {}) },
      ...problems(outside ? BOUGHT : SOLD),
    },
  }
}

const range = ({ min, max }: { readonly min: Micros; readonly max: Micros }) => ({
  mode: 'dynamic',
  currency: 'USD',
  min: decimal(min),
  max: decimal(max),
})

/** Crawlers read each protocol as an object whose one member names it. */
const BY_X402 = {
  protocols: [{ x402: { version: 2, scheme: 'exact', network: USDC_BASE.network } }],
} as const
const BY_CREDITS = { protocols: [{ credits: { topup: '/v1/credits/purchase' } }] } as const

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>
  readonly required?: readonly string[]
}

const jsonSchema = (
  schema: z.ZodType,
  io: 'input' | 'output' = 'input',
): Record<string, unknown> => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

const pathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const queryParameters = (query: z.ZodType | undefined) =>
  query === undefined ? [] : parametersOf(jsonSchema(query))

const parametersOf = ({ properties = {}, required = [] }: ObjectSchema) =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(schema.description === undefined ? {} : { description: schema.description }),
    schema,
  }))

const content = (schema: unknown, type = 'application/json') => ({
  content: { [type]: { schema } },
})

const jsonBody = (schema: unknown) => ({ required: true, ...content(schema) })

/** Faults by status, since OpenAPI has one response for each. */
function problems(codes: readonly FaultCode[]): Record<string, unknown> {
  const byStatus = new Map<number, FaultCode[]>()
  for (const code of new Set(codes)) {
    const [status] = FAULTS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      status,
      {
        description: same.map((code) => `${code}: ${FAULTS[code][2]}`).join('\n'),
        content: {
          'application/problem+json': {
            schema: {
              $ref: `#/components/schemas/${same.some(isOffer) ? 'PaymentRequired' : 'Problem'}`,
            },
          },
        },
      },
    ]),
  )
}

const isOffer = (code: FaultCode): boolean => code === 'payment_required'
