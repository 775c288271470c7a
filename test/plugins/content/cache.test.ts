import { expect } from 'chai'
import { type OpenedPlugin, openPlugin } from '../../../core/catalog/services/open-plugin.ts'
import { createLog } from '../../../core/log.ts'
import { type Database, type DataPlugin, type PageRule, usd } from '../../../core/plugin/index.ts'
import { PageCache } from '../../../plugins/content/cache.ts'
import content from '../../../plugins/content/index.ts'
import type { PageReading } from '../../../plugins/content/page.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const RULE: PageRule = {
  pattern: '/**',
  agents: [],
  allow: true,
  price: usd('0.01'),
  cachedPrice: usd('0.01'),
  maxAgeSeconds: 60,
  previewCharacters: 0,
  waitFor: null,
  exclude: [],
  fast: false,
}
const page = (url: string, more: Partial<PageRule> = {}) => ({ url, rule: { ...RULE, ...more } })
const read = (text: string): PageReading => ({
  article: { text } as PageReading['article'],
  way: 'fast',
  directives: [],
})

describe('cached pages', () => {
  let fresh: FreshDatabase
  let database: Database
  let cache: PageCache
  let opened: OpenedPlugin
  before(async () => {
    fresh = await freshDatabase()
    const plugin: DataPlugin = {
      ...content,
      open: (host) => {
        database = host.database
        const domains = { providePreviews: () => undefined } as never
        return content.open({ ...host, domains })
      },
    }
    const lending = { host: injectedHost, databaseUrl: fresh.url, log: createLog('silent') }
    opened = await openPlugin(plugin, lending)
    cache = new PageCache(database)
  })
  after(async () => {
    await opened.close()
    await fresh.drop()
  })
  const isKept = async (url: string) => (await cache.find('dom_a', page(url))) !== undefined
  const age = (url: string, seconds: number) =>
    database.query(
      `UPDATE page SET fetched_at = now() - make_interval(secs => $2),
         expires_at = now() - make_interval(secs => $2 - 60)
       WHERE article #>> '{article,text}' = $1`,
      [url, seconds],
    )
  const keep = (url: string, more?: Partial<PageRule>) =>
    cache.store('dom_a', page(url, more), read(url))

  it('are returned unchanged, whatever text they contain', async () => {
    const odd = read('a\u0000b \ud800 \u{1f600}')
    await cache.store('dom_a', page('/odd'), odd)
    const kept = await cache.find('dom_a', page('/odd'))
    expect(await cache.read('dom_a', kept!.key)).to.deep.equal(odd)
    await database.query('DELETE FROM page')
  })

  it('match domain, address and read mode, and are no older than requested', async () => {
    await keep('/one')
    expect(await isKept('/one')).to.equal(true)
    expect(await cache.find('dom_b', page('/one'))).to.equal(undefined)
    expect(await cache.find('dom_a', page('/one', { exclude: ['p'] }))).to.equal(undefined)
    expect(await cache.find('dom_a', page('/one', { maxAgeSeconds: 0 }))).to.equal(undefined)
    await age('/one', 30)
    expect(await cache.find('dom_a', page('/one', { maxAgeSeconds: 29 }))).to.equal(undefined)
    expect((await cache.find('dom_a', page('/one', { maxAgeSeconds: 31 })))?.ageSeconds).to.equal(
      30,
    )
  })

  it('are not stored if the provider disallows it or they are too large', async () => {
    await keep('/none', { maxAgeSeconds: 0 })
    expect(await isKept('/none')).to.equal(false)
    await cache.store('dom_a', page('/large'), read('x'.repeat(2_097_152)))
    expect(await isKept('/large')).to.equal(false)
  })

  it('expire by age, and are evicted oldest first by total size', async () => {
    await keep('/old')
    await age('/old', 61)
    for (const [n, url] of ['/a', '/b', '/c'].entries()) {
      await keep(url)
      await age(url, 30 - 10 * n)
    }
    await cache.prune()
    const { rows } = await database.query<{ bytes: number }>('SELECT bytes FROM page LIMIT 1')
    expect(rows).to.have.length(1)
    expect((await database.query(`SELECT FROM page WHERE expires_at < now()`)).rowCount).to.equal(0)
    await database.query(`DELETE FROM page WHERE article #>> '{article,text}' = '/one'`)
    await cache.prune(2 * Buffer.byteLength(JSON.stringify(read('/a'))))
    expect([await isKept('/a'), await isKept('/b'), await isKept('/c')]).to.deep.equal([
      false,
      true,
      true,
    ])
  })
})
