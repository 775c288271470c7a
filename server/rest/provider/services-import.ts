import { z } from 'zod'
import { keepReport } from '../../../core/catalog/upstreams/imports.ts'
import { readApart } from '../../../core/catalog/upstreams/openapi/apart.ts'
import { NAME_MAX } from '../../../core/catalog/upstreams/openapi/choice.ts'
import { DOCUMENT_MAX } from '../../../core/catalog/upstreams/openapi/parse.ts'
import type { Understood } from '../../../core/catalog/upstreams/openapi/read.ts'
import { setPrice } from '../../../core/catalog/upstreams/prices.ts'
import { createUpstream, writeEndpoints } from '../../../core/catalog/upstreams/store.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { EgressError } from '../../../core/egress/errors.ts'
import { isRelayable } from '../../../core/egress/headers.ts'
import { FAULTS, Fault, type FaultCode } from '../../../core/errors.ts'
import { type Micros, micros } from '../../../core/money.ts'
import { UPSTREAM_FAULTS } from '../../proxy/provided.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { baseOf, baseUrl, type ServicePorts, slug, urlOf } from './services-parts.ts'
import { ImportView, ServiceView, viewOf } from './services-view.ts'

const Order = z
  .strictObject({
    openapi: z.string().min(1).optional().meta({ description: 'The document, JSON or YAML.' }),
    url: z.string().min(1).max(2_048).optional().meta({ description: 'Or where it is.' }),
    only: z.array(z.string().trim().min(1).max(NAME_MAX)).max(100).default([]).meta({
      description:
        'What of it: `GET /weather`, `/weather` and all below it, a tag. Default: its first 100.',
    }),
    slug,
    name: z.string().trim().min(1).max(100).optional().meta({ description: 'Default: its title.' }),
    category: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,39}$/, 'lower case letters, digits, hyphens')
      .default('data'),
    summary: z.string().trim().min(1).max(500).optional(),
    base_url: baseUrl.optional().meta({ description: 'Default: its first server.' }),
    price_microdollars: z.int().min(0).max(1_000_000_000).optional().meta({
      description: 'Of endpoints that say none themselves (x-payment-info).',
    }),
    free_calls_per_month: z.int().min(0).max(1_000_000).default(0),
  })
  .refine(({ openapi, url }) => (openapi === undefined) !== (url === undefined), {
    path: ['openapi'],
    error: 'send the document (openapi), or its address (url)',
  })

const Imported = z.object({
  service: ServiceView,
  understood: z.object({
    endpoints: z.int(),
    left_out: z.int().meta({ description: 'Operations that the service has no room for.' }),
    choices: z.array(z.object({ only: z.string(), operations: z.int() })).meta({
      description: 'If some were left out: what `only` may choose.',
    }),
    unpriced: z.array(z.string()).meta({ description: 'Endpoints whose price is to be set.' }),
    secrets: ImportView.shape.secrets,
  }),
  not_understood: ImportView.shape.not_understood,
})

/** A draft out of an OpenAPI document. */
export const serviceImport = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/provider/services/import',
    summary: 'Makes a draft out of an OpenAPI document, and tells what was not understood.',
    auth: 'provider',
    body: Order,
    example: { url: 'https://api.acme.com/openapi.json', slug: 'acme-weather' },
    answer: {
      status: 201,
      location: '/v1/provider/services/{service.slug}',
      schema: Imported,
    },
    faults: [
      'root_key_required',
      'slug_taken',
      'too_many_services',
      'openapi_unreadable',
      'destination_not_allowed',
      ...UPSTREAM_FAULTS,
    ],
    handle: async (request) => {
      const [owner = ''] = ownerOf(request)
      const { body } = request
      const text = body.openapi ?? (await fetchDocument(ports, body.url ?? ''))
      const found = await readApart(text, body.only)
      const made = await draft(ports, owner, body, found)
      const priced = body.price_microdollars !== undefined
      const unpriced = found.endpoints.filter(({ price }) => price === null && !priced)
      return {
        status: 201,
        body: {
          service: await viewOf(ports, made),
          understood: {
            endpoints: found.endpoints.length,
            left_out: found.leftOut,
            choices: [...found.choices],
            unpriced: unpriced.map(({ method, path }) => `${method} ${path}`),
            secrets: found.wants,
          },
          not_understood: found.gaps,
        },
      }
    },
  }),
]

async function draft(
  ports: ServicePorts,
  owner: string,
  body: z.infer<typeof Order>,
  found: Understood,
) {
  const [unknown] = found.unknown
  if (unknown !== undefined) {
    throw wrong(
      `/only/${body.only.indexOf(unknown)}`,
      `no tag, path or operation of it is ${unknown}`,
    )
  }
  if (found.endpoints.length === 0) {
    throw new Fault('openapi_unreadable', 'It has no endpoint that could be sold.', {
      extras: { not_understood: found.gaps },
    })
  }
  const { slug: name, price_microdollars: price } = body
  const headers = found.endpoints.flatMap((each) => each.headers.filter(isRelayable))
  return inTransaction(ports.pool, async (client) => {
    const made = await createUpstream(client, owner, {
      slug: name,
      name: body.name ?? found.title ?? name,
      category: body.category,
      summary: body.summary ?? found.summary ?? `The API of ${found.title ?? name}.`,
      baseUrl: baseOf(body.base_url ?? serverOf(body, found), ports),
      freeCallsPerMonth: body.free_calls_per_month,
      requestHeaders: [...new Set(headers)].slice(0, 20),
      responseHeaders: [],
      healthPath: '/',
    })
    await writeEndpoints(client, name, found.endpoints)
    await keepReport(client, name, found)
    for (const { method, path, price: own } of found.endpoints) {
      const amount: Micros | undefined =
        own ?? (price === undefined ? undefined : micros(BigInt(price)))
      if (amount === undefined) continue
      await setPrice(client, name, { method, path, amount }, ports.listing.noticeDays)
    }
    return made
  })
}

/**
 * Where it says that it is; a path alone is one of the host that the document came from.
 * @throws Fault `validation_failed` for a document without a host, that names none
 */
function serverOf({ url }: z.infer<typeof Order>, { servers: [server] }: Understood): string {
  if (server === undefined && url === undefined) {
    const message = 'the document names no server: say where the API is'
    throw new Fault('validation_failed', `/base_url: ${message}`, {
      extras: { issues: [{ path: '/base_url', message }] },
    })
  }
  return URL.parse(server ?? '/', url)?.href ?? server ?? ''
}

const wrong = (path: string, message: string): Fault =>
  new Fault('validation_failed', `${path}: ${message}`, { extras: { issues: [{ path, message }] } })

const MAX_BYTES = DOCUMENT_MAX
const TIMEOUT_MS = 15_000

/** @throws Fault as its address, or what is there, deserves */
async function fetchDocument(ports: ServicePorts, text: string): Promise<string> {
  const { url, local, why } = urlOf(text, ports.rules, ports.localOrigins)
  if (url === undefined) {
    throw wrong('/url', why)
  }
  const way = local ? ports.backends : ports.egress
  try {
    const timeouts = { totalMs: TIMEOUT_MS }
    const headers = { accept: 'application/json, application/yaml;q=0.9, */*;q=0.1' }
    const request = { url, method: 'GET', headers, maxBytes: MAX_BYTES, timeouts }
    const { status, body } = await way.request(request)
    if (status === 200) return body.toString('utf8')
    throw new Fault('upstream_error', `The document was answered with status ${status}.`)
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const code: FaultCode = error.code in FAULTS ? error.code : 'upstream_error'
    throw new Fault(code, error.message, { cause: error })
  }
}
