import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  type DiscoveryDeps,
  discoverIndexes,
} from '../../../../core/catalog/listings/discovery/discover.ts'
import { importPage } from '../../../../core/catalog/listings/discovery/import.ts'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { listSources, openSource } from '../../../../core/catalog/listings/discovery/sources.ts'
import { probeDue } from '../../../../core/catalog/listings/probe/probe-due.ts'
import { RANK } from '../../../../core/catalog/listings/store.ts'
import { createLog } from '../../../../core/log.ts'
import { eventually } from '../../../support/eventually.ts'
import { clearListings, json, type SiteHandler, sells, useCatalog } from '../fixture.ts'
import { offer, row } from '../rows.ts'

const DEPTH = 6_000

describe('discovery', () => {
  const fixture = useCatalog()

  const indexes = ['index', 'other'].map((name) => ({ name, url: `http://${name}.test/list` }))
  const discover = (more: Partial<DiscoveryDeps> = {}) =>
    discoverIndexes({
      ...fixture,
      settings: { indexes, ipfsGateway: '', facilitators: [], registryFromBlock: 0n },
      chainLogs: undefined,
      depth: 0n,
      log: createLog('silent'),
      retryMs: [1, 1],
      ...more,
    })
  const urls = async (): Promise<string[]> => {
    const { rows } = await fixture.pool.query<{ url: string }>(
      'SELECT url FROM hub.listing ORDER BY url',
    )
    return rows.map(({ url }) => url.replace('https://api.acme.com/', ''))
  }
  const refusals = async () => {
    const sql = 'SELECT DISTINCT reason FROM hub.listing_source WHERE reason IS NOT NULL'
    return (await fixture.pool.query(sql)).rows.map(({ reason }) => reason)
  }
  const good = (name: string) => row({ resource: `https://api.acme.com/${name}` })
  const page =
    (text: string): SiteHandler =>
    (_, response) =>
      response.end(text)
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

  it('lists the other rows, and the row itself, if one is nested too deeply', async () => {
    const deep = JSON.stringify(row({ extensions: { bazaar: { schema: 'DEEP' } } }))
    const rows = [JSON.stringify(good('a')), deep, JSON.stringify(good('b'))].join(',')
    const body = `{"items":[${rows}, ${nested(DEPTH)}]}`.replace('"DEEP"', nested(DEPTH))
    fixture.at('index.test', page(body))
    fixture.at('other.test', (_, response) => json(response, { items: [good('c')] }))
    await discover()
    expect(await urls()).to.deep.equal(['a', 'b', 'c', 'rain'])
    expect(await refusals()).to.deep.equal(['no_url'])
  })

  it('reads the next index after a body of envelopes inside envelopes', async () => {
    fixture.at('index.test', page(`${'{"data":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`))
    fixture.at('other.test', (_, response) => json(response, { items: [good('c')] }))
    await discover()
    expect(await urls()).to.deep.equal(['c'])
    const [source] = await listSources(fixture.pool)
    expect(source).to.include({ failures: 1, error: 'The response is not a page of an index.' })
  })

  it('refuses only the row that the database cannot store', async () => {
    await openSource(fixture.pool, 'index')
    const rows = ['a', 'b', 'bad', 'c', 'd'].map((key) => {
      const result = normalizeRow(good(key), {})
      if ('reason' in result) throw new Error(result.reason)
      const category = key === 'bad' ? 'Not A Category' : result.candidate.category
      return { key, raw: {}, result: { candidate: { ...result.candidate, category } } }
    })
    const counts = await importPage(fixture.pool, 'index', RANK.index, rows, {})
    expect(counts).to.deep.equal({ rows: 5, refused: 1, changed: 5 })
    expect(await urls()).to.deep.equal(['a', 'b', 'c', 'd'])
    expect(await refusals()).to.deep.equal(['unreadable'])
  })

  it('records a failure that no check foresaw, backs off and reads the other indexes', async () => {
    fixture.at('other.test', (_, response) => json(response, { items: [good('c')] }))
    const broken = { ...fixture.egress }
    broken.request = (request) =>
      request.url.includes('index.test')
        ? Promise.reject(new RangeError('Maximum call stack size exceeded'))
        : fixture.egress.request(request)
    await discover({ egress: broken })
    expect(await urls()).to.deep.equal(['c'])
    const [source] = await listSources(fixture.pool)
    expect(source?.error).to.equal('RangeError: Maximum call stack size exceeded')
    expect(source?.nextAt.getTime()).to.be.greaterThan(Date.now() + 30_000)
  })

  it('reads the other indexes while one does not respond', async () => {
    const stopping = new AbortController()
    let release = (): void => undefined
    fixture.at('index.test', (_, response) => {
      release = () => json(response, { items: [] })
    })
    fixture.at('other.test', (_, response) => json(response, { items: [good('c')] }))
    const reading = discover({ stopping: stopping.signal })
    await eventually(async () => (await urls()).includes('c'))
    release()
    await reading
  })

  it('begins a new pass after five failures at one place, and marks nothing as gone', async () => {
    const rows = ['a', 'b', 'c', 'd'].map(good)
    const all = { items: rows, pagination: { limit: 20, offset: 0, total: 4 } }
    fixture.at('index.test', (_, response) => json(response, all))
    await discover({}).then(() => fixture.pool.query('UPDATE hub.discovery SET next_at = now()'))
    // An index that rounds its offsets to pages, and whose total has grown, ends up here.
    const stuck = { items: rows.slice(0, 2), pagination: { limit: 2, offset: 0, total: 40 } }
    fixture.at('index.test', (_, response) => json(response, stuck))
    const run = async () => {
      await fixture.pool.query('UPDATE hub.discovery SET next_at = now()')
      await discover()
      return (await listSources(fixture.pool))[0]
    }
    for (let n = 1; n < 5; n++) expect(await run()).to.deep.include({ pass: 2, failures: n })
    expect(await run()).to.deep.include({ pass: 3, place: {}, pages: 0, failures: 5 })
    const { rowCount } = await fixture.pool.query('SELECT FROM hub.listing_source WHERE gone')
    expect(rowCount).to.equal(0)
    fixture.at('index.test', (_, response) => json(response, all))
    expect(await run()).to.deep.include({ pass: 4, failures: 0, error: null })
  })

  it('lists every good row of every index in one pass, whatever the other rows are', async () => {
    const depths = fc.integer({ min: 1, max: 3_000 }).map(nested)
    const value = fc.oneof(
      { weight: 3, arbitrary: fc.anything({ withNullPrototype: false }).map(asJson) },
      depths,
      depths.map((text) => JSON.stringify(row({ accepts: [], tags: 'X' })).replace('"X"', text)),
      fc
        .string({ unit: 'binary', maxLength: 50 })
        .map((text) => JSON.stringify(row({ description: text, serviceName: text, tags: [text] }))),
      fc
        .integer({ min: 1, max: 5_000 })
        .map((width) =>
          JSON.stringify(row({ accepts: Array.from({ length: width }, () => offer()) })),
        ),
      fc.constantFrom('"\\u0000"', '{"resource":"\\ud800"}', `"${'x'.repeat(100_000)}"`),
    )
    const lists = fc.tuple(fc.array(value, { maxLength: 6 }), fc.array(value, { maxLength: 6 }))
    const check = fc.asyncProperty(lists, async ([first, second]) => {
      await clearListings(fixture)
      const texts = ['a', 'b'].map((name) => JSON.stringify(good(name)))
      fixture.at('index.test', page(`[${[...first, texts[0], ...second].join(',')}]`))
      fixture.at('other.test', page(`{"items":[${[...second, texts[1], ...first].join(',')}]}`))
      await discover()
      expect(await urls()).to.include.members(['a', 'b'])
      const sources = await listSources(fixture.pool)
      expect(sources.map(({ pass, error }) => [pass, error])).to.deep.equal([
        [2, null],
        [2, null],
      ])
    })
    await fc.assert(check, { numRuns: 40 })
  })

  describe('with one host of 100,000 listings', () => {
    const HUGE = 100_000
    const BATCH = 10_000
    const due = async (host: string, count: number): Promise<void> => {
      for (let first = 1; first <= count; first += BATCH) {
        await fixture.database.admin.query(
          `INSERT INTO hub.listing (id, url, method, origin, host, name, description, category,
             tags, provider, scheme, network, asset, pay_to, price, payable, offers, state,
             reason, rank)
           SELECT 'ext_' || lpad(n::text, 22, md5($1)), 'http://' || $1 || '/' || n, 'GET',
             'http://' || $1, $1, 'n', '', 'other', '{}', 'p', 'exact', 'eip155:8453', 'a', 'p', 1,
             false, '[]', 'unlisted', 'unverified', 1 FROM generate_series($2::integer, $3) n`,
          [host, first, Math.min(count, first + BATCH - 1)],
        )
      }
    }
    const probed = async (host: string): Promise<number> => {
      const sql = 'SELECT FROM hub.listing WHERE host = $1 AND probed_at IS NOT NULL'
      return (await fixture.pool.query(sql, [host])).rowCount ?? 0
    }

    it('probes every other host in the first turn, one request at a time per host', async () => {
      await due('shop.test', HUGE)
      const others = ['other.test', 'owner.test', 'gateway.test', 'agent.test']
      let [open, most] = [0, 0]
      fixture.at('shop.test', (request, response) => {
        most = Math.max(most, ++open)
        response.on('close', () => (open -= 1))
        setTimeout(() => sells()(request, response), 5)
      })
      const stopping = new AbortController()
      let left = others.length * 3
      for (const host of others) {
        fixture.at(host, (request, response) => {
          if (request.url !== '/robots.txt' && --left === 0) stopping.abort()
          sells()(request, response)
        })
        await due(host, 3)
      }
      const pace = { gapMs: 20, turnMs: 200 }
      await probeDue({ ...fixture, pace, stopping: stopping.signal, forMs: 60_000 })
      for (const host of others) expect(await probed(host), host).to.equal(3)
      expect(await probed('shop.test')).to.be.within(1, HUGE / 100)
      expect(most).to.equal(1)
    })

    it('makes what it claimed due again when its time is up', async () => {
      fixture.at('shop.test', sells())
      await due('shop.test', 50)
      await probeDue({ ...fixture, pace: { gapMs: 50, turnMs: 100 }, forMs: 200 })
      const { rowCount } = await fixture.pool.query(
        'SELECT FROM hub.listing WHERE next_probe_at > now() AND probed_at IS NULL',
      )
      expect(rowCount).to.equal(0)
    })
  })

  it('says that nobody can be reached only of listings that it tried to reach', async () => {
    fixture.at('shop.test', (request) => request.socket.destroy())
    const rows = [1, 2, 3].map((n) =>
      normalizeRow(row({ resource: `http://shop.test/${n}` }), fixture.rules),
    )
    const all = rows.map((result, n) => ({ key: String(n), raw: {}, result }))
    await openSource(fixture.pool, 'index')
    await importPage(fixture.pool, 'index', RANK.index, all, {})
    await probeDue({ ...fixture, pace: { gapMs: 0 } })
    const { rows: found } = await fixture.pool.query(
      `SELECT reason, probed_at IS NULL AS waits, next_probe_at > now() + interval '4 minutes'
         AS later FROM hub.listing ORDER BY probed_at NULLS LAST`,
    )
    const waiting = { reason: 'unverified', waits: true, later: true }
    expect(found).to.deep.equal([
      { reason: 'unreachable', waits: false, later: true },
      waiting,
      waiting,
    ])
  })
})

/** JSON of any value; the text `null` for one that has none. */
function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return 'null'
  }
}
