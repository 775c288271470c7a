import { z } from 'zod'
import { storeImportReport } from '../../../../core/catalog/upstreams/import-report.ts'
import { SELECTOR_MAX } from '../../../../core/catalog/upstreams/openapi/choice.ts'
import type { ImportedApi } from '../../../../core/catalog/upstreams/openapi/read.ts'
import { readOpenApiInWorker } from '../../../../core/catalog/upstreams/openapi/read-in-worker.ts'
import { setPrice } from '../../../../core/catalog/upstreams/prices.ts'
import { createUpstream, writeEndpoints } from '../../../../core/catalog/upstreams/store.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { Fault } from '../../../../core/errors.ts'
import { type Micros, micros } from '../../../../core/money.ts'
import { membersWithoutSample } from '../../../../core/testing/example.ts'
import { visibleJson } from '../../../../core/text.ts'
import { UPSTREAM_FAULTS } from '../../../proxy/provider-code.ts'
import { plainText, slug } from '../../fields.ts'
import { inputFault } from '../../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { baseUrl, parseBaseUrl } from './base-url.ts'
import type { ServiceDeps } from './deps.ts'
import { documentsFrom, fetchDocument } from './documents.ts'
import { endpointLimits } from './endpoints.ts'
import { ImportView, ServiceView, showRequiredSecrets, showService } from './view.ts'

const ImportOrder = z
  .strictObject({
    openapi: z.string().min(1).optional().meta({ description: 'OpenAPI document, JSON or YAML.' }),
    url: z.string().min(1).max(2_048).optional().meta({ description: 'URL of the document.' }),
    only: z
      .array(z.string().trim().min(1).max(SELECTOR_MAX))
      .max(100)
      .default([])
      .meta({
        description:
          'Operations (`GET /weather`), paths including subpaths (`/weather`) or tags to import. ' +
          'Default: the first 100 operations.',
      }),
    slug,
    name: plainText(100).optional().meta({ description: 'Default: the title.' }),
    category: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a-z, 0-9 and hyphens')
      .default('data'),
    summary: plainText(500).optional(),
    base_url: baseUrl.optional().meta({ description: 'Default: the first server.' }),
    price_microdollars: z.int().min(0).max(1_000_000_000).optional().meta({
      description: 'Price of endpoints without their own (x-payment-info).',
    }),
    deadline_seconds: endpointLimits.deadline_seconds.optional(),
    max_bytes: endpointLimits.max_bytes.optional(),
    free_calls_per_month: z.int().min(0).max(1_000_000).default(0),
  })
  .refine(({ openapi, url }) => (openapi === undefined) !== (url === undefined), {
    path: ['openapi'],
    error: 'must be set, or url instead, but not both',
  })

const ImportResult = z.object({
  service: ServiceView,
  understood: z.object({
    endpoints: z.int(),
    left_out: z.int().meta({ description: 'Operations beyond the limit.' }),
    choices: z.array(z.object({ only: z.string(), operations: z.int() })).meta({
      description: 'If operations were left out: possible values of `only`.',
    }),
    unpriced: z.array(z.string()).meta({ description: 'Endpoints without a price.' }),
    without_sample: z.array(z.object({ endpoint: z.string(), members: z.array(z.string()) })).meta({
      description:
        'Endpoints of which the document has no sample for required members: send a test call ' +
        'with real values, which buyers then see.',
    }),
    secrets: ImportView.shape.secrets,
    secret_choices: ImportView.shape.secret_choices,
  }),
  not_understood: ImportView.shape.not_understood,
})

export const serviceImportRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('POST /v1/provider/services/import', {
    summary: 'Creates a draft from an OpenAPI document and reports what was not understood.',
    auth: 'provider',
    body: ImportOrder,
    example: { url: 'https://api.acme.com/openapi.json', slug: 'acme-weather' },
    response: {
      status: 201,
      location: '/v1/provider/services/{service.slug}',
      schema: ImportResult,
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
      const { url, only, deadline_seconds: deadlineSeconds, max_bytes: maxBytes } = body
      const text = body.openapi ?? (await fetchDocument(deps, url ?? ''))
      const options = { only, deadlineSeconds, maxBytes }
      const found = await readOpenApiInWorker({ text, url, options }, documentsFrom(deps, text))
      const made = await createDraft(deps, owner, body, found)
      const priced = body.price_microdollars !== undefined
      const unpriced = found.endpoints.filter(({ price }) => price === null && !priced)
      return {
        status: 201,
        body: {
          service: await showService(deps, made),
          understood: {
            endpoints: found.endpoints.length,
            left_out: found.leftOut,
            choices: [...found.choices],
            unpriced: unpriced.map(({ method, path }) => `${method} ${path}`),
            without_sample: withoutSample(found),
            ...showRequiredSecrets(found),
          },
          not_understood: found.gaps,
        },
      }
    },
  }),
]

const withoutSample = ({ endpoints }: ImportedApi) =>
  endpoints.flatMap(({ method, path, input }) => {
    const members = [...membersWithoutSample(input)]
    return members.length === 0 ? [] : [{ endpoint: `${method} ${path}`, members }]
  })

async function createDraft(
  deps: ServiceDeps,
  owner: string,
  body: z.infer<typeof ImportOrder>,
  found: ImportedApi,
) {
  const [unknown] = found.unknown
  if (unknown !== undefined) {
    throw inputFault(
      `/only/${body.only.indexOf(unknown)}`,
      `the document has no tag, path or operation ${unknown}`,
    )
  }
  if (found.endpoints.length === 0) {
    throw new Fault('openapi_unreadable', 'The document has no endpoint that can be sold.', {
      extras: { not_understood: found.gaps },
      advice: 'See not_understood[], which has the reason for each operation.',
    })
  }
  const { slug: name, price_microdollars: price } = body
  return inTransaction(deps.pool, async (client) => {
    const made = await createUpstream(client, owner, {
      slug: name,
      name: body.name ?? found.title ?? name,
      category: body.category,
      summary: body.summary ?? found.summary ?? `The API of ${found.title ?? name}.`,
      baseUrl:
        body.base_url === undefined
          ? serverOf(deps, body, found)
          : parseBaseUrl(body.base_url, deps),
      freeCallsPerMonth: body.free_calls_per_month,
      requestHeaders: found.requestHeaders,
      responseHeaders: [],
      healthPath: '/',
    })
    await writeEndpoints(client, name, visibleJson(found.endpoints))
    await storeImportReport(client, name, found)
    for (const { method, path, price: own } of found.endpoints) {
      const amount: Micros | undefined =
        own ?? (price === undefined ? undefined : micros(BigInt(price)))
      if (amount === undefined) continue
      await setPrice(client, name, { method, path, amount }, deps.listing.noticeDays)
    }
    return made
  })
}

/** Returns the server, resolved against the document's URL. @throws Fault `validation_failed` */
function serverOf(
  deps: ServiceDeps,
  { url }: z.infer<typeof ImportOrder>,
  { servers: [server] }: ImportedApi,
): string {
  if (server === undefined && url === undefined) {
    throw inputFault('/base_url', 'is required because the document names no server')
  }
  return parseBaseUrl(
    URL.parse(server ?? '/', url)?.href ?? server ?? '',
    deps,
    (error) => `is required, because the document's server is ${server ?? '/'}: ${error}`,
  )
}
