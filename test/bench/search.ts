import { search as find } from '../../core/catalog/search/search.ts'
import { elapsedMs, systemClock } from '../../core/clock.ts'
import { type FreshDatabase, freshDatabase, stopSharedCluster } from '../support/postgres.ts'
import { besideBusyLoops } from './busy-loops.ts'
import { load, rounded } from './load.ts'
import { atLeast, below, type Report, type Table, type Target } from './report.ts'
import { bm25 } from './search/bm25.ts'
import { type Find, insertCatalog, miniSearch, ours, plainFullText } from './search/engines.ts'
import { measureRealListings, type RealListings } from './search/real-listings.ts'
import { measure, type Quality, type Relevance, readRelevance } from './search/relevance.ts'
import { insertListings } from './search/synthetic.ts'

const LISTINGS = 100_000
const SECONDS = 10

/** Compared engines by the name of their figures. */
type Engines = Readonly<Record<'hub' | 'full_text' | 'bm25' | 'minisearch', Find>>

/**
 * Ranking quality on the relevance set, compared with plain PostgreSQL full text search and two
 * BM25 libraries; then search and write speed with 100,000 listings derived from the same catalog.
 */
export async function search(data?: string): Promise<Report> {
  const relevance = readRelevance()
  const figures: Record<string, number> = {}
  try {
    const table = await quality(relevance, figures)
    const real = data === undefined ? undefined : await realListings(data)
    await speed(relevance, figures)
    return {
      name: 'search',
      figures: { ...figures, ...real?.figures },
      tables: [table],
      targets: [...targets(figures), ...(real?.targets ?? [])],
    }
  } finally {
    await stopSharedCluster()
  }
}

async function inDatabase(work: (database: FreshDatabase) => Promise<void>): Promise<void> {
  const database = await freshDatabase()
  try {
    await work(database)
  } finally {
    await database.drop()
  }
}

async function quality(relevance: Relevance, figures: Record<string, number>): Promise<Table> {
  const rows: (string | number)[][] = []
  await inDatabase(async ({ admin, pool }) => {
    await insertCatalog(admin, relevance.catalog)
    const engines: Engines = {
      hub: ours(pool),
      full_text: plainFullText(admin),
      bm25: bm25(relevance.catalog),
      minisearch: miniSearch(relevance.catalog),
    }
    for (const [name, engine] of Object.entries(engines)) {
      const development = await measure(relevance.development, engine)
      const heldOut = await measure(relevance.heldOut, engine)
      record(figures, `${name}_development`, development)
      record(figures, `${name}_held_out`, heldOut)
      const cells = [development.ndcg, development.mrr, heldOut.ndcg, heldOut.mrr]
      rows.push([name, ...cells.map((value) => rounded(value, 3))])
    }
  })
  const title = `relevance: ${relevance.development.length} and ${relevance.heldOut.length} queries`
  const columns = ['engine', 'nDCG@10 development', 'MRR', 'nDCG@10 held out', 'MRR held out']
  return { title, columns, rows }
}

async function realListings(folder: string): Promise<RealListings> {
  let measured: RealListings | undefined
  await inDatabase(async (database) => {
    measured = await measureRealListings(database, folder)
  })
  return measured!
}

function record(figures: Record<string, number>, name: string, { ndcg, mrr }: Quality): void {
  figures[`${name}_ndcg10`] = rounded(ndcg, 4)
  figures[`${name}_mrr`] = rounded(mrr, 4)
}

async function speed(relevance: Relevance, figures: Record<string, number>): Promise<void> {
  await inDatabase(async ({ admin, pool }) => {
    const start = elapsedMs()
    await insertListings(admin, relevance.catalog, LISTINGS)
    figures['listings_written_per_s'] = rounded(LISTINGS / ((elapsedMs() - start) / 1_000))
    await admin.query('VACUUM ANALYZE')
    const queries = [...relevance.development, ...relevance.heldOut]
    let next = 0
    const once = async () => {
      const { query, category } = queries[next++ % queries.length]!
      await find(pool, systemClock, { query, category, limit: 20 })
    }
    await load(4, 3, once)
    for (const concurrency of [1, 4, 50]) {
      const [first, before] = [next, process.cpuUsage()]
      const { perSecond, p50Ms, p99Ms } = await load(concurrency, SECONDS, once)
      const { user, system } = process.cpuUsage(before)
      figures[`cpu_ms_per_search_at_${concurrency}`] = rounded(
        (user + system) / 1_000 / (next - first),
        2,
      )
      figures[`searches_per_s_at_${concurrency}`] = rounded(perSecond)
      figures[`p50_ms_at_${concurrency}`] = rounded(p50Ms)
      figures[`p99_ms_at_${concurrency}`] = rounded(p99Ms)
    }
    await besideBusyLoops(async () => {
      await load(4, 3, once)
      figures['p99_ms_at_4_beside_loops'] = rounded((await load(4, SECONDS, once)).p99Ms)
    })
  })
}

function targets(figures: Readonly<Record<string, number>>): Target[] {
  const peer = Math.max(figures['bm25_held_out_ndcg10']!, figures['minisearch_held_out_ndcg10']!)
  const removed = rounded((figures['hub_held_out_ndcg10']! - peer) / (1 - peer), 3)
  const name = 'p99 of a search over 100,000 listings, 4 at once'
  return [
    atLeast(
      'part of the shortfall of the better BM25 library from nDCG@10 = 1 removed, held out',
      removed,
      0.3,
    ),
    below(`${name}, ms`, figures['p99_ms_at_4']!, 20),
    below(`${name}, beside two busy loops, ms`, figures['p99_ms_at_4_beside_loops']!, 30),
  ]
}
