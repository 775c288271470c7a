import { z } from 'zod'
import { readReview } from '../../../../core/catalog/review/versions.ts'
import {
  MISSING_KINDS,
  type MissingPart,
  missingDeclarations,
  neededTest,
} from '../../../../core/catalog/upstreams/completeness.ts'
import { findMissingTests } from '../../../../core/catalog/upstreams/endpoint-tests.ts'
import { readUpstreamHealth } from '../../../../core/catalog/upstreams/health.ts'
import {
  type ImportReport,
  readImportReport,
} from '../../../../core/catalog/upstreams/import-report.ts'
import { currentPrices } from '../../../../core/catalog/upstreams/prices.ts'
import { listSecrets } from '../../../../core/catalog/upstreams/secrets.ts'
import { readEndpoints, type UpstreamInfo } from '../../../../core/catalog/upstreams/store.ts'
import { json } from '../../../../core/money.ts'
import { ReviewView, showReview } from '../../review-view.ts'
import type { ServiceDeps } from './deps.ts'
import { MeteredField, showMeter } from './metered-field.ts'

const time = z.iso.datetime()
const amount = z.int().min(0)

const serviceFields = {
  slug: z.string(),
  name: z.string(),
  category: z.string(),
  summary: z.string(),
  provider: z.string(),
  state: z.enum(['draft', 'pending', 'active', 'paused', 'suspended', 'retired']).meta({
    description: 'pending: awaiting approval by an administrator.',
  }),
  reason: z.string().nullable().meta({ description: 'Reason for the suspension.' }),
  base_url: z.string(),
  proxy_url: z.string().meta({ description: 'URL for calls.' }),
  free_calls_per_month: z.int(),
  request_headers: z.array(z.string()),
  response_headers: z.array(z.string()),
  health_path: z.string(),
  deprecated_on: z.iso.date().nullable(),
  sunset_on: z.iso.date().nullable().meta({ description: 'Last UTC day of sale.' }),
  created_at: time,
  updated_at: time,
}

export const ServiceRowView = z.object(serviceFields)

const EndpointView = z.object({
  method: z.string(),
  path: z.string(),
  upstream_path: z.string(),
  summary: z.string(),
  price_microdollars: amount.nullable(),
  metered: MeteredField.nullable(),
  coming_price: z
    .object({ price_microdollars: amount, metered: MeteredField.nullable(), effective_at: time })
    .nullable(),
  input_schema: z.unknown(),
  output_schema: z.unknown(),
  query: z.array(z.string()),
  body: z.enum(['none', 'json', 'form', 'multipart', 'text', 'binary']),
  encoding: z.unknown().meta({ description: 'Serialization where it differs from the default.' }),
  success: z.array(z.int()),
  passes: z.array(z.int()),
  charges: z.array(z.int()),
  deadline_seconds: z.int(),
  max_bytes: z.int(),
  streams: z.boolean(),
  idempotent: z.boolean(),
  retries: z.int(),
})

export const SecretView = z.object({
  in: z.enum(['header', 'query', 'oauth2']),
  name: z.string().meta({ description: 'Header or query parameter; authorization for oauth2.' }),
  key_id: z.string().meta({ description: 'Id of the encryption key.' }),
  set_at: time,
  readable: z.boolean().meta({
    description: 'false: the hub cannot decrypt it and has stopped sales; set it again.',
  }),
})

export const ImportView = z.object({
  at: time,
  secrets: z
    .array(
      z.object({
        in: z.enum(['header', 'query', 'oauth2']),
        name: z.string(),
        prefix: z.string(),
        token_url: z.string().optional().meta({ description: 'Of oauth2 client credentials.' }),
        scope: z.string().optional().meta({ description: 'Scopes that the operations need.' }),
      }),
    )
    .meta({ description: 'Credentials named by the document; set them with PUT …/secret.' }),
  secret_choices: z.array(z.array(z.string())).meta({
    description: 'If one of several credentials is enough: the sets to choose from, else empty.',
  }),
  not_understood: z
    .array(z.object({ at: z.string(), what: z.string() }))
    .meta({ description: 'Parts that were omitted or simplified, and why.' }),
})

export const ServiceView = z.object({
  ...serviceFields,
  missing: z
    .array(z.object({ kind: z.enum(MISSING_KINDS), what: z.string() }))
    .meta({ description: 'What is missing before it can be sold.' }),
  untested: z.array(z.string()).meta({
    description: 'Endpoints that need a passing test call, unless you waive it on activation.',
  }),
  review: ReviewView.meta({
    description: 'Callers see the approved version; a newer one may await approval.',
  }),
  endpoints: z.array(EndpointView),
  secrets: z.array(SecretView).meta({ description: 'Credentials; values are never shown.' }),
  health: z
    .object({
      up: z.boolean().nullable(),
      since: time,
      checked_at: time.nullable(),
      latency_ms: z.int().nullable(),
      detail: z.string().nullable(),
    })
    .nullable(),
  imported: ImportView.nullable().meta({ description: 'Import report of the OpenAPI document.' }),
})

export const showServiceRow = (info: UpstreamInfo, proxyUrl: () => string) => ({
  slug: info.slug,
  name: info.name,
  category: info.category,
  summary: info.summary,
  provider: info.provider,
  state: info.state,
  reason: info.reason,
  base_url: info.baseUrl,
  proxy_url: `${proxyUrl()}/${info.slug}`,
  free_calls_per_month: info.freeCallsPerMonth,
  request_headers: info.requestHeaders,
  response_headers: info.responseHeaders,
  health_path: info.healthPath,
  deprecated_on: info.deprecatedOn,
  sunset_on: info.sunsetOn,
  created_at: info.createdAt.toISOString(),
  updated_at: info.updatedAt.toISOString(),
})

/** Everything that its owner may see. */
export async function showService({ pool, keys, proxyUrl }: ServiceDeps, info: UpstreamInfo) {
  const { slug } = info
  const [declarations, untested, endpoints, secrets, health, imported, review] = await Promise.all([
    missingDeclarations(pool, slug),
    findMissingTests(pool, slug),
    showEndpoints(pool, slug),
    showSecrets({ pool, keys }, slug),
    readUpstreamHealth(pool, slug),
    readImportReport(pool, slug),
    readReview(pool, slug),
  ])
  return {
    ...showServiceRow(info, proxyUrl),
    missing: [...declarations, ...untested.map(neededTest), ...secrets.flatMap(missingSecret)],
    untested,
    review: showReview(review),
    endpoints,
    secrets,
    health: health
      ? {
          up: health.up,
          since: health.since.toISOString(),
          checked_at: health.checkedAt?.toISOString() ?? null,
          latency_ms: health.latencyMs,
          detail: health.detail,
        }
      : null,
    imported: imported
      ? {
          at: imported.at.toISOString(),
          ...showRequiredSecrets(imported),
          not_understood: imported.gaps,
        }
      : null,
  }
}

/** Secrets that a document names. */
export const showRequiredSecrets = ({
  wants,
  secretChoices,
}: Pick<ImportReport, 'wants' | 'secretChoices'>) => ({
  secrets: wants.map(({ tokenUrl, ...want }) => ({
    ...want,
    ...(tokenUrl !== undefined && { token_url: tokenUrl }),
  })),
  secret_choices: secretChoices,
})

export async function showSecrets(
  { pool, keys }: Pick<ServiceDeps, 'pool' | 'keys'>,
  slug: string,
) {
  const secrets = await listSecrets(pool, keys, slug)
  return secrets.map(({ place, name, keyId, setAt, readable }) => ({
    in: place,
    name,
    key_id: keyId,
    set_at: setAt.toISOString(),
    readable,
  }))
}

const missingSecret = (secret: z.infer<typeof SecretView>): readonly MissingPart[] =>
  secret.readable
    ? []
    : [{ kind: 'secret', what: `the secret ${secret.in} ${secret.name}: set it again` }]

async function showEndpoints(pool: ServiceDeps['pool'], slug: string) {
  const [endpoints, prices] = await Promise.all([
    readEndpoints(pool, slug),
    currentPrices(pool, slug),
  ])
  return endpoints.map((each) => {
    const price = prices.find(({ method, path }) => method === each.method && path === each.path)
    const { amount: now = null, metered = null, coming = null } = price ?? {}
    return {
      method: each.method,
      path: each.path,
      upstream_path: each.upstreamPath,
      summary: each.summary,
      price_microdollars: now === null ? null : json(now),
      metered: showMeter(metered),
      coming_price: coming && {
        price_microdollars: json(coming.amount),
        metered: showMeter(coming.metered),
        effective_at: coming.at.toISOString(),
      },
      input_schema: each.input,
      output_schema: each.output,
      query: each.query,
      body: each.body,
      encoding: each.encoding,
      success: each.success,
      passes: each.passes,
      charges: each.charges ?? [],
      deadline_seconds: each.deadlineSeconds,
      max_bytes: each.maxBytes,
      streams: each.streams,
      idempotent: each.idempotent,
      retries: each.retries,
    }
  })
}

/** Refreshes the catalog: immediately in this process, within a second in others. */
export async function refreshAndShow(deps: ServiceDeps, info: UpstreamInfo) {
  await deps.catalog.refresh(info.slug)
  return { body: await showService(deps, info) }
}
