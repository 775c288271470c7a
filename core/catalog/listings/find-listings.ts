import type { Pool } from 'pg'
import type { ListingState } from './probe/next-state.ts'
import type { Reason } from './reasons.ts'
import type { ListingMethod } from './store.ts'

/** Stored listing. */
export interface Listing {
  readonly id: string
  readonly url: string
  readonly method: ListingMethod
  readonly host: string
  readonly name: string
  readonly description: string
  readonly category: string
  readonly tags: readonly string[]
  readonly provider: string
  readonly scheme: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly price: bigint
  readonly payable: boolean
  readonly offers: readonly unknown[]
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  readonly state: ListingState
  readonly reason: Reason | null
  readonly firstSeenAt: Date
  readonly listedAt: Date | null
  readonly lastVerifiedAt: Date | null
  readonly probedAt: Date | null
  readonly removedAt: Date | null
  readonly uptime: number | null
  readonly latencyP50: number | null
  readonly latencyP95: number | null
  /** Calls paid by the hub in 30 days that were delivered or failed by the seller's fault. */
  readonly calls: number
  readonly delivered: number
  /** Distinct payers of these calls; accounts of one person or wallet are one. */
  readonly payers: number
  /** Payers weighted by the age of their accounts. */
  readonly trust: number
  /** Weighted mean of each payer's share of delivered calls, 0 to 1; null without payers. */
  readonly success: number | null
  /** Calls that the seller rejected as wrong; they count neither for nor against it. */
  readonly rejected: number
  /** Median latency of paid deliveries; null without any. */
  readonly paidMs: number | null
}

const LISTING_COLUMNS = `l.id, l.url, l.method, l.host, l.name, l.description, l.category,
  l.tags, hub.shown_provider(l) AS provider, l.scheme, l.network, l.asset,
  l.pay_to AS "payTo", l.price, l.payable,
  l.offers, l.input_schema AS "inputSchema", l.output_schema AS "outputSchema", l.state, l.reason,
  l.first_seen_at AS "firstSeenAt", l.listed_at AS "listedAt",
  l.last_verified_at AS "lastVerifiedAt", l.probed_at AS "probedAt", l.removed_at AS "removedAt",
  l.uptime::float8, l.latency_p50_ms AS "latencyP50", l.latency_p95_ms AS "latencyP95",
  l.calls, l.delivered, coalesce(l.payers, 0) AS payers, coalesce(l.trust, 0)::float8 AS trust,
  l.success::float8, coalesce(l.rejected, 0) AS rejected, l.paid_ms AS "paidMs"`

export interface ListingFilter {
  readonly limit: number
  /** Returns listings after this id. */
  readonly after: string | undefined
  readonly states: readonly ListingState[]
  readonly category: string | undefined
  readonly network: string | undefined
  readonly tag: string | undefined
  readonly host: string | undefined
}

/** Lists listings, sorted by id; ids are hashes, so that nobody can influence the order. */
export async function findListings(pool: Pool, filter: ListingFilter): Promise<Listing[]> {
  const { limit, after, states, category, network, tag, host } = filter
  const isUp = states.every((state) => state === 'active' || state === 'degraded')
  const { rows } = await pool.query<Listing>(
    `SELECT ${LISTING_COLUMNS} FROM hub.listing l
     WHERE l.id > $1 AND l.state = ANY ($2)
       ${isUp ? `AND l.state IN ('active', 'degraded')` : ''}
       AND ($3::text IS NULL OR l.category = $3) AND ($4::text IS NULL OR l.network = $4)
       AND ($5::text IS NULL OR $5 = ANY (l.tags)) AND ($6::text IS NULL OR l.host = $6)
     ORDER BY l.id LIMIT $7`,
    [after ?? '', states, category, network, tag, host, limit],
  )
  return rows
}

export async function findListing(pool: Pool, id: string): Promise<Listing | undefined> {
  const { rows } = await pool.query<Listing>(
    `SELECT ${LISTING_COLUMNS} FROM hub.listing l WHERE l.id = $1`,
    [id],
  )
  return rows[0]
}

/** Finds listings in any state, in no order. */
export async function findListingsById(pool: Pool, ids: readonly string[]): Promise<Listing[]> {
  const { rows } = await pool.query<Listing>(
    `SELECT ${LISTING_COLUMNS} FROM hub.listing l WHERE l.id = ANY ($1)`,
    [ids],
  )
  return rows
}

const HOST_LISTINGS_MAX = 100

/** Lists a listing, followed by the other listings of its host. */
export async function listingsOfHost(pool: Pool, { id, host }: Listing): Promise<Listing[]> {
  const { rows } = await pool.query<Listing>(
    `SELECT ${LISTING_COLUMNS} FROM hub.listing l
     WHERE l.host = $1 AND (l.id = $2 OR l.state IN ('active', 'degraded'))
     ORDER BY l.id <> $2, l.url, l.method LIMIT $3`,
    [host, id, HOST_LISTINGS_MAX],
  )
  return rows
}

export interface ListingChange {
  readonly field: 'price' | 'pay_to' | 'network' | 'schema' | 'state'
  readonly before: string | null
  readonly after: string
  /** True if seen by a probe, not only claimed. */
  readonly verified: boolean
  readonly at: Date
}

export interface ProbeRecord {
  readonly at: Date
  readonly outcome: string
  readonly status: number | null
  readonly latencyMs: number | null
  readonly price: bigint | null
  readonly payTo: string | null
}

export interface ProbeDay {
  readonly day: string
  readonly probes: number
  readonly up: number
  readonly p50: number | null
  readonly p95: number | null
}

export interface SourceClaim {
  readonly source: string
  readonly claim: { readonly offers?: readonly Readonly<Record<string, unknown>>[] }
  readonly gone: boolean
  readonly firstSeenAt: Date
  readonly seenAt: Date
}

export interface ListingHistory {
  readonly changes: readonly ListingChange[]
  readonly probes: readonly ProbeRecord[]
  readonly days: readonly ProbeDay[]
  readonly sources: readonly SourceClaim[]
}

export async function readListingHistory(pool: Pool, id: string): Promise<ListingHistory> {
  const [changes, probes, days, sources] = await Promise.all([
    pool.query<ListingChange>(
      `SELECT field, before, after, verified, at FROM hub.listing_change
       WHERE listing = $1 ORDER BY id DESC LIMIT 100`,
      [id],
    ),
    pool.query<ProbeRecord>(
      `SELECT at, outcome, status, latency_ms AS "latencyMs", price, pay_to AS "payTo"
       FROM hub.listing_probe WHERE listing = $1 ORDER BY at DESC LIMIT 50`,
      [id],
    ),
    pool.query<ProbeDay>(
      `SELECT day, probes, up,
         (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ms) FROM unnest(latencies) ms) AS p50,
         (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY ms) FROM unnest(latencies) ms) AS p95
       FROM hub.listing_day WHERE listing = $1 ORDER BY day DESC LIMIT 90`,
      [id],
    ),
    pool.query<SourceClaim>(
      `SELECT source, claim, gone, first_seen_at AS "firstSeenAt", seen_at AS "seenAt"
       FROM hub.listing_source WHERE listing = $1 ORDER BY seen_at DESC LIMIT 20`,
      [id],
    ),
  ])
  return { changes: changes.rows, probes: probes.rows, days: days.rows, sources: sources.rows }
}
