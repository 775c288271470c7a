import { z } from 'zod'
import { changeUpstream } from '../../../../core/catalog/upstreams/change.ts'
import {
  createUpstream,
  findUpstream,
  listUpstreams,
  type NewUpstream,
  type UpstreamInfo,
} from '../../../../core/catalog/upstreams/store.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { isRelayable } from '../../../../core/egress/headers.ts'
import { isReservedHeader } from '../../../proxy/reserved-headers.ts'
import { plainText, slug } from '../../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../../paging.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { baseUrl, parseBaseUrl } from './base-url.ts'
import { type ServiceDeps, serviceReviewRules } from './deps.ts'
import { serviceEndpointRoutes } from './endpoints.ts'
import { serviceImportRoutes } from './import.ts'
import { serviceSecretRoutes } from './secrets.ts'
import { serviceStateRoutes } from './states.ts'
import { serviceTestRoutes } from './test-call.ts'
import { refreshAndShow, ServiceRowView, ServiceView, showService, showServiceRow } from './view.ts'

const name = plainText(100)
const category = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a-z, 0-9 and hyphens')
const summary = plainText(500)
const freeCalls = z.int().min(0).max(1_000_000).meta({
  description: 'Free calls per caller and UTC month. They earn nothing.',
})
const headerName = z
  .string()
  .max(100)
  .transform((text) => text.toLowerCase())
const header = headerName.refine(isRelayable, 'cannot be forwarded')
const responseHeader = headerName.refine(
  (name) => isRelayable(name) && !isReservedHeader(name) && !name.startsWith('x-agenthub-'),
  'cannot be sent to callers: it is set by the hub, or concerns the connection or the site',
)
const healthPath = z
  .string()
  .max(500)
  .regex(/^\/[^\p{Cc}\s#\\]*$/u, 'must be a path of base_url')

const serviceInput = {
  name: name.meta({ description: 'Name in lists.' }),
  category,
  summary: summary.meta({ description: 'What the service does and for whom.' }),
  base_url: baseUrl,
  free_calls_per_month: freeCalls.default(0),
  request_headers: z.array(header).max(20).default([]).meta({
    description: 'Forwarded request headers, besides Accept, Accept-Language and Prefer.',
  }),
  response_headers: z.array(responseHeader).max(20).default([]).meta({
    description: 'Forwarded response headers, besides those about the body.',
  }),
  health_path: healthPath.default('/').meta({
    description: 'Checked every five minutes, without credentials; any status below 500 is up.',
  }),
}
const NewService = z.strictObject({ slug, ...serviceInput })
const ServiceChange = z.strictObject({
  name: name.optional(),
  category: category.optional(),
  summary: summary.optional(),
  base_url: baseUrl.optional().meta({ description: 'For a new host, set secrets again.' }),
  free_calls_per_month: freeCalls.optional(),
  request_headers: z.array(header).max(20).optional(),
  response_headers: z.array(responseHeader).max(20).optional(),
  health_path: healthPath.optional(),
})

/** Routes for upstreams: HTTP APIs sold without code. */
export const providerServiceRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  ...serviceImportRoutes(deps),
  ...collectionRoutes(deps),
  ...singleServiceRoutes(deps),
  ...serviceEndpointRoutes(deps),
  ...serviceSecretRoutes(deps),
  ...serviceTestRoutes(deps),
  ...serviceStateRoutes(deps),
]

const collectionRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('POST /v1/provider/services', {
    summary: 'Creates a draft of your HTTP API, visible only to you until you activate it.',
    auth: 'provider',
    body: NewService,
    example: {
      slug: 'acme-weather',
      name: 'Acme Weather',
      category: 'data',
      summary: 'Weather by city, for agents that plan.',
      base_url: 'https://api.acme.com/v2',
    },
    response: { status: 201, location: '/v1/provider/services/{slug}', schema: ServiceView },
    faults: ['root_key_required', 'slug_taken', 'too_many_services'],
    handle: async (request) => {
      const [owner = ''] = ownerOf(request)
      const draft = toNewUpstream(request.body, deps)
      const made = await inTransaction(deps.pool, (client) => createUpstream(client, owner, draft))
      return { status: 201, body: await showService(deps, made) }
    },
  }),
  route('GET /v1/provider/services', {
    summary: 'Lists your upstream services by slug.',
    auth: 'provider',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(ServiceRowView) },
    faults: ['root_key_required', 'validation_failed'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string()]))?.[0]
      const rows = await listUpstreams(deps.pool, ownerOf(request), { limit: limit + 1, after })
      const position = (row: UpstreamInfo) => [row.slug]
      return toPage(rows, limit, request.url, position, (row) => showServiceRow(row, deps.proxyUrl))
    },
  }),
]

const singleServiceRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/services/{slug}', {
    summary: 'Returns your service: endpoints, prices, credential names, health, missing parts.',
    auth: 'provider',
    response: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => ({
      body: await showService(
        deps,
        await findUpstream(deps.pool, ownerOf(request), request.params.slug),
      ),
    }),
  }),
  route('PATCH /v1/provider/services/{slug}', {
    summary: 'Changes a service: description, base URL, free calls or headers.',
    auth: 'provider',
    body: ServiceChange,
    example: { summary: 'Weather by city, hour by hour.' },
    response: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) => {
      const { body } = request
      const change = {
        name: body.name,
        category: body.category,
        summary: body.summary,
        baseUrl: body.base_url === undefined ? undefined : parseBaseUrl(body.base_url, deps),
        freeCallsPerMonth: body.free_calls_per_month,
        requestHeaders: body.request_headers,
        responseHeaders: body.response_headers,
        healthPath: body.health_path,
      }
      const { slug } = request.params
      const rules = serviceReviewRules(deps)
      const info = await changeUpstream(deps.pool, ownerOf(request), slug, change, rules)
      return refreshAndShow(deps, info)
    },
  }),
]

const toNewUpstream = (body: z.infer<typeof NewService>, deps: ServiceDeps): NewUpstream => ({
  slug: body.slug,
  name: body.name,
  category: body.category,
  summary: body.summary,
  baseUrl: parseBaseUrl(body.base_url, deps),
  freeCallsPerMonth: body.free_calls_per_month,
  requestHeaders: body.request_headers,
  responseHeaders: body.response_headers,
  healthPath: body.health_path,
})
