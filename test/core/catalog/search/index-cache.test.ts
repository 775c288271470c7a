import { expect } from 'chai'
import * as fc from 'fast-check'
import type { ClientBase, Pool } from 'pg'
import type { Entry, Reader } from '../../../../core/catalog/search/index-cache.ts'
import { type CachedTerm, IndexCache } from '../../../../core/catalog/search/index-cache.ts'
import { strongestDocuments } from '../../../../core/catalog/search/postings.ts'
import { type SearchRequest, search } from '../../../../core/catalog/search/search.ts'
import { systemClock } from '../../../../core/clock.ts'
import { createPool } from '../../../../core/db/pool.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { micros } from '../../../../core/money.ts'
import { insertCatalog } from '../../../bench/search/engines.ts'
import { readRelevance } from '../../../bench/search/relevance.ts'
import { eventually } from '../../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { sampleOf } from '../samples.ts'

const { catalog, development } = readRelevance()
const MIB = 1_048_576

/** Reader with an empty cache, like that of a new process. */
const newcomer = (pool: Pool): Reader => ({ query: pool.query.bind(pool) }) as unknown as ClientBase

const seek = async (reader: Reader, order: Omit<SearchRequest, 'limit'>) =>
  (await search(reader, systemClock, { limit: 100, ...order })).hits

describe('the index cache of a process', () => {
  let database: FreshDatabase
  /** Each pool has its own cache, as each process does. */
  let pools: Pool[]
  before(async () => {
    database = await freshDatabase()
    await insertCatalog(database.admin, catalog)
    pools = [database.pool, createPool(database.url, { role: 'hub_app' })]
  })
  after(async () => {
    await pools[1]!.end()
    await database.drop()
  })

  const set = (id: string, change: string, values: readonly unknown[] = []) =>
    database.admin.query(`UPDATE hub.search_document SET ${change} WHERE id = $1`, [id, ...values])

  it('shows a change in the next search of every process', async () => {
    await insertCatalog(database.admin, [sampleOf('zeppelin', 'Airship timetables.')])
    const shown = async (query: string) =>
      Promise.all(
        pools.map(async (pool) => {
          const hits = await seek(pool, { query })
          const found = hits.find(({ candidate }) => candidate.id === 'zeppelin')
          return found?.candidate.price
        }),
      )
    expect(await shown('airship timetables')).to.deep.equal([100, 100])
    await set('zeppelin', 'price = 777')
    expect(await shown('airship timetables')).to.deep.equal([777, 777])
    expect(await shown('airship timetables under $0.000700')).to.deep.equal([undefined, undefined])
    expect(await shown('kaleidoscope')).to.deep.equal([undefined, undefined])
    expect(await shown('kaliedoscope')).to.deep.equal([undefined, undefined])
    await set('zeppelin', `description = 'Kaleidoscope and mirrors.'`)
    expect(await shown('kaleidoscope')).to.deep.equal([777, 777])
    expect(await shown('kaliedoscope')).to.deep.equal([777, 777])
    expect(await shown('airship timetables')).to.deep.equal([undefined, undefined])
    await database.admin.query(`DELETE FROM hub.search_document WHERE id = 'zeppelin'`)
    expect(await shown('kaleidoscope')).to.deep.equal([undefined, undefined])
    expect(await shown('zeppelin')).to.deep.equal([undefined, undefined])
  })

  it('never outlives a transaction that was rolled back', async () => {
    await insertCatalog(database.admin, [sampleOf('balloon', 'Hot air.')])
    const priceOf = async (reader: Reader) =>
      (await seek(reader, { query: 'balloon' }))[0]?.candidate.price
    for (const price of [200, 300]) {
      await inTransaction(database.admin, async (client) => {
        await client.query(`UPDATE hub.search_document SET price = $1 WHERE id = 'balloon'`, [
          price,
        ])
        expect(await priceOf(client)).to.equal(price)
        throw new Error('roll back')
      }).catch((error: Error) => expect(error.message).to.equal('roll back'))
      expect(await priceOf(database.admin)).to.equal(100)
    }
  })

  it('gives the same results as an empty cache after any writes', async () => {
    const ids = fc.constantFrom(...catalog.slice(0, 12).map(({ id }) => id))
    const words = fc.constantFrom('weather radar', 'translate text', 'zyzzogeton', 'rain')
    const write = fc.oneof(
      fc.tuple(
        ids,
        fc.constant('description = $2'),
        words.map((text) => [text]),
      ),
      fc.tuple(
        ids,
        fc.constant('name = $2'),
        words.map((text) => [text]),
      ),
      fc.tuple(
        ids,
        fc.constant('price = $2'),
        fc.nat(5_000).map((price) => [price]),
      ),
      fc.tuple(ids, fc.constant('category = $2'), fc.constantFrom(['ai'], ['weather'])),
      fc.tuple(
        ids,
        fc.constant('calls = 100, delivered = $2'),
        fc.nat(100).map((n) => [n]),
      ),
    )
    const queries = [...development.map(({ query }) => query), 'zyzogeton', 'rain', '']
    const order = fc.record({
      query: fc.constantFrom(...queries),
      category: fc.constantFrom(undefined, 'ai', 'weather'),
      maxPrice: fc.constantFrom(undefined, micros(1_000)),
    })
    const steps = fc.array(fc.tuple(write, order), { minLength: 4, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        for (const [[id, change, values], search] of all) {
          await set(id, change, values)
          const remembered = await seek(database.pool, search)
          expect(remembered).to.deep.equal(await seek(newcomer(database.pool), search))
        }
      }),
      { numRuns: 12 },
    )
  })

  it('gives no result older than the start of the search while the index is written', async () => {
    await insertCatalog(database.admin, [sampleOf('ticker', 'Ticks and tocks.')])
    const last = 160
    const written = { price: 100 }
    const searches = pools.map(() => 0)
    const write = async () => {
      for (let price = 101; price <= last; price++) {
        const words = price % 3 === 0 ? `Ticks and tocks ${price}.` : 'Ticks and tocks.'
        await set('ticker', 'price = $2, description = $3', [price, words])
        written.price = price
        // However fast the writes are, each reader searches at least once per four writes.
        await eventually(() => searches.every((count) => 4 * count >= price - 100))
      }
    }
    const read = async (pool: Pool, who: number) => {
      try {
        while (written.price < last) {
          const before = written.price
          const [first] = await seek(pool, { query: 'ticks tocks' })
          expect(first?.candidate.id).to.equal('ticker')
          expect(first!.candidate.price).to.be.at.least(before)
          searches[who]! += 1
        }
      } finally {
        searches[who] = last // lets the writer continue after a failure
      }
    }
    await Promise.all([write(), ...pools.map(read)])
  })

  it('has bounded memory', () => {
    const memory = new IndexCache()
    for (let doc = 1; doc <= 120; doc++) {
      const text = { doc, vector: 'x'.repeat(MIB) } as Entry
      memory.entries.set(doc, text)
      const head = { docs: new Int32Array(MIB / 4), impacts: new Int16Array(MIB / 4) }
      memory.store(`term${doc}`, { version: '1', documents: 1, postings: head })
    }
    expect(memory.entries.calculatedSize).to.be.within(40 * MIB, 48 * MIB)
    expect(memory.terms.calculatedSize).to.be.within(20 * MIB, 24 * MIB)
    expect(memory.entries.has(120)).to.equal(true)
    expect(memory.entries.has(1)).to.equal(false)
  })

  it('sums postings like a reference implementation', () => {
    const posting = fc.record({ doc: fc.integer({ min: 1, max: 60 }), impact: fc.nat(1_000) })
    const list = fc.uniqueArray(posting, { selector: ({ doc }) => doc, maxLength: 40 })
    const reading = fc.record({ list, weight: fc.constantFrom(1, 2, 5), reads: fc.nat(45) })
    const search = fc.record({
      lists: fc.array(reading, { maxLength: 5 }),
      depth: fc.integer({ min: 1, max: 20 }),
      among: fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 60 })), { nil: undefined }),
    })
    fc.assert(
      fc.property(search, ({ lists, depth, among }) => {
        const sums = new Map<number, number>()
        for (const { list: postings, weight, reads } of lists) {
          for (const { doc, impact } of postings.slice(0, reads)) {
            if (among && !among.includes(doc)) continue
            sums.set(doc, (sums.get(doc) ?? 0) + weight * impact)
          }
        }
        const byHand = [...sums]
          .toSorted(([a, x], [b, y]) => y - x || a - b)
          .slice(0, depth)
          .map(([doc]) => doc)
        const terms = lists.map(({ weight, reads }, i) => ({ term: `t${i}`, weight, reads }))
        const read = lists.map(
          ({ list: postings }): Pick<CachedTerm, 'postings'> => ({
            postings: {
              docs: Int32Array.from(postings.map(({ doc }) => doc)),
              impacts: Int16Array.from(postings.map(({ impact }) => impact)),
            },
          }),
        )
        expect(strongestDocuments(terms, read, depth, among && new Set(among))).to.deep.equal(
          byHand,
        )
      }),
    )
  })
})
