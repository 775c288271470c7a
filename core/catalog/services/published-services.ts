import type { Pool } from 'pg'
import type { JsonObject } from '../../json.ts'
import { micros } from '../../money.ts'
import { unitPrice } from '../../plugin/metered.ts'
import { showMetered } from '../../usage/usage-view.ts'
import { approvedName } from '../review/provider-names.ts'

/** Listed service, with figures from its calls of the last 30 days. */
export interface PublishedService {
  readonly slug: string
  readonly name: string
  readonly category: string
  readonly summary: string
  readonly provider: string
  /** Display name that its provider chose; null without an approved one. */
  readonly providerName: string | null
  readonly freeCallsPerMonth: number
  /** Free units per month of metered endpoints, by unit. */
  readonly freeUnits: Readonly<Record<string, number>>
  readonly endpointCount: number
  /** Prices of the cheapest and the most expensive endpoint, in microdollars. */
  readonly minPrice: bigint
  readonly maxPrice: bigint
  /** True if a price is a maximum: it is computed, or by usage. */
  readonly computed: boolean
  /** Percentage of calls without a failure of the service; null without calls. */
  readonly uptimePercentage: number | null
  readonly averageLatencyMs: number | null
  /** Median of delivered calls. */
  readonly medianLatencyMs: number | null
  readonly listedAt: Date
}

export interface ServiceEndpoint {
  readonly method: string
  readonly path: string
  readonly summary: string
  /** Microdollars; the maximum of a computed price. */
  readonly price: bigint
  readonly computed: boolean
  /** Set if the price is metered. */
  readonly unit: string | null
  /** Microdollars for `unitPer` units. */
  readonly unitAmount: bigint | null
  readonly unitPer: bigint | null
  readonly priceVersion: number
  /** False if its provider waived the test call and no call was delivered yet. */
  readonly tested: boolean
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  /** Input of the latest test call of its provider that passed. */
  readonly sample: JsonObject | null
}

const SERVICE_COLUMNS = `
  s.slug, s.name, s.category, s.summary, s.provider,
  ${approvedName('s.provider')} AS "providerName",
  s.free_calls_per_month AS "freeCallsPerMonth", s.free_units AS "freeUnits",
  p.endpoints AS "endpointCount", p.low AS "minPrice", p.high AS "maxPrice", p.computed,
  t.uptime AS "uptimePercentage", t.latency AS "averageLatencyMs",
  d.latency_ms AS "medianLatencyMs", s.listed_at AS "listedAt"`

/** Newest prices, and figures of the last 30 UTC days. */
const SERVICE_TABLES = `
  FROM hub.service s
  JOIN LATERAL (
    SELECT count(*)::integer AS endpoints, min(coalesce(v.minimum, v.amount)) AS low,
      max(v.amount) AS high, bool_or(v.computed) AS computed
    FROM hub.endpoint e
    JOIN LATERAL (SELECT amount, minimum, computed FROM hub.price WHERE endpoint = e.id
      ORDER BY version DESC LIMIT 1) v ON true
    WHERE e.service = s.slug AND e.state = 'active') p ON true
  LEFT JOIN LATERAL (
    SELECT round(hub.uptime(array_agg(d))::numeric, 2)::float8 AS uptime,
      round(sum(d.latency_ms) / sum(d.calls))::integer AS latency
    FROM hub.service_day d
    WHERE d.service = s.slug AND d.day > (now() AT TIME ZONE 'UTC')::date - 30
    HAVING sum(d.calls) > 0) t ON true
  LEFT JOIN hub.search_document d ON d.kind = 'native' AND d.id = s.slug`

export interface ServiceListQuery {
  readonly limit: number
  /** Returns services after this slug. */
  readonly after: string | undefined
  /** @defaultValue all */
  readonly category?: string | undefined
}

// The statements are named, because planning them takes longer than reading some services.

/** Lists active services of a provider, sorted by slug. */
export async function servicesOfProvider(
  pool: Pool,
  provider: string,
  limit: number,
): Promise<PublishedService[]> {
  const { rows } = await pool.query<PublishedService>({
    name: 'services.of-provider',
    text: `SELECT ${SERVICE_COLUMNS} ${SERVICE_TABLES}
     WHERE s.state = 'active' AND s.provider = $1 ORDER BY s.slug LIMIT $2`,
    values: [provider, limit],
  })
  return rows
}

/** Lists active services, sorted by slug. */
export async function listServices(
  pool: Pool,
  order: ServiceListQuery,
): Promise<PublishedService[]> {
  const { limit, after, category } = order
  const { rows } = await pool.query<PublishedService>({
    name: 'services.list',
    text: `SELECT ${SERVICE_COLUMNS} ${SERVICE_TABLES}
     WHERE s.state = 'active' AND s.slug > $1 AND ($2::text IS NULL OR s.category = $2)
     ORDER BY s.slug LIMIT $3`,
    values: [after ?? '', category, limit],
  })
  return rows
}

const SUGGESTIONS_MAX = 50

/** Suggests a service for a first call: one with free calls, if there is one. */
export async function suggestService(pool: Pool): Promise<PublishedService | undefined> {
  const services = await listServices(pool, { limit: SUGGESTIONS_MAX, after: undefined })
  return services.find(({ freeCallsPerMonth }) => freeCallsPerMonth > 0) ?? services[0]
}

/** Returns the active ones of the given services, unsorted. */
export async function servicesBySlug(
  pool: Pool,
  slugs: readonly string[],
): Promise<PublishedService[]> {
  if (slugs.length === 0) return []
  const { rows } = await pool.query<PublishedService>({
    name: 'services.by-slug',
    text: `SELECT ${SERVICE_COLUMNS} ${SERVICE_TABLES}
     WHERE s.state = 'active' AND s.slug = ANY ($1)`,
    values: [slugs],
  })
  return rows
}

/** Metered price of a published endpoint; undefined if it has another one. */
export const publishedMeter = ({ unit, unitAmount, unitPer, price }: ServiceEndpoint) =>
  unit === null
    ? undefined
    : showMetered({ unit, of: unitPrice(micros(unitAmount!), unitPer!) }, price)

const LISTING_SQL = `
  SELECT ${SERVICE_COLUMNS} ${SERVICE_TABLES} WHERE s.state = 'active' AND s.slug = $1`

const ENDPOINTS_SQL = `
  WITH untested AS MATERIALIZED (SELECT t.method, t.path FROM hub.upstream u
    JOIN hub.content_version c ON c.subject = u.slug AND c.state = 'approved'
    CROSS JOIN LATERAL hub.untested_endpoints(u.slug, c.content) t
    WHERE u.slug = $1 AND u.tests_waived_at IS NOT NULL)
  SELECT e.method, e.path, e.summary, v.amount AS price, v.computed, v.unit,
    v.unit_amount AS "unitAmount", v.unit_per AS "unitPer",
    v.version AS "priceVersion", e.input_schema AS "inputSchema",
    e.output_schema AS "outputSchema", NOT EXISTS (SELECT FROM untested u
      WHERE u.method = e.method AND u.path = e.path) AS tested,
    (SELECT t.input FROM hub.content_version c
      CROSS JOIN LATERAL jsonb_array_elements(c.content -> 'endpoints') x
      JOIN hub.endpoint_test t ON t.service = $1 AND t.input IS NOT NULL
        AND t.digest = hub.endpoint_digest(c.content ->> 'baseUrl', x)
      WHERE c.subject = $1 AND c.state = 'approved' AND x ->> 'method' = e.method
        AND x ->> 'path' = e.path LIMIT 1) AS sample
  FROM hub.endpoint e
  JOIN LATERAL (SELECT * FROM hub.price WHERE endpoint = e.id
    ORDER BY version DESC LIMIT 1) v ON true
  WHERE e.service = $1 AND e.state = 'active' ORDER BY e.path, e.method`

/** Returns an active service with its endpoints; undefined if there is none. */
export async function findService(
  pool: Pool,
  slug: string,
): Promise<
  { readonly listing: PublishedService; readonly endpoints: ServiceEndpoint[] } | undefined
> {
  const [listings, endpoints] = await Promise.all([
    pool.query<PublishedService>({ name: 'services.find', text: LISTING_SQL, values: [slug] }),
    pool.query<ServiceEndpoint>({
      name: 'services.endpoints',
      text: ENDPOINTS_SQL,
      values: [slug],
    }),
  ])
  const [listing] = listings.rows
  return listing && { listing, endpoints: endpoints.rows }
}
