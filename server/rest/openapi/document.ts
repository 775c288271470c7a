import type { CatalogEntry } from '../../../core/catalog/services/catalog.ts'
import type { X402Terms } from '../../../core/payments/receiving/offers.ts'
import { memoizeByObject } from '../../../core/runtime/cache.ts'
import { MCP_PATH } from '../../mcp/entry.ts'
import type { AnyRoute } from '../route.ts'
import { AUDIENCES, type Audience, routesOf } from './audiences.ts'
import {
  content,
  jsonBody,
  jsonSchema,
  operationIdOf,
  pathParameters,
  perRequest,
  priceRange,
  problemResponses,
  queryParameters,
} from './builders.ts'
import { BODY_FAULTS, COMMON_FAULTS, KEY_FAULTS, SESSION_FAULTS } from './faults.ts'
import { CALL_HEADERS, paidOperation } from './paid-operation.ts'
import {
  DRY_RUN,
  PAYMENT_REQUIRED,
  PROBLEM,
  SECURITY_BY_AUTH,
  SECURITY_SCHEMES,
} from './schemas.ts'
import { tagOf, tagsOf } from './tags.ts'

/** Builds the OpenAPI 3.1 document from the schemas of REST routes and from the catalog. */
export function openApiDocument(
  routes: readonly AnyRoute[],
  shown: readonly CatalogEntry[],
  site: ApiSite,
): Record<string, unknown> {
  const paths = pathsOf(routes, site)
  paths[MCP_PATH] = { post: mcpOperation(MCP_PATH) }
  return documentOf(paths, shown, site, {
    title: AUDIENCES.agents.title,
    description:
      'Find APIs, pay per request and call them. /.well-known/api-catalog lists the documents of ' +
      'all services, and of the routes of people, providers and staff.',
  })
}

/** Builds the document of one kind of callers. That of agents has the services as well. */
export const audienceDocument = (
  audience: Audience,
  routes: readonly AnyRoute[],
  shown: readonly CatalogEntry[],
  site: ApiSite,
): Record<string, unknown> =>
  audience === 'agents'
    ? openApiDocument(routesOf(audience, routes), shown, site)
    : documentOf(pathsOf(routesOf(audience, routes), site), [], site, {
        title: AUDIENCES[audience].title,
        description: 'A part of the API. /.well-known/api-catalog lists all parts.',
      })

function pathsOf(
  routes: readonly AnyRoute[],
  { x402 }: ApiSite,
): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {}
  const operationOf = operationsBy(x402)
  for (const route of routes) {
    ;(paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route)
  }
  return paths
}

/** Describes each route once: the document is built again, because services change. */
const operationsBy = memoizeByObject((x402: X402Terms) =>
  memoizeByObject((route: AnyRoute) => restOperation(route, x402)),
)

export const serviceDocument = (
  shown: readonly CatalogEntry[],
  site: ApiSite,
): Record<string, unknown> =>
  documentOf({}, shown, site, {
    title: shown[0]?.service.name ?? '',
    description: shown[0]?.service.summary ?? '',
  })

interface ApiSite {
  readonly baseUrl: string
  readonly proxyPath: string
  /** Returns true for an endpoint that wallets pay per request. */
  readonly isPayable: (entry: CatalogEntry) => boolean
  /** Terms of payments per request by x402. */
  readonly x402: X402Terms
}

function documentOf(
  paths: Record<string, Record<string, object>>,
  shown: readonly CatalogEntry[],
  site: ApiSite,
  about: { readonly title: string; readonly description: string },
): Record<string, unknown> {
  for (const offering of shown) {
    const path = pathOf(offering, site.proxyPath)
    ;(paths[path] ??= {})[offering.method.toLowerCase()] = paidOperation(
      offering,
      site.isPayable(offering),
      site.x402,
    )
  }
  return {
    openapi: '3.1.0',
    info: {
      ...about,
      version: '1.0.0',
      contact: { name: 'Guides and status', url: `${site.baseUrl}/docs` },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      'x-guidance':
        'Register a wallet (GET /v1/register/challenge, POST /v1/register), then call paid ' +
        'operations with the key: free calls pay first, then credits. Without a key, pay the 402.',
    },
    servers: [{ url: site.baseUrl }],
    tags: tagsOf(paths, shown),
    paths,
    components: componentsUsedBy(paths),
  }
}

const quoted = (place: string) => (name: string) => `"#/components/${place}/${name}"`

/** Components by place, with the text by which an operation refers to one. */
const COMPONENTS = {
  securitySchemes: { all: SECURITY_SCHEMES, reference: (name: string) => `{"${name}":[]}` },
  schemas: {
    all: { Problem: PROBLEM, PaymentRequired: PAYMENT_REQUIRED, DryRun: DRY_RUN },
    reference: quoted('schemas'),
  },
  headers: { all: CALL_HEADERS, reference: quoted('headers') },
} as const

const REFERENCES = Object.values(COMPONENTS).flatMap(({ all, reference }) =>
  Object.keys(all).map(reference),
)

const referencesOf = memoizeByObject((operation: object): readonly string[] => {
  const text = JSON.stringify(operation)
  return REFERENCES.filter((reference) => text.includes(reference))
})

/** Linters report schemas and security schemes to which no operation of a document refers. */
function componentsUsedBy(
  paths: Readonly<Record<string, Readonly<Record<string, object>>>>,
): Record<string, unknown> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const used = new Set(operations.flatMap(referencesOf))
  const usedOf = ({ all, reference }: (typeof COMPONENTS)[keyof typeof COMPONENTS]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => used.has(reference(name))))
  return Object.fromEntries(
    Object.entries(COMPONENTS).map(([place, components]) => [place, usedOf(components)]),
  )
}

/** The path `/` is omitted: `/external` has a single endpoint. */
const pathOf = ({ service, path }: CatalogEntry, proxyPath: string): string =>
  `${proxyPath}/${service.slug}${path === '/' ? '' : path}`

/** True for changes by staff. */
const needsFreshSignIn = ({ auth, method }: AnyRoute): boolean =>
  method !== 'GET' && (auth === 'admin' || auth === 'finance' || auth === 'auditor')

function restOperation(route: AnyRoute, x402: X402Terms): Record<string, unknown> {
  const faults = [
    ...COMMON_FAULTS,
    ...(route.auth === 'none' || route.auth === 'session' ? [] : KEY_FAULTS),
    ...(route.auth === 'none' || route.auth === 'key' ? [] : SESSION_FAULTS),
    ...(route.auth === 'admin' ? (['admin_only'] as const) : []),
    ...(needsFreshSignIn(route) ? (['fresh_authentication_required'] as const) : []),
    ...(route.auth === 'finance' || route.auth === 'auditor' ? (['finance_only'] as const) : []),
    ...(route.body ? BODY_FAULTS : []),
    ...(route.query ? (['validation_failed'] as const) : []),
    ...(route.path.includes('{') ? (['malformed_path', 'not_found'] as const) : []),
    ...(route.faults ?? []),
  ]
  const { status, or, location, type, schema } = route.response
  return {
    operationId: operationIdOf(route.method, route.path),
    summary: route.summary,
    tags: [tagOf(route.path)],
    ...(route.deprecated && { deprecated: true }),
    security: SECURITY_BY_AUTH[route.auth],
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body ? { requestBody: jsonBody(jsonSchema(route.body), route.example) } : {}),
    ...(route.price
      ? { 'x-payment-info': { price: priceRange(route.price), ...perRequest(x402) } }
      : {}),
    responses: {
      [status]: {
        description: 'Success',
        ...(location !== undefined && { headers: { Location: locationHeader(location) } }),
        ...content(jsonSchema(schema, 'output'), type),
      },
      ...problemResponses(faults),
      ...Object.fromEntries(
        [or ?? []].flat().map((each) => [
          each,
          {
            description: alternativeDescription(each),
            ...content(jsonSchema(schema, 'output')),
          },
        ]),
      ),
    },
  }
}

const locationHeader = (location: string) => ({
  description: `URL of the created resource: ${location}`,
  schema: { type: 'string', format: 'uri-reference' },
})

const alternativeDescription = (status: number): string =>
  status === 202 ? 'Pending' : status < 300 ? 'Unchanged' : 'Unavailable'

const MCP_MESSAGE = {
  type: 'object',
  required: ['jsonrpc'],
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'integer'] },
    method: { type: 'string' },
    params: { type: 'object' },
    result: { type: 'object' },
    error: { type: 'object' },
  },
} as const

/** Operation of the MCP endpoint; its messages are specified by the protocol. */
const mcpOperation = (path: string) => ({
  operationId: operationIdOf('POST', path),
  summary: 'Model Context Protocol: one JSON-RPC message per request.',
  tags: ['mcp'],
  security: [{ apiKey: [] }],
  requestBody: jsonBody(MCP_MESSAGE, { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  responses: {
    200: { description: 'JSON-RPC response', ...content(MCP_MESSAGE) },
    202: { description: 'Notification accepted' },
    ...problemResponses([
      ...KEY_FAULTS,
      ...BODY_FAULTS,
      'method_not_allowed',
      'not_acceptable',
      'origin_not_allowed',
      'api_keys_only',
      'internal_error',
      'service_unavailable',
    ]),
  },
})
