import type { Shown } from '../../../core/catalog/services/catalog.ts'
import { MCP_PATH } from '../../mcp/entry.ts'
import type { AnyRoute } from '../route.ts'
import { EVERY_ROUTE, KEYED, SIGNED_IN, WITH_BODY } from './faults.ts'
import { mcpOperation } from './mcp.ts'
import { paidOperation } from './paid.ts'
import {
  BY_X402,
  content,
  jsonBody,
  jsonSchema,
  nameOf,
  pathParameters,
  problems,
  queryParameters,
  range,
} from './parts.ts'
import { DRY_RUN, PAYMENT_REQUIRED, PROBLEM, SECURITY, SECURITY_SCHEMES } from './schemas.ts'

/** The OpenAPI 3.1 document: REST routes from their schemas, paid ones from the catalogue. */
export function openapi(
  routes: readonly AnyRoute[],
  shown: readonly Shown[],
  site: Site,
): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    ;(paths[route.path] ??= {})[route.method.toLowerCase()] = restOperation(route)
  }
  paths[MCP_PATH] = { post: mcpOperation(MCP_PATH) }
  return documentOf(paths, shown, site, {
    title: 'AgentHub',
    description:
      'Find APIs, pay for them per request, call them. Services that are not in here have a ' +
      'document of their own: /v1/services/{slug}/openapi.json.',
  })
}

/** The same of one service alone. */
export const serviceDocument = (shown: readonly Shown[], site: Site): Record<string, unknown> =>
  documentOf({}, shown, site, {
    title: shown[0]?.service.name ?? '',
    description: shown[0]?.service.summary ?? '',
  })

interface Site {
  readonly baseUrl: string
  readonly proxyPath: string
}

function documentOf(
  paths: Record<string, Record<string, unknown>>,
  shown: readonly Shown[],
  site: Site,
  about: { readonly title: string; readonly description: string },
): Record<string, unknown> {
  for (const offering of shown) {
    const path = pathOf(offering, site.proxyPath)
    ;(paths[path] ??= {})[offering.method.toLowerCase()] = paidOperation(offering)
  }
  return {
    openapi: '3.1.0',
    info: {
      ...about,
      version: '1.0.0',
      'x-guidance':
        'Register a wallet (GET /v1/register/challenge, POST /v1/register), then call paid ' +
        'operations with the key: free calls first, then credits. Without a key, pay the 402.',
    },
    servers: [{ url: site.baseUrl }],
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { Problem: PROBLEM, PaymentRequired: PAYMENT_REQUIRED, DryRun: DRY_RUN },
    },
  }
}

/** `/external` is a service of a single endpoint, without a path below its slug. */
const pathOf = ({ service, path }: Shown, proxyPath: string): string =>
  `${proxyPath}/${service.slug}${path === '/' ? '' : path}`

function restOperation(route: AnyRoute): Record<string, unknown> {
  const faults = [
    ...EVERY_ROUTE,
    ...(route.auth === 'none' || route.auth === 'session' ? [] : KEYED),
    ...(route.auth === 'none' || route.auth === 'key' ? [] : SIGNED_IN),
    ...(route.auth === 'admin' ? (['admin_only'] as const) : []),
    ...(route.auth === 'finance' ? (['finance_only'] as const) : []),
    ...(route.body ? WITH_BODY : []),
    ...(route.query ? (['validation_failed'] as const) : []),
    ...(route.path.includes('{') ? (['malformed_path', 'not_found'] as const) : []),
    ...(route.faults ?? []),
  ]
  const { status, or, location, type, schema } = route.answer
  return {
    operationId: nameOf(route.method, route.path),
    summary: route.summary,
    tags: [tagOf(route.path)],
    ...(route.deprecated && { deprecated: true }),
    security: SECURITY[route.auth],
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body ? { requestBody: jsonBody(jsonSchema(route.body), route.example) } : {}),
    ...(route.price ? { 'x-payment-info': { price: range(route.price), ...BY_X402 } } : {}),
    responses: {
      [status]: {
        description: 'Success',
        ...(location !== undefined && { headers: { Location: located(location) } }),
        ...content(jsonSchema(schema, 'output'), type),
      },
      ...problems(faults),
      ...(or === undefined
        ? {}
        : { [or]: { description: otherwise(or), ...content(jsonSchema(schema, 'output')) } }),
    },
  }
}

const located = (location: string) => ({
  description: `Where it is found: ${location}`,
  schema: { type: 'string', format: 'uri-reference' },
})

/** What another status with the same body says. */
const otherwise = (status: number): string =>
  status === 202 ? 'Not settled yet' : status < 300 ? 'It was so already' : 'Not now'

/** `/v1/credits/balance` belongs to `credits`; what stands beside `/v1` to `hub`. */
const tagOf = (path: string): string => /^\/v1\/([\w-]+)/.exec(path)?.[1] ?? 'hub'
