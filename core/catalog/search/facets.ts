import type { Pool } from 'pg'
import type { RankedHit } from './hits.ts'

/** Figures of a hit, by which hits are filtered, counted and sorted. */
export interface HitFacts {
  readonly kind: 'native' | 'external'
  readonly id: string
  readonly category: string
  /** Microdollars, of the cheapest endpoint. */
  readonly price: bigint
  /** Percent; null if not measured. */
  readonly uptime: number | null
  /** 95th-percentile latency of delivered calls or probes over 30 days; null if not measured. */
  readonly p95Ms: number | null
  readonly calls: number
}

/** Upper ends of price ranges, in microdollars. */
export const PRICE_STEPS: readonly bigint[] = [1_000n, 10_000n, 100_000n]
/** Lower ends of uptime ranges, in percent. */
export const UPTIME_STEPS = [99, 95] as const

/** Number of documents by the value of each facet. */
export interface Facets {
  readonly type: ReadonlyMap<string, number>
  /** Those with the most documents first. */
  readonly category: ReadonlyMap<string, number>
  /** By the index of the step. */
  readonly price: readonly number[]
  readonly uptime: readonly number[]
}

const CATEGORIES_MAX = 12

/** Reads the facts of hits, in their order; hits removed since the search are omitted. */
export async function readFacts(
  pool: Pool,
  hits: readonly RankedHit[],
): Promise<readonly { readonly hit: RankedHit; readonly facts: HitFacts }[]> {
  const { rows } = await pool.query<HitFacts>(
    `SELECT d.kind, d.id, d.category, d.price, d.uptime::float8 AS uptime,
       d.p95_ms AS "p95Ms", d.calls
     FROM unnest($1::text[], $2::text[]) q(kind, id)
     JOIN hub.search_document d ON d.kind = q.kind AND d.id = q.id`,
    [hits.map(({ candidate }) => candidate.kind), hits.map(({ candidate }) => candidate.id)],
  )
  const byKey = new Map(rows.map((facts) => [`${facts.kind} ${facts.id}`, facts]))
  return hits.flatMap((hit) => {
    const facts = byKey.get(`${hit.candidate.kind} ${hit.candidate.id}`)
    return facts ? [{ hit, facts }] : []
  })
}

/** Counts hits by facet. */
export function countFacets(all: readonly HitFacts[]): Facets {
  const countBy = (read: (facts: HitFacts) => string) =>
    [...Map.groupBy(all, read)].map(([value, same]) => [value, same.length] as const)
  return {
    type: new Map(countBy(({ kind }) => kind)),
    category: largest(countBy(({ category }) => category)),
    price: PRICE_STEPS.map((step) => all.filter(({ price }) => price <= step).length),
    uptime: UPTIME_STEPS.map((step) => all.filter(({ uptime }) => (uptime ?? 0) >= step).length),
  }
}

/** Counts the whole catalog by facet. Reads all of its documents: cache the result. */
export async function countCatalog(pool: Pool): Promise<Facets> {
  const { rows } = await pool.query<{ kind: string | null; category: string | null; n: number[] }>(
    `SELECT kind, category, ARRAY[count(*)::integer,
       ${PRICE_STEPS.map((step) => `(count(*) FILTER (WHERE price <= ${step}))::integer`).join()},
       ${UPTIME_STEPS.map((step) => `(count(*) FILTER (WHERE uptime >= ${step}))::integer`).join()}
     ] AS n FROM hub.search_document GROUP BY GROUPING SETS ((kind), (category), ())`,
  )
  const total = rows.find(({ kind, category }) => kind === null && category === null)?.n ?? []
  const counts = (read: (row: (typeof rows)[number]) => string | null) =>
    rows.flatMap((row) => {
      const value = read(row)
      return value === null ? [] : [[value, row.n[0] ?? 0] as const]
    })
  return {
    type: new Map(counts(({ kind }) => kind)),
    category: largest(counts(({ category }) => category)),
    price: PRICE_STEPS.map((_, i) => total[1 + i] ?? 0),
    uptime: UPTIME_STEPS.map((_, i) => total[1 + PRICE_STEPS.length + i] ?? 0),
  }
}

const largest = (counts: readonly (readonly [string, number])[]): ReadonlyMap<string, number> =>
  new Map(counts.toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, CATEGORIES_MAX))

type Order = (a: HitFacts, b: HitFacts) => number

/** Orders besides that of relevance; hits without a measurement come last. */
export const HIT_ORDERS = {
  price: (a, b) => Number(a.price - b.price),
  latency: (a, b) => (a.p95Ms ?? Infinity) - (b.p95Ms ?? Infinity) || 0,
  uptime: (a, b) => (b.uptime ?? -1) - (a.uptime ?? -1),
  calls: (a, b) => b.calls - a.calls,
} as const satisfies Readonly<Record<string, Order>>
