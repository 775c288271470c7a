import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { normalizeRow } from '../../../core/catalog/listings/discovery/normalize.ts'
import { type ListingCandidate, listingId } from '../../../core/catalog/listings/store.ts'
import { search } from '../../../core/catalog/search/search.ts'
import { systemClock } from '../../../core/clock.ts'
import { rounded } from '../load.ts'
import { atLeast, below, type Target } from '../report.ts'
import { bm25 } from './bm25.ts'
import { miniSearch, ours } from './engines.ts'
import { type GradedQuery, measure, type Sample } from './relevance.ts'
import { type IndexRow, isSpam, spamRows } from './spam.ts'

/** Judged query over the listings of a data directory; the README describes the files. */
interface JudgedQuery {
  readonly query: string
  /** `plain`, `language`, `acronym`, `compound`, `price`, `intent` or `unanswerable`. */
  readonly kind: string
  /** URL of each listing that serves it, as in `listings.jsonl`; none if it cannot be answered. */
  readonly relevant: readonly string[]
}

/** Listing with the categories that a judge accepts. */
interface JudgedCategory {
  readonly resource: string
  readonly categories: readonly string[]
}

const readLines = <Line>(folder: string, file: string): Line[] =>
  readFileSync(join(folder, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

const QUERIES_FILE = /^queries.*\.jsonl$/
const BATCH = 500
const PAGE = 5

export interface RealListings {
  readonly figures: Readonly<Record<string, number>>
  readonly targets: readonly Target[]
  readonly halves: Readonly<Record<Half, readonly Outcome[]>>
}

type Half = 'development' | 'held_out'

/** Result of one query. */
export interface Outcome {
  readonly query: JudgedQuery
  readonly isFirstRelevant: boolean
  readonly isNothing: boolean
  readonly hasSpam: boolean
  /** First hits: id, name, reasons. */
  readonly shown: readonly string[]
}

/**
 * Imports the rows of a directory and spam, and searches them with judged queries. Odd lines of
 * each file of queries may be used for tuning; even lines are held out.
 */
export async function measureRealListings(
  { admin, pool }: { readonly admin: Pool; readonly pool: Pool },
  folder: string,
): Promise<RealListings> {
  const rows = readLines<IndexRow>(folder, 'listings.jsonl')
  const named = rows.flatMap(normalized)
  const listed = [...named, ...spamRows().flatMap(normalized)]
  await insertListings(admin, listed)
  const ids = new Map(named.map(({ resource, id }) => [resource, id]))
  const halves: Record<Half, Outcome[]> = { development: [], held_out: [] }
  for (const file of readdirSync(folder)
    .filter((name) => QUERIES_FILE.test(name))
    .toSorted()) {
    for (const [i, query] of readLines<JudgedQuery>(folder, file).entries()) {
      halves[i % 2 === 0 ? 'development' : 'held_out'].push(await outcomeOf(pool, query, ids))
    }
  }
  const figures: Record<string, number> = { real_rows: rows.length }
  recordHalf(figures, 'development', halves.development)
  recordHalf(figures, 'held_out', halves.held_out)
  await compareEngines(pool, listed, halves.held_out, ids, figures)
  figures['category_accuracy'] = categoryAccuracy(named, readLines(folder, 'categories.jsonl'))
  return { figures, targets: targetsOf(figures), halves }
}

async function outcomeOf(
  pool: Pool,
  query: JudgedQuery,
  ids: ReadonlyMap<string, string>,
): Promise<Outcome> {
  const order = { query: query.query, limit: PAGE }
  const { hits, lowConfidence } = await search(pool, systemClock, order)
  const relevant = new Set(query.relevant.map((url) => ids.get(url)))
  return {
    query,
    isFirstRelevant: relevant.has(hits[0]?.candidate.id),
    isNothing: hits.length === 0 || lowConfidence,
    shown: hits.map(({ candidate, why }) => `${candidate.names[0]} [${why.join('; ')}]`),
    hasSpam: hits.some(({ candidate }) => candidate.sellers.some(isSpam)),
  }
}

const share = (all: readonly Outcome[], test: (one: Outcome) => boolean): number =>
  rounded(all.filter(test).length / all.length, 3)

function recordHalf(figures: Record<string, number>, half: Half, all: readonly Outcome[]): void {
  const isAnswerable = ({ query }: Outcome) => query.kind !== 'unanswerable'
  const answerable = all.filter(isAnswerable)
  figures[`p_at_1_${half}`] = share(answerable, ({ isFirstRelevant }) => isFirstRelevant)
  for (const [kind, some] of Object.entries(Object.groupBy(answerable, ({ query }) => query.kind)))
    figures[`p_at_1_${kind}_${half}`] = share(some!, ({ isFirstRelevant }) => isFirstRelevant)
  figures[`doubted_${half}`] = share(answerable, ({ isNothing }) => isNothing)
  const unanswerable = all.filter((one) => !isAnswerable(one))
  figures[`nothing_fits_${half}`] = share(unanswerable, ({ isNothing }) => isNothing)
  figures[`spam_in_top_5_${half}`] = share(all, ({ hasSpam }) => hasSpam)
}

/** Records nDCG@5 of the hub and of two BM25 libraries over the answerable queries held out. */
async function compareEngines(
  pool: Pool,
  listed: readonly NamedRow[],
  outcomes: readonly Outcome[],
  ids: ReadonlyMap<string, string>,
  figures: Record<string, number>,
): Promise<void> {
  const samples = [...new Map(listed.map((row) => [row.id, sampleOf(row)])).values()]
  const queries = outcomes.flatMap(({ query: { query, relevant } }): GradedQuery[] => {
    const grades = relevant.flatMap((url) => (ids.has(url) ? [[ids.get(url)!, 3] as const] : []))
    return grades.length === 0 ? [] : [{ query, grades: new Map(grades) }]
  })
  const engines = { hub: ours(pool), bm25: bm25(samples), minisearch: miniSearch(samples) }
  for (const [name, engine] of Object.entries(engines)) {
    const { ndcg } = await measure(queries, engine, PAGE)
    figures[`${name}_real_held_out_ndcg5`] = rounded(ndcg, 3)
  }
}

const sampleOf = ({ id, candidate }: NamedRow): Sample => ({
  id,
  name: candidate.name,
  category: candidate.category,
  price: Number(candidate.offers[0].price),
  tags: candidate.tags,
  summary: candidate.description,
  endpoints: new URL(candidate.url).pathname,
})

/** Share of judged rows whose category is one of those that the judge accepts. */
function categoryAccuracy(rows: readonly NamedRow[], judged: readonly JudgedCategory[]): number {
  const known = new Map(rows.map(({ resource, candidate }) => [resource, candidate.category]))
  const right = judged.filter(({ resource, categories }) =>
    categories.includes(known.get(resource) ?? ''),
  )
  return rounded(right.length / judged.length, 3)
}

/** Row that can be listed, with its URL as given. */
interface NamedRow {
  readonly resource: string
  readonly id: string
  readonly candidate: ListingCandidate
}

function normalized(row: IndexRow): NamedRow[] {
  const result = normalizeRow(row, {})
  if (!('candidate' in result)) return []
  const { candidate } = result
  return [{ resource: row.resource, id: listingId(candidate.method, candidate.url), candidate }]
}

async function insertListings(admin: Pool, rows: readonly NamedRow[]): Promise<void> {
  const listings = [...new Map(rows.map((row) => [row.id, listingOf(row)])).values()]
  for (let first = 0; first < listings.length; first += BATCH) {
    await admin.query(
      `INSERT INTO hub.listing SELECT * FROM jsonb_populate_recordset(NULL::hub.listing, $1)`,
      [JSON.stringify(listings.slice(first, first + BATCH))],
    )
  }
}

function listingOf({ id, candidate }: NamedRow) {
  const { url, offers, inputSchema, outputSchema, named: _, ...texts } = candidate
  const [offer] = offers
  const { origin, host } = new URL(url)
  return {
    ...texts,
    id,
    url,
    origin,
    host,
    scheme: 'exact',
    network: offer.network,
    asset: offer.asset,
    pay_to: offer.payTo,
    price: Number(offer.price),
    payable: true,
    offers: offers.map((one) => ({ ...one, price: Number(one.price) })),
    input_schema: inputSchema,
    output_schema: outputSchema,
    state: 'active',
    rank: 2,
    first_seen_at: '2026-01-01T00:00:00Z',
    listed_at: '2026-01-01T00:00:00Z',
    last_verified_at: '2026-01-01T00:00:00Z',
    failures: 0,
    uptime: 99,
    latency_p50_ms: 300,
    calls: 0,
    delivered: 0,
  }
}

function targetsOf(figures: Readonly<Record<string, number>>): Target[] {
  const of = (name: string) => figures[`${name}_held_out`] ?? 0
  return [
    atLeast('real listings: first hit is right, held out', of('p_at_1'), 0.92),
    atLeast('real listings: other languages, held out', of('p_at_1_language'), 0.85),
    atLeast('real listings: acronyms, held out', of('p_at_1_acronym'), 0.85),
    atLeast(
      'real listings: unanswerable queries, nothing or low confidence',
      of('nothing_fits'),
      0.9,
    ),
    below('real listings: spam in the first five', of('spam_in_top_5'), 0.02),
    atLeast('real listings: categories', figures['category_accuracy']!, 0.85),
  ]
}
