import { expect } from 'chai'
import * as fc from 'fast-check'
import type { ClientBase, Pool } from 'pg'
import { type SearchRequest, search } from '../../../../core/catalog/search/search.ts'
import { type Clock, systemClock } from '../../../../core/clock.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { micros } from '../../../../core/money.ts'
import { insertCatalog } from '../../../bench/search/engines.ts'
import { readRelevance } from '../../../bench/search/relevance.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { sampleOf } from '../samples.ts'

const { catalog } = readRelevance()
const DAY_MS = 86_400_000

describe('the search index', () => {
  let database: FreshDatabase
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  const ids = async (pool: Pool, query: string, clock: Clock = systemClock) =>
    (await search(pool, clock, { query, limit: 100 })).hits.map(({ candidate }) => candidate.id)

  it('is written in the transaction of the document', async () => {
    const { admin } = database
    await inTransaction(admin, async (client) => {
      await insertCatalog(client, [sampleOf('zeppelin', 'Lighter than air.')])
      const { hits } = await search(client, systemClock, { query: 'zeppelin air', limit: 9 })
      expect(hits.map(({ candidate }) => candidate.id)).to.deep.equal(['zeppelin'])
      expect(await ids(admin, 'zeppelin air')).to.deep.equal([])
      throw new Error('roll back')
    }).catch((error: Error) => expect(error.message).to.equal('roll back'))
    expect(await ids(admin, 'zeppelin air')).to.deep.equal([])
    await insertCatalog(admin, [sampleOf('zeppelin', 'Lighter than air.')])
    expect(await ids(admin, 'zeppelin air')).to.deep.equal(['zeppelin'])
  })

  it('matches the documents after any sequence of writes', async () => {
    const { admin } = database
    const words = fc.constantFrom('alpha beta', 'beta gamma gamma', 'delta', 'alpha delta epsilon')
    const write = fc.record({
      id: fc.constantFrom('one', 'two', 'three'),
      words,
      kind: fc.constantFrom('add', 'change', 'reprice', 'remove'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 12 }), async (writes) => {
        await admin.query('DELETE FROM hub.search_document')
        for (const { id, words: text, kind } of writes) {
          const { rows } = await admin.query('SELECT FROM hub.search_document WHERE id = $1', [id])
          if (kind === 'add' && rows.length === 0) await insertCatalog(admin, [sampleOf(id, text)])
          if (kind === 'change') {
            const change = 'UPDATE hub.search_document SET description = $2 WHERE id = $1'
            await admin.query(change, [id, text])
          }
          if (kind === 'reprice') {
            const reprice = 'UPDATE hub.search_document SET price = price + 1 WHERE id = $1'
            await admin.query(reprice, [id])
          }
          if (kind === 'remove') {
            await admin.query('DELETE FROM hub.search_document WHERE id = $1', [id])
          }
        }
        const { rows } = await admin.query<{ wrong: number }>(DIFFERENCES)
        expect(rows[0]?.wrong).to.equal(0)
      }),
      { numRuns: 25 },
    )
  })

  it("cannot be written by the hub's role", async () => {
    for (const table of ['search_entry', 'search_posting', 'search_term', 'search_document']) {
      const refused = await database.pool.query(`DELETE FROM hub.${table}`).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(refused).to.include('permission denied')
    }
  })

  it('features each new listing in turn, the same one all day', async () => {
    const { admin } = database
    await insertCatalog(admin, catalog)
    const text = 'Weather forecast, weather radar, weather of the day.'
    const old = Array.from({ length: 12 }, (_, i) => sampleOf(`weather-old-${i}`, text))
    const fresh = Array.from({ length: 4 }, (_, i) => sampleOf(`fresh-${i}`, text))
    await insertCatalog(admin, [...old, ...fresh])
    const today = Date.UTC(2026, 5, 1)
    const listed = new Date(today - DAY_MS)
    const listing = `UPDATE hub.search_document SET listed_at = $1 WHERE id LIKE 'fresh-%'`
    await admin.query(listing, [listed])
    const drawn = new Set<string>()
    for (let day = 0; day < 12; day++) {
      const clock = { now: () => new Date(today + day * DAY_MS) }
      const first = (await ids(admin, 'weather forecast', clock)).slice(0, 5)
      const later = { now: () => new Date(today + day * DAY_MS + 80_000_000) }
      expect((await ids(admin, 'weather forecast', later)).slice(0, 5)).to.deep.equal(first)
      const turns = first.filter((id) => id.startsWith('fresh-'))
      expect(turns).to.have.length(1)
      drawn.add(turns[0]!)
    }
    expect(drawn.size).to.be.at.least(3)
    const exact = (await ids(admin, 'weather-old-3', { now: () => new Date(today) }))[0]
    expect(exact).to.equal('weather-old-3')
    const monthLater = { now: () => new Date(today + 30 * DAY_MS) }
    const noMore = (await ids(admin, 'weather forecast', monthLater)).slice(0, 5)
    expect(noMore.filter((id) => id.startsWith('fresh-'))).to.deep.equal([])
  })

  it('ranks equal texts by success, or by price if the query asks for it', async () => {
    const { admin } = database
    await insertCatalog(
      admin,
      ['good', 'bad', 'unknown'].map((id) => sampleOf(id, 'Counts sheep.')),
    )
    const called = 'UPDATE hub.search_document SET calls = 100, delivered = $2 WHERE id = $1'
    await admin.query(called, ['bad', 20])
    await admin.query(called, ['good', 100])
    expect(await ids(admin, 'sheep')).to.deep.equal(['good', 'unknown', 'bad'])
    const { hits } = await search(admin, systemClock, { query: 'sheep', limit: 1 })
    expect(hits[0]?.why).to.include('100 of 100 calls delivered')
    await admin.query(`UPDATE hub.search_document SET price = 90000 WHERE id <> 'bad'`)
    expect((await ids(admin, 'sheep'))[0]).to.equal('good')
    expect((await ids(admin, 'cheap sheep'))[0]).to.equal('bad')
    expect((await ids(admin, 'reliable sheep'))[0]).to.equal('good')
  })

  it('is read only by its indexes, with bounded postings even for common words', async () => {
    const { admin } = database
    for (let first = 1; first <= 7_000; first += 1_000) await admin.query(MANY, [first])
    await admin.query('VACUUM ANALYZE')
    const client = await admin.connect()
    const plans: Plan[] = []
    client.on('notice', ({ message = '' }) => {
      const at = message.indexOf('plan:')
      if (at >= 0) plans.push((JSON.parse(message.slice(at + 5)) as { Plan: Plan }).Plan)
    })
    try {
      await client.query(EXPLAINING)
      for (const [order, most] of ORDERS) {
        plans.length = 0
        // The cache belongs to the reader: each of these starts without one.
        const reader = { query: client.query.bind(client) } as unknown as ClientBase
        const { hits } = await search(reader, systemClock, { limit: 20, ...order })
        const title = JSON.stringify({ ...order, maxPrice: String(order.maxPrice) })
        expect(hits, title).to.not.be.empty
        const scans = plans.flatMap(scansOf)
        expect(scans, title).to.not.be.empty
        for (const scan of scans) expect(scan['Node Type'], title).to.not.equal('Seq Scan')
        const postings = scans.filter((scan) => scan['Relation Name'] === 'search_posting')
        for (const scan of postings) expect(scan['Node Type']).to.equal('Index Only Scan')
        const read = postings.reduce((sum, scan) => sum + rowsOf(scan), 0)
        expect(read, title).to.be.within(most === 0 ? 0 : 1, most)
      }
    } finally {
      client.release(true)
    }
  })
})

/** Part of a PostgreSQL query plan. */
interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly Plans?: readonly Plan[]
}

/** Lists the scans of index tables in all executed statements and functions. */
const scansOf = (plan: Plan): Plan[] => [
  ...(plan['Relation Name']?.startsWith('search_') ? [plan] : []),
  ...(plan.Plans ?? []).flatMap(scansOf),
]

const rowsOf = (plan: Plan): number => plan['Actual Rows'] * plan['Actual Loops']

const EXPLAINING = `
  LOAD 'auto_explain';
  SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
  SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off;
  SET auto_explain.log_format = json; SET client_min_messages = log`

/** Searches with their limits of postings: twice 1,500, or six times as many. */
const ORDERS: readonly (readonly [Omit<SearchRequest, 'limit'>, number])[] = [
  [{ query: 'common word with weather of type7 and misspeled forcast' }, 3_100],
  [{ query: 'common' }, 3_100],
  [{ query: 'Service 77' }, 3_100],
  [{ query: 'common', category: 'cat2' }, 3_100],
  [{ query: 'common weather', maxPrice: micros(1_500) }, 3_100],
  [{ query: 'common weather', type: 'external', network: 'eip155:8453' }, 3_100],
  // Some hundreds pass the filter, but few of the strongest.
  [{ query: 'common', tag: 'tag17' }, 3_100],
  // Some thousands pass the filter, but few of the strongest.
  [{ query: 'word', category: 'late' }, 18_500],
  [{ query: '', category: 'cat2' }, 0],
  [{ query: '' }, 0],
]

/** Counts index rows that differ from a freshly built index. */
const DIFFERENCES = `
  WITH anew AS (
    SELECT e.doc, i.term, i.impact
    FROM hub.search_document d JOIN hub.search_entry e USING (kind, id)
    CROSS JOIN LATERAL hub.search_impacts(hub.search_vector(d)) i),
  counted AS (SELECT term COLLATE "C" AS term, count(*) AS documents FROM anew GROUP BY 1
    UNION ALL SELECT '', count(*) FROM hub.search_document)
  SELECT ((SELECT count(*) FROM anew a
      FULL JOIN hub.search_posting p ON (p.doc, p.term, p.impact) = (a.doc, a.term, a.impact)
      WHERE a.doc IS NULL OR p.doc IS NULL)
    + (SELECT count(*) FROM counted c FULL JOIN hub.search_term t USING (term)
      WHERE coalesce(c.documents, 0) <> coalesce(t.documents, 0))
    + (SELECT count(*) FROM hub.search_document d JOIN hub.search_entry e USING (kind, id)
      WHERE (e.price, e.category, e.tags) IS DISTINCT FROM (d.price, d.category, d.tags))
    )::integer AS wrong`

/** A thousand documents; the last ones share few words with the others, in long texts. */
const MANY = `
  INSERT INTO hub.search_document (kind, id, name, provider, category, tags, description, words,
      networks, price, state, listed_at)
    SELECT 'external', 'ext_' || n, 'Service ' || n, 'provider' || n % 500,
      CASE WHEN n > 5000 THEN 'late' ELSE 'cat' || n % 3 END, ARRAY['tag' || n % 20],
      'A common word, type' || n % 40 || CASE WHEN n % 7 = 0 THEN ' weather forecast' ELSE '' END
        || CASE WHEN n > 5000 THEN repeat(' lengthy', 90) ELSE '' END,
      'GET https://host' || n % 5000 || '.example.com/v1/' || n, '{eip155:8453}', n % 2000,
      'active', '2026-01-01' FROM generate_series($1::integer, $1 + 999) n`
