import type { Pool } from 'pg'
import { z } from 'zod'
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

/** Orders of all documents by a figure, ascending; those without a measurement come last. */
const FIGURES = {
  price: { sql: 'd.price', type: 'bigint', shape: z.int() },
  latency: { sql: 'coalesce(d.p95_ms, 2147483647)', type: 'integer', shape: z.int32() },
  uptime: {
    sql: '(-coalesce(d.uptime, (-1)::real))',
    type: 'real',
    shape: z.number().min(-100).max(1),
  },
  calls: { sql: '(-d.calls)', type: 'integer', shape: z.int32() },
} as const

export type BrowseOrder = keyof typeof FIGURES | 'relevance'

/** Position of a document in an order: its figure, and its key among equal ones. */
export type Position = readonly [number, ...(string | number)[]]

/** Shape of positions in an order. */
export const positionShape = (order: BrowseOrder): z.ZodType<Position> =>
  order === 'relevance'
    ? z.tuple([z.int32(), z.int32()])
    : z.tuple([
        FIGURES[order].shape,
        z.enum(['native', 'external']),
        z
          .string()
          .max(200)
          .refine((id) => !id.includes('\u0000')),
      ])

/** Page of all documents: after a position, or from the first ones on. */
export interface BrowsePage {
  readonly limit: number
  readonly after?: Position | undefined
  /** Documents to skip; keep it small, because they are read. */
  readonly offset?: number
}

interface BrowsedRow {
  readonly candidate: RankedHit['candidate']
  readonly position: Position
}

/** Lists a page of all documents that pass the filters, in an order over all of them. */
export async function browse(
  pool: Pool,
  filters: BrowseFilters,
  order: BrowseOrder,
  { limit, after, offset = 0 }: BrowsePage,
): Promise<{ readonly ranked: readonly RankedHit[]; readonly last: Position | undefined }> {
  const { rows } = await pool.query<BrowsedRow>(
    order === 'relevance' ? byQuality(after) : byFigure(order, after),
    [...valuesOf(filters), limit, offset, ...(after ?? [])],
  )
  return {
    ranked: rows.map(({ candidate }) => ({ candidate, score: 0, why: [] })),
    last: rows.at(-1)?.position,
  }
}

function byFigure(order: keyof typeof FIGURES, after: Position | undefined): string {
  const { sql, type } = FIGURES[order]
  return `SELECT json_build_object('kind', d.kind, 'id', d.id) AS candidate,
       json_build_array(${sql}::float8, d.kind, d.id) AS position
     ${ALL}${after ? ` AND (${sql}, d.kind, d.id) > ($7::${type}, $8, $9)` : ''}
     ORDER BY ${sql}, d.kind, d.id LIMIT $5 OFFSET $6`
}

/** Entries have an index by quality. The planner omits the join if no uptime is asked for. */
const byQuality = (after: Position | undefined): string =>
  `SELECT json_build_object('kind', e.kind, 'id', e.id) AS candidate,
     json_build_array(e.quality, e.doc) AS position
   FROM hub.search_entry e LEFT JOIN hub.search_document d
     ON d.kind = e.kind AND d.id = e.id ${passes('e')}
     ${after ? 'AND (e.quality, e.doc) < ($7::integer, $8::integer)' : ''}
   ORDER BY e.quality DESC, e.doc DESC LIMIT $5 OFFSET $6`

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

const valuesOf = ({ type, category, maxPrice, minUptime }: BrowseFilters) => [
  type ?? null,
  category ?? null,
  maxPrice ?? null,
  minUptime ?? null,
]
