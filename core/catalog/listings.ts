import type { Pool } from 'pg'

/** A service as it is listed, with figures measured from its own traffic of the last 30 days. */
export interface Listing {
  readonly slug: string
  readonly name: string
  readonly category: string
  readonly summary: string
  readonly provider: string
  readonly freeCallsPerMonth: number
  readonly endpointCount: number
  /** The cheapest and the dearest endpoint, in microdollars. */
  readonly minPrice: bigint
  readonly maxPrice: bigint
  /** Calls that did not fail on the service's side, in per cent; null without traffic. */
  readonly uptimePercentage: number | null
  readonly averageLatencyMs: number | null
}

export interface ListedEndpoint {
  readonly method: string
  readonly path: string
  readonly summary: string
  /** Microdollars; of a computed price the most. */
  readonly price: bigint
  readonly computed: boolean
  readonly priceVersion: number
  readonly inputSchema: unknown
  readonly outputSchema: unknown
}

export interface Found extends Listing {
  readonly score: number
  /** Which part of the listing matched. */
  readonly why: string
}

const LISTING = `
  s.slug, s.name, s.category, s.summary, s.provider,
  s.free_calls_per_month AS "freeCallsPerMonth",
  p.endpoints AS "endpointCount", p.low AS "minPrice", p.high AS "maxPrice",
  t.uptime AS "uptimePercentage", t.latency AS "averageLatencyMs"`

/** Prices of the newest versions, and figures of the last 30 days. */
const FROM = `
  FROM hub.service s
  JOIN LATERAL (
    SELECT count(*)::integer AS endpoints, min(v.amount) AS low, max(v.amount) AS high
    FROM hub.endpoint e
    JOIN LATERAL (SELECT amount FROM hub.price WHERE endpoint = e.id
      ORDER BY version DESC LIMIT 1) v ON true
    WHERE e.service = s.slug AND e.state = 'active') p ON true
  LEFT JOIN LATERAL (
    SELECT round(100.0 * count(*) FILTER (WHERE c.status < 500) / count(*), 2)::float8 AS uptime,
      round(avg(c.latency_ms))::integer AS latency
    FROM hub.call c WHERE c.service = s.slug AND c.at > now() - interval '30 days'
    HAVING count(*) > 0) t ON true`

/** Active services by slug. */
export async function listServices(
  pool: Pool,
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
): Promise<Listing[]> {
  const { rows } = await pool.query<Listing>(
    `SELECT ${LISTING} ${FROM}
     WHERE s.state = 'active' AND s.slug > $1 ORDER BY s.slug LIMIT $2`,
    [after ?? '', limit],
  )
  return rows
}

/** One active service with its endpoints; undefined when there is none. */
export async function findService(
  pool: Pool,
  slug: string,
): Promise<{ readonly listing: Listing; readonly endpoints: ListedEndpoint[] } | undefined> {
  const { rows } = await pool.query<Listing>(
    `SELECT ${LISTING} ${FROM} WHERE s.state = 'active' AND s.slug = $1`,
    [slug],
  )
  const [listing] = rows
  if (!listing) return undefined
  const { rows: endpoints } = await pool.query<ListedEndpoint>(
    `SELECT e.method, e.path, e.summary, v.amount AS price, v.computed,
       v.version AS "priceVersion", e.input_schema AS "inputSchema",
       e.output_schema AS "outputSchema"
     FROM hub.endpoint e
     JOIN LATERAL (SELECT * FROM hub.price WHERE endpoint = e.id
       ORDER BY version DESC LIMIT 1) v ON true
     WHERE e.service = $1 AND e.state = 'active' ORDER BY e.path, e.method`,
    [slug],
  )
  return { listing, endpoints }
}

export interface SearchOrder {
  /** Words; empty for everything. */
  readonly query: string
  readonly category: string | undefined
  /** Microdollars: at least one endpoint costs no more. */
  readonly maxPrice: bigint | undefined
  readonly limit: number
  readonly offset: number
}

/**
 * Active services that match all given conditions, best first: the exact name or slug, then full
 * text (any of the words), then similar spelling; among equals the cheaper one.
 */
export async function searchServices(pool: Pool, order: SearchOrder): Promise<Found[]> {
  const { rows } = await pool.query<Found>(
    `WITH wanted AS (
       SELECT lower($1) AS text, coalesce((
         SELECT string_agg(quote_literal(replace(word, '\\', '')), ' | ')
         FROM unnest(tsvector_to_array(to_tsvector('english', $1))) word), '')::tsquery AS words
     )
     SELECT ${LISTING}, m.score, m.why
     ${FROM}
     CROSS JOIN wanted w
     CROSS JOIN LATERAL (SELECT
       CASE
         WHEN w.text = '' THEN 0
         WHEN w.text IN (s.slug, lower(s.name)) THEN 10
         WHEN s.search @@ w.words THEN 1 + ts_rank(s.search, w.words)
         WHEN w.text <% lower(s.name || ' ' || s.summary)
           THEN word_similarity(w.text, lower(s.name || ' ' || s.summary))
       END::float8 AS score,
       CASE
         WHEN w.text = '' THEN 'everything'
         WHEN w.text IN (s.slug, lower(s.name)) THEN 'exact name'
         WHEN s.search @@ w.words THEN 'words of the description or its endpoints'
         ELSE 'similar spelling'
       END AS why) m
     WHERE s.state = 'active' AND m.score IS NOT NULL
       AND ($2::text IS NULL OR s.category = $2)
       AND ($3::bigint IS NULL OR p.low <= $3)
     ORDER BY m.score DESC, p.low, s.slug LIMIT $4 OFFSET $5`,
    [order.query, order.category ?? null, order.maxPrice ?? null, order.limit, order.offset],
  )
  return rows
}
