import type { Pool } from 'pg'
import type { Micros } from '../../money.ts'
import type { RankedHit } from './hits.ts'

/** Filters of the catalog; all that are given must hold. */
export interface BrowseFilters {
  readonly type?: 'native' | 'external' | undefined
  readonly category?: string | undefined
  /** Microdollars, of the cheapest endpoint. */
  readonly maxPrice?: Micros | undefined
  /** Percent. */
  readonly minUptime?: number | undefined
}

/** Orders of the catalog; documents without a measurement come last. */
const ORDERS = {
  relevance: 'e.quality DESC, e.doc DESC',
  price: 'd.price, d.kind, d.id',
  latency: 'd.p95_ms NULLS LAST, d.kind, d.id',
  uptime: 'd.uptime DESC NULLS LAST, d.kind, d.id',
  calls: 'd.calls DESC, d.kind, d.id',
} as const

export type BrowseOrder = keyof typeof ORDERS

/** Lists a page of all documents that pass the filters, in an order over all of them. */
export async function browse(
  pool: Pool,
  filters: BrowseFilters,
  order: BrowseOrder,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<readonly RankedHit[]> {
  const { rows } = await pool.query<RankedHit['candidate']>(
    `${order === 'relevance' ? `SELECT e.kind, e.id ${BY_QUALITY}` : `SELECT d.kind, d.id ${ALL}`}
     ORDER BY ${ORDERS[order]} LIMIT $5 OFFSET $6`,
    [...valuesOf(filters), limit, offset],
  )
  return rows.map((candidate) => ({ candidate, score: 0, why: [] }))
}

/** Counts the documents that pass the filters. */
export async function countMatches(pool: Pool, filters: BrowseFilters): Promise<number> {
  const sql = `SELECT count(*)::integer AS n ${ALL}`
  const { rows } = await pool.query<{ n: number }>(sql, valuesOf(filters))
  return rows[0]?.n ?? 0
}

const passes = (table: 'd' | 'e'): string =>
  `WHERE ($1::text IS NULL OR ${table}.kind = $1) AND ($2::text IS NULL OR ${table}.category = $2)
   AND ($3::bigint IS NULL OR ${table}.price <= $3) AND ($4::real IS NULL OR d.uptime >= $4)`

const ALL = `FROM hub.search_document d ${passes('d')}`
/** Entries have an index by quality. The planner omits the join if no uptime is asked for. */
const BY_QUALITY = `FROM hub.search_entry e LEFT JOIN hub.search_document d
  ON d.kind = e.kind AND d.id = e.id ${passes('e')}`

const valuesOf = ({ type, category, maxPrice, minUptime }: BrowseFilters) => [
  type ?? null,
  category ?? null,
  maxPrice ?? null,
  minUptime ?? null,
]
