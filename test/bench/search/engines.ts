import MiniSearch from 'minisearch'
import type { ClientBase, Pool } from 'pg'
import { search } from '../../../core/catalog/search/search.ts'
import { systemClock } from '../../../core/clock.ts'
import { micros } from '../../../core/money.ts'
import { type GradedQuery, passes, type Sample } from './relevance.ts'

export type Find = (query: GradedQuery) => Promise<readonly string[]> | readonly string[]

/** Inserts the sample catalog as services of the hub. */
export async function insertCatalog(
  admin: ClientBase | Pool,
  catalog: readonly Sample[],
): Promise<void> {
  const rows = catalog.map(({ id, name, category, price, tags, summary, endpoints }) => ({
    kind: 'native',
    id,
    name,
    provider: id.split('-')[0],
    category,
    tags,
    description: summary,
    words: endpoints,
    networks: ['eip155:8453'],
    price,
    state: 'active',
    listed_at: '2026-01-01T00:00:00Z',
    calls: 0,
    delivered: 0,
  }))
  await admin.query(
    `INSERT INTO hub.search_document
     SELECT * FROM jsonb_populate_recordset(NULL::hub.search_document, $1)`,
    [JSON.stringify(rows)],
  )
}

export const ours =
  (pool: Pool): Find =>
  async ({ query, category, maxPrice }) => {
    const price = maxPrice === undefined ? undefined : micros(maxPrice)
    const order = { query, category, maxPrice: price, limit: 10 }
    const { hits } = await search(pool, systemClock, order)
    return hits.map(({ candidate }) => candidate.id)
  }

/** Plain PostgreSQL full text search: English configuration, weights, any word, ts_rank_cd. */
export const plainFullText =
  (pool: Pool): Find =>
  async ({ query, category, maxPrice }) => {
    const { rows } = await pool.query<{ id: string }>(
      `WITH d AS (SELECT id, category, price,
           setweight(to_tsvector('english', name || ' ' || id), 'A')
           || setweight(to_tsvector('english', array_to_string(tags, ' ') || ' ' || category), 'B')
           || setweight(to_tsvector('english', description), 'C')
           || setweight(to_tsvector('english', words), 'D') AS vector
         FROM hub.search_document),
       q AS (SELECT replace(plainto_tsquery('english', $1)::text, '&', '|')::tsquery AS query)
       SELECT id FROM d, q WHERE vector @@ query
         AND ($2::text IS NULL OR category = $2) AND ($3::bigint IS NULL OR price <= $3)
       ORDER BY ts_rank_cd(vector, query) DESC, id LIMIT 10`,
      [query, category ?? null, maxPrice ?? null],
    )
    return rows.map(({ id }) => id)
  }

const FIELDS = ['name', 'tags', 'summary', 'endpoints', 'category', 'id']

/** BM25+ by MiniSearch with boosted names, fuzzy and prefix matching. */
export function miniSearch(catalog: readonly Sample[]): Find {
  const index = new MiniSearch<Sample>({
    fields: FIELDS,
    extractField: (sample, field) => String(sample[field as keyof Sample]),
    searchOptions: {
      boost: { name: 3, tags: 2, category: 2 },
      fuzzy: 0.2,
      prefix: true,
    },
  })
  index.addAll(catalog)
  const byId = new Map(catalog.map((sample) => [sample.id, sample]))
  return (judged) =>
    index
      .search(judged.query, { filter: ({ id }) => passes(byId.get(String(id))!, judged) })
      .slice(0, 10)
      .map(({ id }) => String(id))
}
