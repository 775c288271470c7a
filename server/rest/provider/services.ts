import { z } from 'zod'
import {
  changeUpstream,
  createUpstream,
  findUpstream,
  listUpstreams,
  type NewUpstream,
  type UpstreamInfo,
} from '../../../core/catalog/upstreams/store.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { isRelayable } from '../../../core/egress/headers.ts'
import { isOwnHeader } from '../../proxy/own-headers.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { serviceEndpoints } from './services-endpoints.ts'
import { serviceImport } from './services-import.ts'
import { baseOf, baseUrl, changed, type ServicePorts, slug } from './services-parts.ts'
import { serviceSecrets } from './services-secrets.ts'
import { serviceStates } from './services-states.ts'
import { serviceTests } from './services-test.ts'
import { rowOf, ServiceRow, ServiceView, viewOf } from './services-view.ts'

const name = z.string().trim().min(1).max(100)
const category = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'lower case letters, digits, hyphens')
const summary = z.string().trim().min(1).max(500)
const freeCalls = z.int().min(0).max(1_000_000).meta({
  description: 'Calls that each caller has free per UTC month. They earn nothing.',
})
const headerName = z
  .string()
  .max(100)
  .transform((text) => text.toLowerCase())
const header = headerName.refine(isRelayable, 'is not passed on')
const responseHeader = headerName.refine(
  (name) => isRelayable(name) && !isOwnHeader(name) && !name.startsWith('x-agenthub-'),
  'is never sent to callers: it is written by the hub, or means the connection or the whole site',
)
const healthPath = z
  .string()
  .max(500)
  .regex(/^\/[^\p{Cc}\s#\\]*$/u, 'a path below base_url')

const About = {
  name: name.meta({ description: 'Shown in lists.' }),
  category,
  summary: summary.meta({ description: 'What it does, for whom.' }),
  base_url: baseUrl,
  free_calls_per_month: freeCalls.default(0),
  request_headers: z.array(header).max(20).default([]).meta({
    description: 'Headers of callers that you are sent, beside Accept, Accept-Language, Prefer.',
  }),
  response_headers: z.array(responseHeader).max(20).default([]).meta({
    description: 'Headers of yours that callers are sent, beside those about the body.',
  }),
  health_path: healthPath.default('/').meta({
    description: 'Asked every five minutes, without secrets: whatever is no 5xx is up.',
  }),
}
const Order = z.strictObject({ slug, ...About })
const Change = z.strictObject({
  name: name.optional(),
  category: category.optional(),
  summary: summary.optional(),
  base_url: baseUrl.optional().meta({ description: 'At another host, secrets are set anew.' }),
  free_calls_per_month: freeCalls.optional(),
  request_headers: z.array(header).max(20).optional(),
  response_headers: z.array(responseHeader).max(20).optional(),
  health_path: healthPath.optional(),
})

/** Where owners list their APIs without code. */
export const providerServiceRoutes = (ports: ServicePorts): readonly AnyRoute[] => [
  ...serviceImport(ports),
  ...listing(ports),
  ...single(ports),
  ...serviceEndpoints(ports),
  ...serviceSecrets(ports),
  ...serviceTests(ports),
  ...serviceStates(ports),
]

const listing = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/provider/services',
    summary: 'Lists an HTTP API of yours: a draft, which nobody sees before you activate it.',
    auth: 'provider',
    body: Order,
    example: {
      slug: 'acme-weather',
      name: 'Acme Weather',
      category: 'data',
      summary: 'Weather by city, for agents that plan.',
      base_url: 'https://api.acme.com/v2',
    },
    answer: { status: 201, location: '/v1/provider/services/{slug}', schema: ServiceView },
    faults: ['root_key_required', 'slug_taken', 'too_many_services'],
    handle: async (request) => {
      const [owner = ''] = ownerOf(request)
      const draft = draftOf(request.body, ports)
      const made = await inTransaction(ports.pool, (client) => createUpstream(client, owner, draft))
      return { status: 201, body: await viewOf(ports, made) }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/provider/services',
    summary: 'Your services that are listed without code, by slug.',
    auth: 'provider',
    query: z.strictObject(paging),
    answer: { status: 200, schema: pageOf(ServiceRow) },
    faults: ['root_key_required', 'validation_failed'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string()]))?.[0]
      const rows = await listUpstreams(ports.pool, ownerOf(request), { limit: limit + 1, after })
      const position = (row: UpstreamInfo) => [row.slug]
      return page(rows, limit, request.url, position, (row) => rowOf(row, ports.proxyUrl))
    },
  }),
]

const single = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/provider/services/{slug}',
    summary: 'One service of yours: endpoints, prices, secrets by name, health, what is missing.',
    auth: 'provider',
    answer: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found'],
    handle: async (request) => {
      const { slug: which = '' } = request.params
      return { body: await viewOf(ports, await findUpstream(ports.pool, ownerOf(request), which)) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/v1/provider/services/{slug}',
    summary: 'Changes how a service is shown, or where it is.',
    auth: 'provider',
    body: Change,
    example: { summary: 'Weather by city, hour by hour.' },
    answer: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) => {
      const { slug: which = '' } = request.params
      const { body } = request
      const change = {
        name: body.name,
        category: body.category,
        summary: body.summary,
        baseUrl: body.base_url === undefined ? undefined : baseOf(body.base_url, ports),
        freeCallsPerMonth: body.free_calls_per_month,
        requestHeaders: body.request_headers,
        responseHeaders: body.response_headers,
        healthPath: body.health_path,
      }
      const { approval } = ports.listing
      const info = await changeUpstream(ports.pool, ownerOf(request), which, change, approval)
      return changed(ports, info)
    },
  }),
]

const draftOf = (body: z.infer<typeof Order>, ports: ServicePorts): NewUpstream => ({
  slug: body.slug,
  name: body.name,
  category: body.category,
  summary: body.summary,
  baseUrl: baseOf(body.base_url, ports),
  freeCallsPerMonth: body.free_calls_per_month,
  requestHeaders: body.request_headers,
  responseHeaders: body.response_headers,
  healthPath: body.health_path,
})
