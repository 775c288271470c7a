import { z } from 'zod'
import { healthOf } from '../../../core/catalog/upstreams/health.ts'
import { readReport } from '../../../core/catalog/upstreams/imports.ts'
import { missingOf } from '../../../core/catalog/upstreams/missing.ts'
import { pricesNow } from '../../../core/catalog/upstreams/prices.ts'
import { listSecrets, unreadableSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import { readEndpoints, type UpstreamInfo } from '../../../core/catalog/upstreams/store.ts'
import { json } from '../../../core/money.ts'
import type { ServicePorts } from './services-parts.ts'

const time = z.iso.datetime()
const amount = z.int().min(0)

const Shown = {
  slug: z.string(),
  name: z.string(),
  category: z.string(),
  summary: z.string(),
  provider: z.string(),
  state: z.enum(['draft', 'pending', 'active', 'paused', 'suspended', 'retired']).meta({
    description: 'pending: an administrator has to approve of it.',
  }),
  reason: z.string().nullable().meta({ description: 'Why it is suspended.' }),
  base_url: z.string(),
  proxy_url: z.string().meta({ description: 'Where it is called.' }),
  free_calls_per_month: z.int(),
  request_headers: z.array(z.string()),
  response_headers: z.array(z.string()),
  health_path: z.string(),
  deprecated_on: z.iso.date().nullable(),
  sunset_on: z.iso.date().nullable().meta({ description: 'The last day of its sale, UTC.' }),
  created_at: time,
  updated_at: time,
}

/** A service of an owner, in lists. */
export const ServiceRow = z.object(Shown)

const EndpointView = z.object({
  method: z.string(),
  path: z.string(),
  upstream_path: z.string(),
  summary: z.string(),
  price_microdollars: amount.nullable(),
  coming_price: z.object({ price_microdollars: amount, effective_at: time }).nullable(),
  input_schema: z.unknown(),
  output_schema: z.unknown(),
  query: z.array(z.string()),
  body: z.enum(['none', 'json', 'form']),
  success: z.array(z.int()),
  passes: z.array(z.int()),
  deadline_seconds: z.int(),
  max_bytes: z.int(),
  streams: z.boolean(),
  idempotent: z.boolean(),
  retries: z.int(),
})

export const SecretView = z.object({
  in: z.enum(['header', 'query']),
  name: z.string(),
  key_id: z.string().meta({ description: 'Of the key that it is encrypted under.' }),
  set_at: time,
  readable: z.boolean().meta({
    description: 'false: the hub cannot read it any more, and does not sell; set it again.',
  }),
})

export const ImportView = z.object({
  at: time,
  secrets: z
    .array(z.object({ in: z.enum(['header', 'query']), name: z.string(), prefix: z.string() }))
    .meta({ description: 'What it says that requests have to carry: PUT …/secret.' }),
  not_understood: z
    .array(z.object({ at: z.string(), what: z.string() }))
    .meta({ description: 'What was left out or taken loosely, and why.' }),
})

export const ServiceView = z.object({
  ...Shown,
  missing: z.array(z.string()).meta({ description: 'What it needs before it can be sold.' }),
  endpoints: z.array(EndpointView),
  secrets: z.array(SecretView).meta({ description: 'What they say is never shown.' }),
  health: z
    .object({
      up: z.boolean().nullable(),
      since: time,
      checked_at: time.nullable(),
      latency_ms: z.int().nullable(),
      detail: z.string().nullable(),
    })
    .nullable(),
  imported: ImportView.nullable().meta({ description: 'Of its OpenAPI document; null: none.' }),
})

export const rowOf = (info: UpstreamInfo, proxyUrl: () => string) => ({
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

/** All that its owner may see of it. */
export async function viewOf({ pool, keys, proxyUrl }: ServicePorts, info: UpstreamInfo) {
  const { slug } = info
  const [missing, endpoints, secrets, health, imported] = await Promise.all([
    missingOf(pool, slug),
    endpointsOf(pool, slug),
    secretsOf({ pool, keys }, slug),
    healthOf(pool, slug),
    readReport(pool, slug),
  ])
  return {
    ...rowOf(info, proxyUrl),
    missing: [...missing, ...secrets.flatMap(lostOf)],
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
      ? { at: imported.at.toISOString(), secrets: imported.wants, not_understood: imported.gaps }
      : null,
  }
}

export async function secretsOf({ pool, keys }: Pick<ServicePorts, 'pool' | 'keys'>, slug: string) {
  const [secrets, lost] = await Promise.all([
    listSecrets(pool, slug),
    unreadableSecrets(pool, keys, [slug]),
  ])
  return secrets.map(({ place, name, keyId, setAt }) => ({
    in: place,
    name,
    key_id: keyId,
    set_at: setAt.toISOString(),
    readable: !lost.get(slug)?.includes(`${place} ${name}`),
  }))
}

const lostOf = (secret: z.infer<typeof SecretView>): readonly string[] =>
  secret.readable ? [] : [`the secret ${secret.in} ${secret.name}: set it again`]

async function endpointsOf(pool: ServicePorts['pool'], slug: string) {
  const [endpoints, prices] = await Promise.all([readEndpoints(pool, slug), pricesNow(pool, slug)])
  return endpoints.map((each) => {
    const price = prices.find(({ method, path }) => method === each.method && path === each.path)
    const { amount: now = null, coming = null } = price ?? {}
    return {
      method: each.method,
      path: each.path,
      upstream_path: each.upstreamPath,
      summary: each.summary,
      price_microdollars: now === null ? null : json(now),
      coming_price: coming && {
        price_microdollars: json(coming.amount),
        effective_at: coming.at.toISOString(),
      },
      input_schema: each.input,
      output_schema: each.output,
      query: each.query,
      body: each.body,
      success: each.success,
      passes: each.passes,
      deadline_seconds: each.deadlineSeconds,
      max_bytes: each.maxBytes,
      streams: each.streams,
      idempotent: each.idempotent,
      retries: each.retries,
    }
  })
}
